"""The control database in a backup: copied into a SQLite file, and taken back table by table by rule.

A restore goes back in time with memories, and with what says which files and turns they came from:
those belong together.  Everything that people decided since stays as it is now, so that no revoked
token and no forgotten source comes back.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from noesis.control import Control, instance, metadata, sqlite_url
from noesis.tokens import tokens

INSTANCE_ID = "instance_id"

_NOT_COPIED = frozenset({"jobs", "cron_slots"})
"""What one machine was doing is of no use to another."""

_SECRET_KEYS = ("session_key", "session_epoch", "setup_link_hash", "worker_seen_at")
"""Values of the instance that never go into an archive: with the first anybody could make a session."""

_WITH_MEMORIES = frozenset(
    {"captured_turns", "source_files", "source_sections", "superseding", "memory_uses"}
)
"""Which turns and files the memories came from, and what hangs on single memories."""

_UNITED = frozenset({"captured_turns", "superseding", "memory_uses"})
"""An undo takes over what was written since the restore, and so what belongs to it."""

_AT_ONCE = 5_000


class Way(enum.StrEnum):
    """How a copy is taken back: over an instance that is in use, over an empty one, or by an undo."""

    RESTORE = "restore"
    FRESH = "fresh"
    UNDO = "undo"


_ENTRY_TABLES = frozenset({"tokens", "audit"})
_ENTRY_KEYS = ("admin_password_hash", "context_key")
"""Who may come in, and who did: not for a copy that others keep."""


def copy_to(
    control: Control, path: Path, only: frozenset[str] | None = None, *, for_others: bool = False
) -> None:
    """Write the tables, as they are in one transaction, to a new SQLite file for its owner alone.

    `for_others` leaves out tokens, the password and the audit log, of which even hashes tell something.
    """
    path.touch(mode=0o600)
    engine = sa.create_engine(sqlite_url(path))
    sa.event.listen(engine, "connect", _configure)
    secret = (*_SECRET_KEYS, *_ENTRY_KEYS) if for_others else _SECRET_KEYS
    tables = _wanted(only, for_others=for_others)
    try:
        metadata.create_all(engine)
        if control.file is None:
            control.read_sync(lambda source: _copy_rows(source, engine, tables, secret))
        else:
            _copy_file(control.file, engine, tables, secret)
    finally:
        engine.dispose()


def _configure(connection: Any, _record: Any) -> None:
    # The driver's own transaction control would begin one at the first write, which is after the first read.
    connection.isolation_level = None
    # Whoever asked for the copy syncs it, once it is whole; a sync for every table takes most of the time.
    connection.execute("PRAGMA synchronous=OFF")


def _wanted(only: frozenset[str] | None, *, for_others: bool) -> list[sa.Table]:
    left_out = _NOT_COPIED | _ENTRY_TABLES if for_others else _NOT_COPIED
    return [
        table
        for table in metadata.sorted_tables
        if table.name not in left_out and (only is None or table.name in only)
    ]


def _without(table: sa.Table, secret: Sequence[str]) -> sa.Select[Any]:
    query = sa.select(table)
    return query.where(table.c.key.not_in(secret)) if table.name == instance.name else query


def _copy_rows(
    source: sa.Connection, engine: sa.Engine, tables: Sequence[sa.Table], secret: Sequence[str]
) -> None:
    with engine.begin() as target:
        for table in tables:
            _copy(source, target, table, _without(table, secret))


def _copy_file(file: Path, engine: sa.Engine, tables: Sequence[sa.Table], secret: Sequence[str]) -> None:
    """SQLite copies by itself: rows that pass through here take the interpreter from searches meanwhile."""
    with engine.connect() as connection:
        connection.exec_driver_sql("ATTACH DATABASE ? AS source", (str(file),))
        connection.exec_driver_sql("BEGIN")
        for table in tables:
            there = table.to_metadata(sa.MetaData(), schema="source")
            names = [column.name for column in table.columns]
            connection.execute(sa.insert(table).from_select(names, _without(there, secret)))
        connection.exec_driver_sql("COMMIT")


def copy_with_memories(control: Control, path: Path) -> None:
    """Write only what goes back and forth with the memories."""
    copy_to(control, path, _WITH_MEMORIES)


def take_back(control: Control, path: Path, way: Way) -> None:
    """Put the tables of a copy into the control database, in one transaction; doing it again changes nothing."""
    engine = sa.create_engine(sqlite_url(path))
    try:
        with engine.connect() as source:
            there = set(sa.inspect(source).get_table_names())
            control.run_sync(lambda target: _take_all(source, target, there, way))
    finally:
        engine.dispose()


def _take_all(source: sa.Connection, target: sa.Connection, there: set[str], way: Way) -> None:
    for table in metadata.sorted_tables:
        if table.name not in there or table.name in _NOT_COPIED:
            continue
        if way is not Way.FRESH and table.name not in _WITH_MEMORIES:
            continue
        if table is instance:
            _take_values(source, target)
            continue
        if way is not Way.UNDO or table.name not in _UNITED:
            target.execute(sa.delete(table))
            _copy(source, target, table, _readable(source, table))
        else:
            _unite(source, target, table)


def _readable(source: sa.Connection, table: sa.Table) -> sa.Select[tuple[object, ...]]:
    """The columns that the copy, which may be of an earlier version, has."""
    there = {column["name"] for column in sa.inspect(source).get_columns(table.name)}
    return sa.select(*[column for column in table.columns if column.name in there])


def _copy(
    source: sa.Connection, target: sa.Connection, table: sa.Table, query: sa.Select[tuple[object, ...]]
) -> None:
    result = source.execute(query).mappings()
    while rows := result.fetchmany(_AT_ONCE):
        target.execute(sa.insert(table), [dict(row) for row in rows])


def _unite(source: sa.Connection, target: sa.Connection, table: sa.Table) -> None:
    """Add the rows whose key is not there."""
    keys = [column.name for column in table.primary_key.columns]
    known = {tuple(row) for row in target.execute(sa.select(*[table.c[key] for key in keys]))}
    rows = [dict(row) for row in source.execute(_readable(source, table)).mappings()]
    missing = [row for row in rows if tuple(row[key] for key in keys) not in known]
    if missing:
        target.execute(sa.insert(table), missing)


def _take_values(source: sa.Connection, target: sa.Connection) -> None:
    """The values that an empty instance does not have of its own; it goes on as the one of the backup."""
    target.execute(sa.delete(instance).where(instance.c.key == INSTANCE_ID))
    known = set(target.scalars(sa.select(instance.c.key)))
    rows = [dict(row) for row in source.execute(sa.select(instance)).mappings()]
    missing = [row for row in rows if row["key"] not in known and row["key"] not in _SECRET_KEYS]
    if missing:
        target.execute(sa.insert(instance), missing)


def kept_as_now() -> tuple[str, ...]:
    """The tables that a restore over an instance in use leaves as they are."""
    return tuple(
        str(table.name)
        for table in metadata.sorted_tables
        if table.name not in _WITH_MEMORIES and table.name not in _NOT_COPIED
    )


def has_people(connection: sa.Connection) -> bool:
    """Whether anybody may come in: a token was made, or a password set."""
    password = connection.scalar(sa.select(instance.c.key).where(instance.c.key == "admin_password_hash"))
    return password is not None or connection.execute(sa.select(tokens.c.id).limit(1)).first() is not None


def is_sound(path: Path) -> bool:
    """Whether SQLite finds the copy in order."""
    engine = sa.create_engine(sqlite_url(path))
    try:
        with engine.connect() as connection:
            return connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    except sa.exc.DatabaseError:
        return False
    finally:
        engine.dispose()
