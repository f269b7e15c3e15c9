"""When recurring jobs are due: pure arithmetic on slots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Any

import msgspec

from noesis.errors import InvalidInput
from noesis.ledger import JobArgs

DAY_MS = 86_400_000


class Cron(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring job: every `every_ms`, or once a day at `daily_at` in `zone`.

    Whoever's worker comes first takes a slot, and each slot is taken once.  Slots missed while no
    worker ran are made up for by one run.  `key` is the job's key in the ledger (the default is the
    cron's name): while the job of an earlier slot is unfinished, no second one is queued.  `wanted`
    is asked with the runtime first: a slot in which there is nothing to do leaves no trace.
    """

    name: str
    job: str
    every_ms: int | None = None
    daily_at: time | None = None
    zone: tzinfo = UTC
    args: JobArgs = {}
    key: str | None = None
    wanted: Callable[[Any], Awaitable[bool]] | None = None

    def __post_init__(self) -> None:
        timings = (self.every_ms, self.daily_at)
        if timings.count(None) != 1 or (self.every_ms is not None and self.every_ms <= 0):
            raise InvalidInput(f"the cron {self.name} needs either a period or a time of day", field="crons")

    @property
    def period_ms(self) -> int:
        """The nominal distance of two slots in milliseconds."""
        return self.every_ms or DAY_MS

    @property
    def job_key(self) -> str:
        """The key of its jobs."""
        return self.key or f"cron:{self.name}"


def slot_ms(cron: Cron, now_ms: int) -> int:
    """The latest slot that is not after now, in Unix milliseconds.

    Periods are counted from 1970-01-01 UTC, so every worker finds the same slots.
    """
    if cron.daily_at is None:
        return now_ms // cron.period_ms * cron.period_ms
    today = datetime.fromtimestamp(now_ms / 1000, cron.zone).date()
    for day in (today, today - timedelta(days=1)):
        slot = int(datetime.combine(day, cron.daily_at, cron.zone).timestamp() * 1000)
        if slot <= now_ms:
            return slot
    return slot - DAY_MS
