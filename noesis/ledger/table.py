"""The ledger's tables, the value `Job`, and how a row becomes one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from noesis.control import metadata
from noesis.errors import InvalidInput, NotFound

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
Scalar = str | int | float | bool | None
JobArgs = Mapping[str, Scalar | Sequence[Scalar]]

STATES: tuple[JobState, ...] = ("queued", "running", "succeeded", "failed", "cancelled")
LIVE: tuple[JobState, ...] = ("queued", "running")
ENDED: tuple[JobState, ...] = ("succeeded", "failed", "cancelled")

MAX_ARG_CHARS = 4096  # a path is the longest thing a job may be told
MAX_ARGS_BYTES = 16_384

table = sa.Table(
    "jobs",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("args", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("done", sa.BigInteger, nullable=False, default=0),
    sa.Column("total", sa.BigInteger),
    sa.Column("result", sa.Text),
    sa.Column("error", sa.Text),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),
    sa.Column("max_attempts", sa.Integer, nullable=False, default=1),
    sa.Column("claims", sa.Integer, nullable=False, default=0),
    sa.Column("created_ms", sa.BigInteger, nullable=False),
    sa.Column("started_ms", sa.BigInteger),
    sa.Column("finished_ms", sa.BigInteger),
    sa.Column("heartbeat_ms", sa.BigInteger),
    sa.Column("not_before_ms", sa.BigInteger, nullable=False),
    sa.Column("acknowledged", sa.Boolean, nullable=False, default=False),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, default=False),
)
live = table.c.state.in_(LIVE)
sa.Index("jobs_one_live_per_key", table.c.key, unique=True, sqlite_where=live, postgresql_where=live)
sa.Index("jobs_by_state", table.c.state, table.c.created_ms)
sa.Index("jobs_by_age", table.c.created_ms, table.c.id)

slots = sa.Table(
    "cron_slots",
    metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("slot_ms", sa.BigInteger, nullable=False),
)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job as the ledger knows it; times in Unix milliseconds.

    `attempts` counts the runs since it was created or retried by hand; `claims` counts all runs and
    tells one from another.  `not_before_ms` is 0 for "at once".  `error` is a plain sentence.
    """

    id: str
    name: str
    key: str | None
    args: dict[str, Any]
    state: JobState
    done: int
    total: int | None
    result: dict[str, Any] | None
    error: str | None
    attempts: int
    max_attempts: int
    claims: int
    created_ms: int
    started_ms: int | None
    finished_ms: int | None
    heartbeat_ms: int | None
    not_before_ms: int
    acknowledged: bool
    cancel_requested: bool


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job to be created.  `key` is unique among jobs that have not ended; None is never equal."""

    id: str
    name: str
    key: str | None
    args: JobArgs
    not_before_ms: int = 0


class Beat(msgspec.Struct, frozen=True):
    """A sign of life of one run: which claim it is and how far it got."""

    claims: int
    done: int
    total: int | None


Standing = Literal["kept", "cancel", "lost"]


def encode_args(args: JobArgs) -> str:
    """A job's arguments as JSON.  Raises InvalidInput when they are more than plain values and ids."""
    for name, value in args.items():
        items = value if isinstance(value, list | tuple) else [value]
        for item in items:
            if not (item is None or isinstance(item, str | int | float)):
                raise InvalidInput("a job's arguments are plain values and ids", field=name)
            if isinstance(item, str) and len(item) > MAX_ARG_CHARS:
                raise InvalidInput(f"a job's argument has more than {MAX_ARG_CHARS} characters", field=name)
    encoded = msgspec.json.encode(args)
    if len(encoded) > MAX_ARGS_BYTES:
        raise InvalidInput(f"a job's arguments have more than {MAX_ARGS_BYTES} bytes", field="args")
    return encoded.decode()


def to_job(row: sa.Row[Any]) -> Job:
    """A row of the table as a value."""
    fields = dict(row._mapping)
    fields["args"] = msgspec.json.decode(fields["args"])
    fields["result"] = None if fields["result"] is None else msgspec.json.decode(fields["result"])
    return Job(**fields)


def due(now_ms: int) -> sa.ColumnElement[bool]:
    """The condition for a queued job that may start."""
    return (table.c.state == "queued") & (table.c.not_before_ms <= now_ms)


def select(
    connection: sa.Connection, condition: sa.ColumnElement[bool], limit: int | None = None
) -> list[Job]:
    """Jobs under a condition, oldest first."""
    query = sa.select(table).where(condition).order_by(table.c.created_ms, table.c.id).limit(limit)
    return [to_job(row) for row in connection.execute(query)]


def get(connection: sa.Connection, job_id: str, *, lock: bool = False) -> Job:
    """One job, locked against other processes on demand.  Raises NotFound."""
    query = sa.select(table).where(table.c.id == job_id)
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise NotFound("There is no such job.")
    return to_job(row)
