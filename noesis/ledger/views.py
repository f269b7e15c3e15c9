"""Reading the ledger for people: pages of jobs, newest first, and counts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from noesis.errors import InvalidInput
from noesis.ledger.table import STATES, Job, JobState, table, to_job

MAX_PAGE = 500


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which jobs to show; an empty tuple means all.  `unseen`: only failures not yet acknowledged."""

    states: tuple[JobState, ...] = ()
    names: tuple[str, ...] = ()
    unseen: bool = False


class JobPage(msgspec.Struct, frozen=True):
    """A page of jobs and the cursor of the next one, None on the last page."""

    jobs: list[Job]
    next_cursor: str | None


def page(connection: sa.Connection, which: JobFilter, cursor: str | None, limit: int) -> JobPage:
    """Newest jobs first, at most `limit` (1 to 500).  Raises InvalidInput for a bad cursor."""
    limit = max(1, min(limit, MAX_PAGE))
    query = sa.select(table).where(*_conditions(which))
    if cursor is not None:
        query = query.where(sa.tuple_(table.c.created_ms, table.c.id) < sa.tuple_(*_position(cursor)))
    query = query.order_by(table.c.created_ms.desc(), table.c.id.desc()).limit(limit + 1)
    jobs = [to_job(row) for row in connection.execute(query)]
    if len(jobs) <= limit:
        return JobPage(jobs, None)
    last = jobs[limit - 1]
    return JobPage(jobs[:limit], f"{last.created_ms}.{last.id}")


def counts(connection: sa.Connection) -> dict[JobState, int]:
    """How many jobs are in each state; every state is named."""
    rows = connection.execute(sa.select(table.c.state, sa.func.count()).group_by(table.c.state))
    found: dict[str, int] = {row[0]: row[1] for row in rows}
    return {state: found.get(state, 0) for state in STATES}


def unseen_failures(connection: sa.Connection) -> int:
    """How many failed jobs nobody has acknowledged."""
    query = sa.select(sa.func.count()).select_from(table).where(*_conditions(JobFilter(unseen=True)))
    return connection.scalar(query) or 0


def last_ends(connection: sa.Connection) -> dict[str, int]:
    """When a job of each name last ended well (Unix ms)."""
    latest = sa.func.max(table.c.finished_ms).label("latest")
    ended = sa.select(table.c.name, latest).where(table.c.state == "succeeded").group_by(table.c.name)
    return {row.name: row.latest for row in connection.execute(ended)}


def _conditions(which: JobFilter) -> Sequence[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if which.states:
        conditions.append(table.c.state.in_(which.states))
    if which.names:
        conditions.append(table.c.name.in_(which.names))
    if which.unseen:
        conditions.append((table.c.state == "failed") & table.c.acknowledged.is_(False))
    return conditions


def _position(cursor: str) -> tuple[int, str]:
    created, _, job_id = cursor.partition(".")
    if not (created.isascii() and created.isdecimal() and len(created) <= 18 and job_id):
        raise InvalidInput("this is not a cursor of the job list", field="cursor")
    return int(created), job_id
