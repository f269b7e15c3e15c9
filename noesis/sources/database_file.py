"""Opens another program's SQLite file to read, without leaving a trace in its folder.

A database in WAL mode that nobody has open has no `-wal` file, and SQLite would create one, and a `-shm`,
even to read: files of ours that its owner might not be able to write.  Such a database is opened as
immutable, and after every query it is looked at again: if its owner came meanwhile, it is opened anew and
the query is asked again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from noesis.errors import InvalidInput
from noesis.sources.plain_file import read_start

_WAIT_S = 5.0
_MAX_VALUE_BYTES = 64 * 1024 * 1024
_WAL_AT, _WAL = 18, 2
_ATTEMPTS = 5


class UnknownTranscript(InvalidInput):
    """A database that is not of a shape we can read."""

    code = "unknown_transcript"
    title = "The transcript is of an unknown kind"


class TranscriptBusy(UnknownTranscript):
    """A database that its owner keeps locked; the next pass may find it free."""

    code = "transcript_busy"
    title = "The transcript is in use"
    retryable = True


class DatabaseFile:
    """A read-only connection to the SQLite file at `path`; it belongs to whoever closes it.

    Raises UnknownTranscript for anything but a readable database, TranscriptBusy when it stays locked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        self._connection, self._seen = self._open()

    def ask(self, query: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that answer `query`, text as bytes.

        Raises sqlite3.DataError when a value is longer than 64 MB, else what the constructor raises.
        """
        for _ in range(_ATTEMPTS):
            rows = self._ask(query, values)
            if self._seen is None or self._seen == self._look():
                return rows if isinstance(rows, list) else _raise(rows)
            self.close()
            self._connection, self._seen = self._open()
        raise TranscriptBusy("The database changes faster than it can be read")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _ask(
        self, query: str, values: Sequence[Any] | Mapping[str, Any]
    ) -> list[tuple[Any, ...]] | Exception:
        """The rows, or the error: what an immutable file that changes after all gives may be either."""
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.DataError as error:
            return error
        except sqlite3.DatabaseError as error:
            return _translated(error)

    def _open(self) -> tuple[sqlite3.Connection, tuple[int, ...] | None]:
        # Looked at before the log is looked for: one that appears in between shows at the first query.
        seen = self._look()
        at_rest = self._is_at_rest()
        address = f"{self._path.absolute().as_uri()}?mode=ro{'&immutable=1' if at_rest else ''}"
        try:
            return _connect(address), seen if at_rest else None
        except sqlite3.DatabaseError as error:
            raise _translated(error) from error

    def _is_at_rest(self) -> bool:
        """Tell whether it is in WAL mode and nobody has it open; also refuses what is no regular file."""
        try:
            head = read_start(self._path, _WAL_AT + 1, follow=False)
        except OSError as error:
            raise UnknownTranscript(f"The database cannot be opened: {error.strerror}") from error
        return head[_WAL_AT:] == bytes([_WAL]) and not self._log.exists()

    def _look(self) -> tuple[int, ...]:
        """How the file is; a log beside it shows in the last number."""
        try:
            found = self._path.stat()
        except OSError as error:
            raise UnknownTranscript(f"The database is gone: {error.strerror}") from error
        return (found.st_ino, found.st_size, found.st_mtime_ns, int(self._log.exists()))


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, uri=True, timeout=_WAIT_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _translated(error: sqlite3.DatabaseError) -> UnknownTranscript:
    if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return TranscriptBusy("The host keeps the database locked; it is tried again later")
    return UnknownTranscript(f"The database cannot be read ({error.sqlite_errorname})")


def _raise(error: Exception) -> list[tuple[Any, ...]]:
    raise error
