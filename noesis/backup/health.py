"""Backups in the report of health: it tells of the last proven restore, not of the last backup alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from noesis.backup.operation import Backups
from noesis.backup.values import Backup, CopyState
from noesis.health import Part
from noesis.memory import DAY_MS, to_datetime
from noesis.settings import Settings
from noesis.store import Store

_LATE_MS = 2 * DAY_MS
_DRILLS_MISSED = 3


class BackupHealth:
    """Looks at the newest backups."""

    def __init__(self, backups: Backups, store: Store, settings: Settings, now_ms: Callable[[], int]) -> None:
        self._backups = backups
        self._store = store
        self._scheduled = settings.backup_schedule is not None
        self._drill_ms = settings.backup_drill_days * DAY_MS
        self._now_ms = now_ms

    async def check(self) -> Part:
        """The newest verified backup, and when one was last restored in a drill."""
        backups = await self._backups.list()
        verified = [backup for backup in backups if backup.verified_at is not None]
        said = _said(verified, last_proven(backups))
        copies = self._backups.copies
        if copies.enabled:
            state = await copies.state()
            if state.error is not None:
                return _not_copied(copies.address or "", state, said)
            said = f"{said} {_copied(copies.address or '', state)}"
        if not self._scheduled:
            return Part(name="backups", state="ok", summary=f"No backups are scheduled. {said}")
        since = verified[0].created_at if verified else self._store.info.created_at
        if self._now_ms() - since > _LATE_MS:
            return Part(
                name="backups",
                state="degraded",
                summary=f"There was no good backup for two days. {said}",
                still_works="Everything.",
                what_to_do="See on the page of jobs why backups fail, or make one: `noesis backup`.",
            )
        if verified and self._is_unproven(verified):
            return Part(
                name="backups",
                state="degraded",
                summary=f"No backup was restored in a drill for too long. {said}",
                still_works="Everything.",
                what_to_do="See on the page of jobs why the drill fails; the worker does it by itself.",
            )
        return Part(name="backups", state="ok", summary=said)

    def _is_unproven(self, verified: Sequence[Backup]) -> bool:
        if not self._drill_ms:
            return False
        proven = last_proven(verified)
        since = verified[-1].created_at if proven is None else proven.proven_at or 0
        return self._now_ms() - since > _DRILLS_MISSED * self._drill_ms


def last_proven(backups: Sequence[Backup]) -> Backup | None:
    """The backup of the last drill that went well."""
    proven = [backup for backup in backups if backup.proven_at is not None]
    return max(proven, key=lambda backup: backup.proven_at or 0, default=None)


def _not_copied(address: str, state: CopyState, said: str) -> Part:
    since = to_datetime(state.failing_since or 0)
    return Part(
        name="backups",
        state="degraded",
        summary=f"Since {since:%Y-%m-%d %H:%M} UTC no backup was copied to {address}: {state.error} {said}",
        still_works="Backups are made and kept on this machine.",
        what_to_do="Mend what it says; the next backup takes along what was not copied: `noesis backup`.",
    )


def _copied(address: str, state: CopyState) -> str:
    if not state.held:
        return f"None was copied to {address} yet."
    return f"The newest in {address} is of {to_datetime(state.held[0].created_at):%Y-%m-%d %H:%M} UTC."


def _said(verified: Sequence[Backup], proven: Backup | None) -> str:
    if not verified:
        return "There is no backup yet."
    newest = verified[0]
    words = f"The newest backup is of {to_datetime(newest.created_at):%Y-%m-%d %H:%M} UTC and was verified."
    if proven is None:
        return f"{words} None was restored in a drill yet."
    return f"{words} The last proven restore was on {to_datetime(proven.proven_at or 0):%Y-%m-%d %H:%M} UTC."
