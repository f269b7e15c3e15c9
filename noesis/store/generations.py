"""Generations: sibling stores, of which the one-line file CURRENT names the live one."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from pathlib import Path

import lancedb
import msgspec

from noesis.embedding.base import EmbedderIdentity
from noesis.errors import StoreError, StoreIncompatible, StoreReadOnly
from noesis.store.caches import LEAST_ROOM, session_of
from noesis.store.calls import MENDING, reading
from noesis.store.locks import StoreLocks
from noesis.store.recovery import QUARANTINE, Dropped, is_readable, newest_readable
from noesis.store.schema import SCHEMA_VERSION
from noesis.store.tables import Table, create_table
from noesis.store.vector_index import DEFAULT_DEPTH, Depth

ACTIVE = "memories"
ARCHIVE = "memories_archive"

_TRAINED = "vector_index.json"
"""LanceDB does not tell what an index learnt from; without this file, it is taken for what it covers."""

_FIRST_FIELDS = {"schema_version", "created_at", "embedder"}


class GenerationInfo(msgspec.Struct, frozen=True):
    """What `generation.json` says: the row format, and whose vectors lie in it (None: none yet).

    `previous` is the generation this one took the place of, `made_by` what made it (start, restore,
    undo, re-embedding) and `made_for` the piece of work it was made in, so that a repeat finds it done.
    """

    schema_version: int
    created_at: int
    embedder: EmbedderIdentity | None = None
    previous: str | None = None
    made_by: str = "start"
    made_for: str | None = None
    check: str = ""
    """SHA-256 over the other fields: a flipped bit in them must not go unnoticed."""


class Generation:
    """One opened generation: two tables and what is known about their vectors."""

    def __init__(
        self, directory: Path, active: Table, archive: Table, dropped: tuple[Dropped, ...] = ()
    ) -> None:
        self.directory = directory
        self.active = active
        self.archive = archive
        self.dropped = dropped

    @property
    def name(self) -> str:
        """What CURRENT calls it."""
        return self.directory.name

    async def follow(self) -> None:
        """Be the live generation, where this one stands for it (`Live`); any other stays what it is."""

    async def reopen(self) -> None:
        """Let go of what is kept of versions before, where this one stands for the live one (`Live`)."""

    def trained(self, table: str) -> int | None:
        """How many vectors a table's vector index learnt from; None if that was not recorded."""
        try:
            recorded = (self.directory / _TRAINED).read_bytes()
            return msgspec.json.decode(recorded, type=dict[str, int]).get(table)
        except (OSError, msgspec.DecodeError):
            return None

    def record_trained(self, table: str, vectors: int) -> None:
        """Note that a vector index was built from so many; only under the maintenance lock."""
        names = {name: self.trained(name) for name in (ACTIVE, ARCHIVE)}
        record = {name: count for name, count in {**names, table: vectors}.items() if count is not None}
        write_file(self.directory / _TRAINED, msgspec.json.encode(record))

    @property
    def info(self) -> GenerationInfo:
        """`generation.json` as it is now; another process may have written it."""
        return read_info(self.directory)

    def record_embedder(self, identity: EmbedderIdentity) -> None:
        """Note whose vectors this generation holds; only under the write lock, and only once."""
        write_info(self.directory, msgspec.structs.replace(self.info, embedder=identity))


def current_name(store_dir: Path) -> str | None:
    """The name of the live generation, or None in an empty store."""
    try:
        return (store_dir / "CURRENT").read_text(encoding="ascii", errors="replace").removesuffix("\n")
    except FileNotFoundError:
        return None


def read_info(directory: Path) -> GenerationInfo:
    """Read `generation.json`.  Raises StoreError, also when a bit of it changed, or StoreIncompatible."""
    try:
        info = msgspec.json.decode((directory / "generation.json").read_bytes(), type=GenerationInfo)
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(f"{directory.name}/generation.json cannot be read: {error}") from error
    if info.schema_version > SCHEMA_VERSION:
        raise StoreIncompatible(
            "These memories were written by a newer version of Noesis. Start that version; nothing was changed."
        )
    if info.check and info.check != _check(info):
        raise StoreError(f"{directory.name}/generation.json is damaged: its check sum does not fit.")
    return info


def write_info(directory: Path, info: GenerationInfo) -> None:
    """Write `generation.json`."""
    write_file(directory / "generation.json", _encoded(info))


def is_as_written(directory: Path) -> bool:
    """Whether `generation.json` is byte for byte what this version would write; an earlier one wrote no check."""
    found = (directory / "generation.json").read_bytes()
    if b'"check"' not in found and set(msgspec.json.decode(found)) == _FIRST_FIELDS:
        return True
    return found == _encoded(read_info(directory))


def _encoded(info: GenerationInfo) -> bytes:
    checked = msgspec.structs.replace(info, check=_check(info))
    return msgspec.json.format(msgspec.json.encode(checked))


def _check(info: GenerationInfo) -> str:
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(info, check=""))).hexdigest()


async def create_generation(store_dir: Path, name: str, now_ms: int) -> None:
    """Make an empty generation and let CURRENT name it; only under the write lock."""
    try:
        await create_empty(store_dir / "generations" / name, now_ms)
        write_file(store_dir / "CURRENT", name.encode() + b"\n")
    except OSError as error:
        raise StoreReadOnly(f"The store cannot be created in {store_dir}: {error.strerror}.") from error


async def create_empty(directory: Path, now_ms: int) -> None:
    """Make an empty generation that nothing names.  Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    connection = await connect(directory)
    existing = set((await connection.list_tables()).tables)
    for table in (ACTIVE, ARCHIVE):
        if table not in existing:
            await create_table(connection, table)
    write_info(directory, GenerationInfo(schema_version=SCHEMA_VERSION, created_at=now_ms))


async def open_generation(store_dir: Path, name: str, depth: Depth, locks: StoreLocks) -> Generation:
    """Open a generation's tables, each at its newest readable version.

    Raises StoreError or StoreIncompatible.
    """
    directory = store_dir / "generations" / name
    read_info(directory)
    connection = await connect(directory)
    dropped: list[Dropped] = []
    for table in (ACTIVE, ARCHIVE):
        if not await is_readable(connection, table):
            async with locks.writing():
                dropped += await newest_readable(connection, directory, table, store_dir / QUARANTINE)
    return await open_tables(connection, directory, depth, tuple(dropped))


async def open_as_it_is(directory: Path, depth: Depth = DEFAULT_DEPTH, room: int = LEAST_ROOM) -> Generation:
    """Open a generation's directory, with `room` bytes for its indexes in memory, and repair nothing.

    Raises StoreError or StoreIncompatible.
    """
    read_info(directory)
    connection = await connect(directory, room)
    for table in (ACTIVE, ARCHIVE):
        if not await is_readable(connection, table):
            raise StoreError(f"The table {table} cannot be read. {MENDING}")
    return await open_tables(connection, directory, depth)


async def open_tables(
    connection: lancedb.AsyncConnection, directory: Path, depth: Depth, dropped: tuple[Dropped, ...] = ()
) -> Generation:
    """The generation of a connection whose tables are known to be readable."""
    active, archive = [
        Table(await _handle(connection, table), depth, directory.name) for table in (ACTIVE, ARCHIVE)
    ]
    return Generation(directory, active, archive, dropped)


async def _handle(connection: lancedb.AsyncConnection, name: str) -> lancedb.AsyncTable:
    return await reading(lambda: connection.open_table(name), name)


async def connect(directory: Path, room: int = LEAST_ROOM) -> lancedb.AsyncConnection:
    """A connection whose caches are bounded and whose every read looks for newer commits."""
    # Zero, because the default never looks.
    return await lancedb.connect_async(
        str(directory.absolute()), read_consistency_interval=timedelta(0), session=session_of(room)
    )


def write_file(path: Path, content: bytes) -> None:
    """Replace a small file so that at any moment the old or the new one is whole on the disk."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
