"""Control state in one small SQL database: SQLite by default, PostgreSQL when scaled out.

Everything that is not a memory and must not be lost lives here.  Each concern declares its own
tables on `metadata` (tokens, jobs, settings of the instance) and reaches them through `Control.run`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import ReflectedColumn, TableKey

from noesis.errors import StoreFull, StoreReadOnly

T = TypeVar("T")

metadata = sa.MetaData()

_READ_ONLY = "noesis_read_only"
_UNSYNCED = "noesis_unsynced"
_THREADS = min(32, (os.cpu_count() or 1) + 4)
"""The most that `asyncio.to_thread` uses at once."""

_CACHE_KIB = 512
"""Pages that each connection keeps; the system has them too.  With SQLite's 2 MB six looks at 20,000 files
left 10 MB, with this 3."""

instance = sa.Table(
    "instance",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)


class Control:
    """Owns the database's engine; every access is one short transaction in a thread."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: str) -> Control:
        """Open the database at a SQLAlchemy URL and create the tables that are missing.

        Raises StoreFull or StoreReadOnly.
        """
        # Beyond its size a pool opens a connection for each use and closes it again.
        engine = sa.create_engine(url, pool_size=_THREADS)
        if engine.dialect.name == "sqlite":
            sa.event.listen(engine, "connect", _configure_sqlite)
            sa.event.listen(engine, "begin", _begin_immediate)
        else:
            sa.event.listen(engine, "begin", _begin_unsynced)
        with _disk_faults():
            earlier = sa.inspect(engine).get_multi_columns()
            metadata.create_all(engine)
            _add_missing_columns(engine, earlier)
        return cls(engine)

    @property
    def file(self) -> Path | None:
        """The file that a SQLite database is, or None."""
        url = self._engine.url
        return Path(url.database) if self._engine.dialect.name == "sqlite" and url.database else None

    async def run(self, work: Callable[[sa.Connection], T], *, synced: bool = True) -> T:
        """Run `work` in one transaction, committed (and synced) when it returns.

        Not `synced`, it outlives the process, and a power cut only once a later transaction was synced.
        Raises StoreFull or StoreReadOnly when the disk is to blame.
        """
        return await asyncio.to_thread(self.run_sync, work, synced=synced)

    def run_sync(self, work: Callable[[sa.Connection], T], *, synced: bool = True) -> T:
        """The same for callers that have no event loop yet."""
        engine = self._engine if synced else self._engine.execution_options(**{_UNSYNCED: True})
        with _disk_faults(), engine.begin() as connection:
            return work(connection)

    async def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Run `work`, which only reads, without waiting for a writer."""
        return await asyncio.to_thread(self.read_sync, work)

    def read_sync(self, work: Callable[[sa.Connection], T]) -> T:
        """The same for callers that have no event loop yet."""
        with self._engine.connect().execution_options(**{_READ_ONLY: True}) as connection:
            return work(connection)

    async def value(self, key: str) -> str | None:
        """A value of the instance, or None."""
        return await self.read(lambda connection: read_value(connection, key))

    async def set_value(self, key: str, value: str) -> None:
        """Set a value of the instance."""
        await self.run(lambda connection: write_value(connection, key, value))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _add_missing_columns(engine: sa.Engine, earlier: Mapping[TableKey, Sequence[ReflectedColumn]]) -> None:
    """Give the tables that an earlier version made the columns that came since; these may be null."""
    columns = {name: {column["name"] for column in there} for (_, name), there in earlier.items()}
    for table in metadata.sorted_tables:
        there = columns.get(table.name)
        missing = [] if there is None else [each for each in table.columns if each.name not in there]
        if not missing:
            continue
        with engine.begin() as connection:
            for column in missing:
                definition = sa.schema.CreateColumn(column).compile(dialect=engine.dialect)
                name = engine.dialect.identifier_preparer.format_table(table)
                connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {definition}")


@contextmanager
def _disk_faults() -> Iterator[None]:
    """Turn the database's words for a full or a read-only disk into errors that say what to do."""
    try:
        yield
    except sa.exc.OperationalError as error:
        reason = str(error.orig).lower()
        if "is full" in reason or "no space left" in reason:
            raise StoreFull(
                "There is no room left on the disk: nothing was written, reading goes on."
            ) from error
        if "readonly" in reason or "unable to open" in reason:
            raise StoreReadOnly("The data directory cannot be written; reading goes on.") from error
        raise


def sqlite_url(path: Path) -> str:
    """The SQLAlchemy URL of a SQLite file."""
    return f"sqlite:///{path}"


def read_value(connection: sa.Connection, key: str) -> str | None:
    """A value of the instance inside a transaction."""
    return connection.execute(sa.select(instance.c.value).where(instance.c.key == key)).scalar()


def write_value(connection: sa.Connection, key: str, value: str) -> None:
    """Set a value of the instance inside a transaction."""
    changed = connection.execute(sa.update(instance).where(instance.c.key == key).values(value=value))
    if changed.rowcount == 0:
        connection.execute(sa.insert(instance).values(key=key, value=value))


def _configure_sqlite(connection: Any, _record: Any) -> None:
    # The driver's own transaction control would open read transactions first and fail to
    # upgrade them when another process writes; BEGIN IMMEDIATE below waits its turn instead.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA busy_timeout=10000")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")


def _begin_immediate(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if options.get(_READ_ONLY, False):
        connection.exec_driver_sql("BEGIN")
        return
    # Only outside a transaction; the connection may have been used the other way before.
    level = "NORMAL" if options.get(_UNSYNCED, False) else "FULL"
    connection.exec_driver_sql(f"PRAGMA synchronous={level}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_unsynced(connection: sa.Connection) -> None:
    if connection.get_execution_options().get(_UNSYNCED, False):
        connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
