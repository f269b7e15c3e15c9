"""Writes transcripts as OpenClaw does, for tests that read them."""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zstandard

DATA = Path(__file__).parents[1] / "data" / "openclaw"

EVENTS_TABLE = """
    CREATE TABLE transcript_events (
      session_id TEXT NOT NULL,
      seq INTEGER NOT NULL,
      event_json TEXT,
      created_at INTEGER NOT NULL,
      event_zstd BLOB,
      event_utf8_bytes INTEGER,
      navigation_json TEXT,
      PRIMARY KEY (session_id, seq),
      CHECK ((event_json IS NOT NULL) <> (event_zstd IS NOT NULL))
    ) STRICT
"""


def header(session: str = "s1", version: int = 4) -> dict[str, Any]:
    return {"type": "session", "version": version, "id": session, "timestamp": "2026-11-29T18:20:11.523Z"}


def message(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": f"e{number}",
        "parentId": f"e{number - 1}",
        "timestamp": "2026-11-29T18:20:13.703Z",
        "message": {"role": role, "content": content, **more},
    }


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def jsonl(events: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def make_database(path: Path, table: str = EVENTS_TABLE, *, wal: bool = True) -> sqlite3.Connection:
    """Open a new database as the host does, in autocommit mode."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
    connection.execute(table)
    return connection


def add(
    connection: sqlite3.Connection,
    session: str,
    seq: int,
    event: Any,
    *,
    packed: bool = False,
    raw: bool = False,
) -> None:
    written = event if raw else json.dumps(event)
    row = (
        (session, seq, None, zstandard.compress(written.encode()))
        if packed
        else (session, seq, written, None)
    )
    connection.execute(
        "INSERT INTO transcript_events (session_id, seq, event_json, event_zstd, created_at) VALUES (?, ?, ?, ?, 1)",
        row,
    )
