"""How long searches took, hour by hour: counts by size class, so that several processes add up."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import NoesisError

logger = logging.getLogger(__name__)

HOUR_MS = 3_600_000
_GROWTH = 1.1
"""Each class holds latencies up to a tenth above its lower end: percentiles are as exact as that."""

_FLUSH_AFTER_S = 10.0
_KEPT_HOURS = 24 * 35

search_latency = sa.Table(
    "search_latency",
    metadata,
    sa.Column("hour_ms", sa.BigInteger, primary_key=True),
    sa.Column("class_number", sa.Integer, primary_key=True),
    sa.Column("searches", sa.Integer, nullable=False),
)


class HourOfSearches(msgspec.Struct, frozen=True):
    """One hour (its beginning in ms): how many searches, and within how many ms half and 95 % of them answered."""

    hour_ms: int
    searches: int
    p50_ms: float
    p95_ms: float


class Latencies:
    """Collects latencies in memory and writes them in the background: no answer waits for it or fails by it."""

    def __init__(
        self, control: Control, now_ms: Callable[[], int], flush_after_s: float = _FLUSH_AFTER_S
    ) -> None:
        self._control = control
        self._now_ms = now_ms
        self._flush_after_s = flush_after_s
        self._waiting: Counter[tuple[int, int]] = Counter()
        self._closing = asyncio.Event()
        self._flusher: asyncio.Task[None] | None = None

    def note(self, milliseconds: float) -> None:
        """Count one search."""
        hour = self._now_ms() // HOUR_MS * HOUR_MS
        self._waiting[hour, _class_of(milliseconds)] += 1
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush_later())

    async def hours(self, count: int) -> Sequence[HourOfSearches]:
        """The last hours in which somebody searched, oldest first."""
        oldest = self._now_ms() - count * HOUR_MS
        query = sa.select(search_latency).where(search_latency.c.hour_ms > oldest)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        by_hour: dict[int, Counter[int]] = {}
        for row in rows:
            by_hour.setdefault(row.hour_ms, Counter())[row.class_number] += row.searches
        for (hour, number), searches in self._waiting.items():
            if hour > oldest:
                by_hour.setdefault(hour, Counter())[number] += searches
        return [_told(hour, by_hour[hour]) for hour in sorted(by_hour)]

    async def flush(self) -> None:
        """Write what was collected, and forget what is five weeks old; what cannot be written now waits."""
        taken, self._waiting = self._waiting, Counter()
        if not taken:
            return
        before = self._now_ms() - _KEPT_HOURS * HOUR_MS
        try:
            await self._control.run(lambda connection: _add(connection, taken, before))
        except (NoesisError, sa.exc.SQLAlchemyError) as error:
            self._waiting.update(taken)
            logger.warning("latencies were not written: %s", type(error).__name__)

    async def close(self) -> None:
        """Write what was collected."""
        self._closing.set()
        if self._flusher is not None:
            await self._flusher
        await self.flush()

    async def _flush_later(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._flush_after_s):
                await self._closing.wait()
        await self.flush()


def _class_of(milliseconds: float) -> int:
    return max(0, math.ceil(math.log(max(milliseconds, 1.0), _GROWTH)))


def _told(hour_ms: int, classes: Counter[int]) -> HourOfSearches:
    return HourOfSearches(hour_ms, classes.total(), _percentile(classes, 0.5), _percentile(classes, 0.95))


def _percentile(classes: Counter[int], share: float) -> float:
    """The upper end of the class in which the search of this rank lies."""
    rank, seen = math.ceil(share * classes.total()), 0
    for number in sorted(classes):
        seen += classes[number]
        if seen >= rank:
            return float(round(_GROWTH**number, 1))
    return 0.0


def _add(connection: sa.Connection, taken: Mapping[tuple[int, int], int], before_ms: int) -> None:
    columns = search_latency.c
    for (hour, number), searches in taken.items():
        here = (columns.hour_ms == hour) & (columns.class_number == number)
        more = sa.update(search_latency).where(here).values(searches=columns.searches + searches)
        if connection.execute(more).rowcount == 0:
            row = {"hour_ms": hour, "class_number": number, "searches": searches}
            connection.execute(sa.insert(search_latency).values(**row))
    connection.execute(sa.delete(search_latency).where(columns.hour_ms < before_ms))
