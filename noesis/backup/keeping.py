"""Which backups are kept: the last ones, and one for each of the last days, weeks and months."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import msgspec

from noesis.backup.values import Backup


class KeepRules(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each are kept; a day, week (from Monday) and month is UTC's."""

    last: int
    daily: int
    weekly: int
    monthly: int


def to_remove(backups: Iterable[Backup], rules: KeepRules) -> list[Backup]:
    """The backups that no rule keeps.

    The newest verified one always stays, and so does what was put there by hand: nobody but its owner
    knows what it is for.  Of a period its newest backup counts.
    """
    newest_first = sorted(backups, key=lambda backup: backup.created_at, reverse=True)
    ours = [backup for backup in newest_first if backup.verified_at is not None and backup.kind != "uploaded"]
    kept = {backup.name for backup in ours[: max(rules.last, 1)]}
    for count, period in ((rules.daily, "%Y-%j"), (rules.weekly, "%G-%V"), (rules.monthly, "%Y-%m")):
        kept |= _newest_of_each(ours, count, _of(period))
    return [backup for backup in ours if backup.name not in kept]


def _of(period: str) -> Callable[[Backup], str]:
    return lambda backup: datetime.fromtimestamp(backup.created_at / 1000, UTC).strftime(period)


def _newest_of_each(newest_first: list[Backup], count: int, period: Callable[[Backup], str]) -> set[str]:
    first: dict[str, str] = {}
    for backup in newest_first:
        first.setdefault(period(backup), backup.name)
    return set(list(first.values())[:count])
