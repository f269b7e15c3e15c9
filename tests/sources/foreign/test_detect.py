"""Formats are told apart by what they hold."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.sources.foreign import Format, detect, detect_content
from noesis.sources.foreign.detect import HEAD_BYTES
from tests.sources.foreign.samples import SAMPLES


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("noesis-export.ndjson", Format.NOESIS),
        ("mem0.json", Format.MEM0),
        ("mcp-memory-service.json", Format.MCP_MEMORY_SERVICE),
        ("chatgpt-conversations.json", Format.CHATGPT),
        ("claude-conversations.json", Format.CLAUDE),
        ("basic-memory", Format.BASIC_MEMORY),
        ("basic-memory/Coffee Brewing.md", Format.BASIC_MEMORY),
        ("basic-memory/projects", Format.MARKDOWN),
        ("basic-memory/projects/bare.md", Format.MARKDOWN),
    ],
)
def test_each_sample_is_known(name: str, expected: Format) -> None:
    assert detect(SAMPLES / name) is expected


@pytest.mark.parametrize("name", ["a", "a.txt", "conversations.json", "x.jsonl"])
def test_the_name_does_not_decide_over_json(name: str) -> None:
    assert detect_content(name, (SAMPLES / "mem0.json").read_bytes()[:HEAD_BYTES]) is Format.MEM0


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("s.jsonl", b'{"type":"session","version":4,"id":"x"}\n{"type":"message"}\n', Format.OPENCLAW),
        ("s.jsonl.deleted.2026-01-01T00-00-00Z.0a.zst", b"\x28\xb5\x2f\xfd\x00", Format.OPENCLAW),
        ("other.zst", b"\x28\xb5\x2f\xfd\x00", None),
        ("x", b'\xef\xbb\xbf{"id": "1", "text": "no header", "memory_type": "fact"}\n', Format.NOESIS),
        ("x", b'{"format": "other", "text": "x"}', None),
        ("x", rb'[{"text": "it says \"chat_messages\": [ and \"mapping\": {"}]', None),
        ("main.sqlite", b"SQLite format 3\0", Format.MEMORY_CORE),
        ("openclaw-agent.sqlite", b"SQLite format 3\0", Format.OPENCLAW),
        ("NOTES.MD", b"", Format.MARKDOWN),
        ("x.txt", b"plain text", None),
        ("x.json", b"", None),
        ("x.json", b"[" * HEAD_BYTES, None),
        ("x.pdf", b"%PDF-1.7", None),
    ],
)
def test_beginnings(name: str, head: bytes, expected: Format | None) -> None:
    assert detect_content(name, head) is expected


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (("files", "chunks"), Format.MEMORY_CORE),
        (("memory_index_chunks",), Format.MEMORY_CORE),
        (("memory_index_chunks", "transcript_events"), Format.OPENCLAW),
        (("something",), None),
    ],
)
def test_databases_are_told_apart_by_their_tables(
    tmp_path: Path, tables: tuple[str, ...], expected: Format | None
) -> None:
    path = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (a)")
        connection.commit()
    assert detect(path) is expected


def test_folders(tmp_path: Path) -> None:
    for folder in ("original", "ours"):
        (tmp_path / folder / "memories.lance").mkdir(parents=True)
    (tmp_path / "ours" / "generation.json").write_text("{}")
    sessions = tmp_path / "agents" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "a.jsonl").write_text('{"type": "session", "id": "a"}\n')
    (tmp_path / "empty").mkdir()
    assert detect(tmp_path / "original") is Format.ORIGINAL
    assert detect(tmp_path / "ours") is None
    assert detect(tmp_path / "agents") is detect(sessions) is Format.OPENCLAW
    assert detect(tmp_path / "empty") is None


def test_odd_files_are_neither_followed_nor_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "link.md").symlink_to(SAMPLES / "basic-memory" / "Coffee Brewing.md")
    (folder / "loop").symlink_to(folder)
    (folder / "folder.md").mkdir()
    assert detect(folder) is None
    assert detect(folder / "pipe.md") is None
    assert detect(tmp_path / "absent") is None


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=20), st.binary(max_size=200))
def test_any_bytes_have_an_answer(name: str, head: bytes) -> None:
    assert detect_content(name, head) in (None, *Format)
