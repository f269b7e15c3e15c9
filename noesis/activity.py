"""The event log for people: what happened, when, to which agent, by which job.

Summaries and data are written by our own code and never hold memory text.  The log is bounded by
age and by number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import InvalidInput

Level = Literal["info", "warning", "error"]
Scalar = str | int | float | bool | None

MAX_SUMMARY_CHARS = 300
MAX_DATA_BYTES = 4_096
MAX_PAGE = 500

table = sa.Table(
    "activity",
    metadata,
    # SQLite numbers rows by itself only in a column that is INTEGER by name.
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False, index=True),
    sa.Column("kind", sa.String(64), nullable=False),
    sa.Column("level", sa.String(8), nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("agent", sa.String(64)),
    sa.Column("job_id", sa.String(64), index=True),
    sa.Column("data", sa.Text, nullable=False),
    sqlite_autoincrement=True,
)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One entry; `at_ms` in Unix milliseconds, `data` plain values that belong to the kind."""

    id: int
    at_ms: int
    kind: str
    level: Level
    summary: str
    agent: str | None
    job_id: str | None
    data: dict[str, Any]


class EventFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to show; empty or None means all.  `after_ms` is inclusive, `before_ms` is not."""

    kinds: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()
    agent: str | None = None
    job_id: str | None = None
    after_ms: int | None = None
    before_ms: int | None = None


class EventPage(msgspec.Struct, frozen=True):
    """A page of events and the cursor of the next one, None on the last page."""

    events: tuple[Event, ...]
    next_cursor: str | None


EVERYTHING = EventFilter()


class ActivityLog:
    """The `activity` table of the control database."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def record(
        self,
        kind: str,
        summary: str,
        *,
        agent: str | None = None,
        job_id: str | None = None,
        level: Level = "info",
        data: Mapping[str, Scalar] | None = None,
    ) -> None:
        """Add an event.  A long summary is cut.  Raises InvalidInput when `data` is not plain or large."""
        values = {
            "at_ms": self._now_ms(),
            "kind": kind,
            "level": level,
            "summary": summary[:MAX_SUMMARY_CHARS],
            "agent": agent,
            "job_id": job_id,
            "data": _encode(data or {}),
        }
        await self._control.run(lambda connection: connection.execute(sa.insert(table).values(**values)))

    async def prune(self, *, max_age_ms: int, keep: int) -> int:
        """Forget events older than `max_age_ms` and all but the newest `keep`; how many went."""
        before = self._now_ms() - max_age_ms
        return await self._control.run(lambda connection: _prune(connection, before, keep))

    async def kinds(self) -> Sequence[str]:
        """The kinds of the events that are kept, in the order of the alphabet."""
        query = sa.select(table.c.kind).distinct().order_by(table.c.kind)
        return await self._control.read(lambda connection: connection.scalars(query).all())

    async def list(
        self, which: EventFilter = EVERYTHING, *, cursor: str | None = None, limit: int = 50
    ) -> EventPage:
        """Newest events first, at most `limit` (1 to 500).  Raises InvalidInput for a bad cursor."""
        limit = max(1, min(limit, MAX_PAGE))
        query = (
            sa.select(table).where(*_conditions(which, cursor)).order_by(table.c.id.desc()).limit(limit + 1)
        )
        return await self._control.run(lambda connection: _page(connection, query, limit))


def _encode(data: Mapping[str, Scalar]) -> str:
    for name, value in data.items():
        if not (value is None or isinstance(value, str | int | float)):
            raise InvalidInput("an event's data are plain values", field=name)
    encoded = msgspec.json.encode(data)
    if len(encoded) > MAX_DATA_BYTES:
        raise InvalidInput(f"an event's data have more than {MAX_DATA_BYTES} bytes", field="data")
    return encoded.decode()


def _conditions(which: EventFilter, cursor: str | None) -> list[sa.ColumnElement[bool]]:
    columns = table.c
    wanted = [
        columns.kind.in_(which.kinds) if which.kinds else None,
        columns.level.in_(which.levels) if which.levels else None,
        columns.agent == which.agent if which.agent is not None else None,
        columns.job_id == which.job_id if which.job_id is not None else None,
        columns.at_ms >= which.after_ms if which.after_ms is not None else None,
        columns.at_ms < which.before_ms if which.before_ms is not None else None,
        columns.id < _position(cursor) if cursor is not None else None,
    ]
    return [condition for condition in wanted if condition is not None]


def _position(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise InvalidInput("this is not a cursor of the activity list", field="cursor")
    return int(cursor)


def _page(connection: sa.Connection, query: sa.Select[Any], limit: int) -> EventPage:
    events = tuple(_to_event(row) for row in connection.execute(query))
    if len(events) <= limit:
        return EventPage(events, None)
    return EventPage(events[:limit], str(events[limit - 1].id))


def _to_event(row: sa.Row[Any]) -> Event:
    fields = dict(row._mapping)
    return Event(**fields | {"data": msgspec.json.decode(fields["data"])})


def _prune(connection: sa.Connection, before_ms: int, keep: int) -> int:
    old = connection.execute(sa.delete(table).where(table.c.at_ms < before_ms)).rowcount
    newest = sa.select(table.c.id).order_by(table.c.id.desc()).limit(1).offset(keep).scalar_subquery()
    surplus = connection.execute(sa.delete(table).where(table.c.id <= newest)).rowcount
    return int(old + surplus)
