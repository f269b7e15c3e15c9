"""Reads the search index of OpenClaw's own memory (memory-core, SQLite) back into sections of its files.

The tables are `files` and `chunks` up to mid-2026, `memory_index_sources` and `memory_index_chunks` since
(src/memory/memory-schema.ts, packages/memory-host-sdk/src/host/memory-schema-base.ts); the columns that
matter are the same.  Vectors are not read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from noesis.errors import InvalidInput
from noesis.memory import MemoryType, NewMemory
from noesis.sources.foreign.joining import Chunk, sections
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.values import agent_of, date_in, moment, tidy_name

MAX_CHUNK_BYTES = 1 << 20

_SCHEMAS = (("memory_index_chunks", "memory_index_sources"), ("chunks", "files"))
_COLUMNS = frozenset(("path", "source", "start_line", "end_line", "text", "updated_at"))
_AGENT_DATABASE = "openclaw-agent"


class _Row(msgspec.Struct, frozen=True):
    number: int
    path: bytes
    source: bytes
    start: Any
    end: Any
    text: bytes | None
    updated_at: Any
    file_time: Any


def read_memory_core(path: Path) -> Iterator[Record | Unreadable]:
    """One memory for each section of each indexed file, in the order of the files' paths.

    The database is opened read-only.  A section ends at a heading of the first or second level and
    where the index has a gap.  `position` counts the sections of a file from 0.  Raises InvalidInput
    when the file is no such index.
    """
    try:
        with closing(_open(path)) as connection:
            yield from _records(connection, _agent_from(path))
    except sqlite3.Error:
        # Its message may quote the schema, which is foreign text.
        raise InvalidInput("The file is not a readable index of OpenClaw's memory.") from None


def tables_of(path: Path) -> frozenset[str]:
    """The names of the ordinary tables of a SQLite file; none when it cannot be read."""
    try:
        with closing(_open(path)) as connection:
            return _tables(connection)
    except sqlite3.Error:
        return frozenset()


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
    connection.text_factory = bytes
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _tables(connection: sqlite3.Connection) -> frozenset[str]:
    """Views and virtual tables are left out: they can make a plain question run anything."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
    )
    return frozenset(name.decode(errors="replace") for (name,) in rows)


def _records(connection: sqlite3.Connection, agent: str | None) -> Iterator[Record | Unreadable]:
    rows = _rows(connection)
    damaged: list[Unreadable] = []
    for (source, path), group in groupby(_guarded(rows, damaged), key=lambda row: (row.source, row.path)):
        unreadable: list[Unreadable] = []
        first, chunks = _peek(group)
        made = list(_file(first, path, source, (_chunk(row, unreadable) for row in chunks), agent))
        yield from unreadable
        yield from made
    yield from damaged


def _rows(connection: sqlite3.Connection) -> Iterator[_Row]:
    """All chunks, file by file and from the top of each.  Raises InvalidInput when there are none such."""
    tables = _tables(connection)
    for chunks, files in _SCHEMAS:
        if chunks in tables and files in tables and _has_columns(connection, chunks):
            cursor = connection.execute(
                f"SELECT c.path, c.source, c.start_line, c.end_line,"  # noqa: S608 - names from _SCHEMAS only
                f" CASE WHEN length(CAST(c.text AS BLOB)) <= {MAX_CHUNK_BYTES} THEN c.text END,"
                f" c.updated_at, f.mtime FROM {chunks} AS c"
                f" LEFT JOIN {files} AS f ON f.path = c.path AND f.source = c.source"
                f" ORDER BY c.source, c.path, c.start_line, c.end_line, c.rowid"
            )
            return (_Row(number, *row) for number, row in enumerate(cursor, start=1))
    raise InvalidInput("The database has no index of OpenClaw's memory.")


def _has_columns(connection: sqlite3.Connection, table: str) -> bool:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {name.decode(errors="replace") for (name,) in rows} >= _COLUMNS


def _guarded(rows: Iterator[_Row], damaged: list[Unreadable]) -> Iterator[_Row]:
    """The rows up to where the database is damaged; what was read before that is still good."""
    number = 0
    try:
        for row in rows:
            number = row.number
            yield row
    except sqlite3.Error:
        damaged.append(Unreadable(f"chunk {number + 1}", "The database is damaged here; the rest is lost."))


def _peek(group: Iterator[_Row]) -> tuple[_Row, Iterator[_Row]]:
    first = next(group)

    def whole() -> Iterator[_Row]:
        yield first
        yield from group

    return first, whole()


def _chunk(row: _Row, unreadable: list[Unreadable]) -> Chunk | None:
    """The chunk of a row; None, with the reason in `unreadable`, when it cannot be used."""
    try:
        if not (isinstance(row.start, int) and isinstance(row.end, int) and 0 < row.start <= row.end):
            raise InvalidInput("Its line numbers make no sense.")
        if not isinstance(row.text, bytes):
            raise InvalidInput(f"It has no text, or more than {MAX_CHUNK_BYTES:,} bytes of it.")
        return Chunk(row.start, row.end, row.text.decode())
    except UnicodeDecodeError:
        unreadable.append(Unreadable(f"chunk {row.number}", "Its text is not UTF-8."))
    except InvalidInput as error:
        unreadable.append(Unreadable(f"chunk {row.number}", error.message))
    return None


def _file(
    first: _Row, path: bytes, source: bytes, chunks: Iterator[Chunk | None], agent: str | None
) -> Iterator[Record]:
    name = tidy_name(path.decode(errors="replace")) if isinstance(path, bytes) else None
    changed = _time(first.file_time) or _time(first.updated_at)
    for position, text in enumerate(sections(chunk for chunk in chunks if chunk is not None)):
        memory = NewMemory(
            text=text,
            memory_type=MemoryType.SESSION if source == b"sessions" else MemoryType.FACT,
            source=name,
            position=position,
            created_at=date_in(name or "") or changed,
        )
        yield Record(memory=memory, agent=agent_of(agent), updated_at=changed, raw_agent=agent)


def _time(value: object) -> int | None:
    return moment(value) if isinstance(value, int | float) else None


def _agent_from(path: Path) -> str | None:
    """The agent whose database this is, after where OpenClaw keeps it; None anywhere else.

    `memory/<agent>.sqlite`, since mid-2026 `agents/<agent>/agent/openclaw-agent.sqlite`.
    """
    place = path.absolute()
    if place.stem == _AGENT_DATABASE and place.parent.name == "agent":
        return place.parent.parent.name
    return place.stem if place.parent.name == "memory" else None
