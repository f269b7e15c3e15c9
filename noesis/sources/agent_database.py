"""Reads the turns of an OpenClaw agent's SQLite database while the host writes it, and never writes.

The schema is private to the host: what is read of it is `transcript_events(session_id, seq, event_json,
event_zstd)`, one row an entry, as agent schema 23 of OpenClaw 2026.9 has it.  Rows are fetched one by one,
so that no read transaction stands in the way of the host's checkpoints.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from noesis.sources.database_file import DatabaseFile, UnknownTranscript
from noesis.sources.entries import Talk, follow, read_entry
from noesis.sources.inflating import ArchiveTooLarge, DamagedArchive, inflate
from noesis.sources.lines import TOO_LONG, Skipped
from noesis.sources.transcripts import DAMAGED, Limits
from noesis.turns import Turn

_TABLE = "transcript_events"
_NEEDED = {"session_id", "seq", "event_json"}
_KEYS_AT_ONCE = 500

EMPTY = "the event holds nothing"


class SessionPlace(msgspec.Struct, frozen=True):
    """The last event of a session that was read; `digest` (SHA-256, empty if unread) tells a rewritten one."""

    seq: int
    digest: str
    polled: bool = False


class DatabaseProgress(msgspec.Struct, frozen=True):
    """Where reading a database goes on, by session id; JSON of it can be kept."""

    sessions: dict[str, SessionPlace] = {}


class DatabaseReading:
    """One pass over a database: iterate over it once; `progress` is true after every item.

    `restarted` holds the sessions whose earlier events are gone or changed, which are read from their
    start: turns that were given before come again, with the same entry ids.
    """

    def __init__(
        self, path: Path, progress: DatabaseProgress | None = None, *, limits: Limits | None = None
    ) -> None:
        self._path = path
        self._most = (limits or Limits()).line_bytes
        self._earlier = dict(progress.sessions) if progress else {}
        self._now: dict[str, SessionPlace] = {}
        self._whole = False
        self.restarted: set[str] = set()

    @property
    def progress(self) -> DatabaseProgress:
        """What was read so far; once the pass is over, without the sessions that are no longer there."""
        return DatabaseProgress(dict(self._now) if self._whole else self._earlier | self._now)

    def __iter__(self) -> Iterator[Turn | Skipped]:
        """Give every turn, and every event that could not be read, by session and then in order."""
        with closing(DatabaseFile(self._path)) as database:
            rows = _Events(database, self._most)
            for key in rows.sessions():
                yield from self._session(rows, key)
        self._whole = True

    def _session(self, rows: _Events, key: bytes) -> Iterator[Turn | Skipped]:
        session_id = key.decode("utf-8", errors="replace")
        earlier = self._earlier.get(session_id)
        if earlier is not None and not rows.still_holds(key, earlier):
            self.restarted.add(session_id)
            earlier = None
        if earlier is not None:
            self._now[session_id] = earlier
        talk = Talk(session_id, polled=earlier is not None and earlier.polled)
        for seq in rows.numbers(key, after=earlier.seq if earlier else None):
            data = rows.event(key, seq)
            item, talk = _read(data, seq, talk)
            digest = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else ""
            self._now[session_id] = SessionPlace(seq, digest, talk.polled)
            if item is not None:
                yield item


def read_database(
    path: Path, progress: DatabaseProgress | None = None, *, limits: Limits | None = None
) -> DatabaseReading:
    """Read the agent database at `path` from `progress` on; a turn's number is its event's `seq`.

    Iterating raises UnknownTranscript when the file is no database of this shape, and TranscriptBusy when
    the host keeps it locked.  Events longer than `limits.line_bytes` are skipped.
    """
    return DatabaseReading(path, progress, limits=limits)


class _Events:
    """The rows of `transcript_events`; the columns are looked up once."""

    def __init__(self, database: DatabaseFile, most: int) -> None:
        self._ask = database.ask
        self._most = most
        columns = {row[1].decode() for row in self._ask(f"PRAGMA table_info({_TABLE})")}
        kind = self._ask("SELECT type FROM sqlite_master WHERE name = ?", (_TABLE,))
        if not columns >= _NEEDED or kind != [(b"table",)]:
            raise UnknownTranscript("The database has no transcript events in a shape that is known")
        self._select = _select("event_zstd" if "event_zstd" in columns else "NULL")

    def sessions(self) -> Iterator[bytes]:
        """The session ids in order, each found through the primary key instead of in a scan of all events."""
        query = f"SELECT min(session_id) FROM {_TABLE}"  # noqa: S608 - the names are ours
        (last,) = self._ask(query)[0]
        while isinstance(last, bytes):
            yield last
            (found,) = self._ask(f"{query} WHERE session_id > CAST(? AS TEXT)", (last,))[0]
            # An id that is no text compares as greater than itself here.
            last = found if found != last else None

    def numbers(self, key: bytes, after: int | None) -> Iterator[int]:
        """The `seq` of every event of a session after one of them, or of all."""
        query = (
            f"SELECT seq FROM {_TABLE} WHERE session_id = CAST(? AS TEXT) AND seq > ? "  # noqa: S608
            f"ORDER BY seq LIMIT {_KEYS_AT_ONCE}"
        )
        last = -(2**63) if after is None else after
        while rows := self._ask(query, (key, last)):
            numbers = [row[0] for row in rows if isinstance(row[0], int)]
            yield from numbers
            if len(numbers) < len(rows) or numbers[-1] <= last:
                raise UnknownTranscript("The database numbers its events in a way that is not known")
            last = numbers[-1]

    def event(self, key: bytes, seq: int) -> bytes | str:
        """The JSON of one event, or why it is not to be had."""
        try:
            rows = self._ask(self._select, {"session": key, "seq": seq, "most": self._most})
        except sqlite3.DataError:
            return TOO_LONG
        plain, packed, size = rows[0] if rows else (None, None, 0)
        if plain is not None or packed is None:
            return plain or (TOO_LONG if size else EMPTY)
        try:
            return inflate(packed, self._most)
        except ArchiveTooLarge:
            return TOO_LONG
        except DamagedArchive:
            return DAMAGED

    def still_holds(self, key: bytes, place: SessionPlace) -> bool:
        """Tell whether the event that was read last is there as it was."""
        data = self.event(key, place.seq)
        if isinstance(data, bytes):
            return place.digest in ("", hashlib.sha256(data).hexdigest())
        return data != EMPTY and not place.digest


def _select(packed: str) -> str:
    """The query for one event: its JSON and its compressed form, each unless too long, and their size."""
    plain, packed = "CAST(event_json AS BLOB)", f"CAST({packed} AS BLOB)"
    return (
        f"SELECT CASE WHEN length({plain}) <= :most THEN {plain} END, "  # noqa: S608 - the names are ours
        f"CASE WHEN length({packed}) <= :most THEN {packed} END, "
        f"coalesce(length({plain}), length({packed}), 0) "
        f"FROM {_TABLE} WHERE session_id = CAST(:session AS TEXT) AND seq = :seq"
    )


def _read(data: bytes | str, seq: int, talk: Talk) -> tuple[Turn | Skipped | None, Talk]:
    entry = read_entry(data) if isinstance(data, bytes) else data
    if isinstance(entry, str):
        return Skipped(reason=entry, number=seq, session_id=talk.session_id), talk
    turn, after = follow(entry, seq, talk)
    # The row says which session it is in; a fork may have copied the event that opened another one.
    return turn, Talk(talk.session_id, after.polled)
