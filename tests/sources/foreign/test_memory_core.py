"""OpenClaw's own search index is put together again."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.memory import MemoryType
from noesis.sources.foreign.joining import Chunk, sections
from noesis.sources.foreign.memory_core import MAX_CHUNK_BYTES, read_memory_core
from noesis.sources.foreign.records import Record, Unreadable

OLD = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (path TEXT PRIMARY KEY, source TEXT NOT NULL DEFAULT 'memory', hash TEXT NOT NULL,
  mtime INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE chunks (id TEXT PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'memory',
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL,
  dims INTEGER, text TEXT NOT NULL, embedding TEXT NOT NULL, updated_at INTEGER NOT NULL);
"""
NEW = """
CREATE TABLE memory_index_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE memory_index_sources (id INTEGER PRIMARY KEY, path TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'memory', hash TEXT NOT NULL, mtime REAL NOT NULL, size INTEGER NOT NULL,
  UNIQUE (path, source));
CREATE TABLE memory_index_chunks (chunk_rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'memory', start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
  hash TEXT NOT NULL, model TEXT NOT NULL, text TEXT NOT NULL, embedding BLOB NOT NULL,
  updated_at INTEGER NOT NULL);
"""
NAMES = {OLD: ("chunks", "files"), NEW: ("memory_index_chunks", "memory_index_sources")}
LINES = [f"line {number} of the note" for number in range(1, 31)]
CHANGED = 1_772_000_000_000


def note(*replaced: tuple[int, str]) -> list[str]:
    return [dict(replaced).get(number, line) for number, line in enumerate(LINES, start=1)]


def cut(lines: list[str], size: int, overlap: int) -> list[Chunk]:
    """Chunks of `size` lines, each starting with the last `overlap` of the one before."""
    step = size - overlap
    starts = range(0, max(len(lines) - overlap, 1), step)
    return [
        Chunk(start + 1, min(start + size, len(lines)), "\n".join(lines[start : start + size]))
        for start in starts
    ]


def database(path: Path, schema: str, files: dict[str, list[Chunk]], source: str = "memory") -> Path:
    chunks, sources = NAMES[schema]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(schema)
        for name, parts in files.items():
            connection.execute(
                f"INSERT INTO {sources} (path, source, hash, mtime, size) VALUES (?, ?, 'h', ?, 1)",
                (name, source, CHANGED),
            )
            for part in reversed(parts):
                row = (f"{name}:{part.start}:{part.text[:9]}", name, source, part.start, part.end, part.text)
                connection.execute(
                    f"INSERT INTO {chunks} (id, path, source, start_line, end_line, text, hash, model, embedding,"
                    f" updated_at) VALUES (?, ?, ?, ?, ?, ?, 'h', 'm', '[]', 1)",
                    row,
                )
    return path


@pytest.mark.parametrize("schema", [OLD, NEW], ids=["old", "new"])
def test_chunks_become_sections_with_each_line_once(tmp_path: Path, schema: str) -> None:
    (tmp_path / "memory").mkdir()
    lines = note((1, "# Notes"), (12, "## Bread"), (20, "```"), (22, "# a comment"), (25, "```"))
    files = {"MEMORY.md": cut(lines, 8, 3), "memory/2026-03-02-plan.md": cut(["a", "b"], 8, 3)}
    path = database(tmp_path / "memory" / "Research.sqlite", schema, files)
    before = hashlib.sha256(path.read_bytes()).digest()
    first, second, daily = list(read_memory_core(path))
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert isinstance(daily, Record)
    assert first.memory.text == "\n".join(lines[:11])
    assert second.memory.text == "\n".join(lines[11:])
    assert (first.memory.source, first.memory.position, second.memory.position) == ("MEMORY.md", 0, 1)
    assert (first.memory.created_at, first.updated_at) == (CHANGED, CHANGED)
    assert daily.memory.created_at == 1_772_409_600_000  # 2 March 2026, not the file's time
    assert (first.agent, first.raw_agent) == ("research", "Research")
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert [each.name for each in path.parent.iterdir()] == ["Research.sqlite"]


def test_the_agent_is_read_from_openclaws_layout_only(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "ops" / "agent"
    folder.mkdir(parents=True)
    for path, agent in ((folder / "openclaw-agent.sqlite", "ops"), (tmp_path / "copy.sqlite", None)):
        (record,) = read_memory_core(database(path, NEW, {"MEMORY.md": cut(["a"], 8, 0)}))
        assert isinstance(record, Record)
        assert (record.agent, record.raw_agent) == (agent, agent)


def test_transcripts_in_the_index_are_session_memories(tmp_path: Path) -> None:
    path = database(tmp_path / "x.sqlite", OLD, {"sessions/s.jsonl": cut(["User: hi"], 8, 0)}, "sessions")
    (record,) = read_memory_core(path)
    assert isinstance(record, Record)
    assert record.memory.memory_type is MemoryType.SESSION


def test_bad_chunks_fail_alone(tmp_path: Path) -> None:
    path = database(tmp_path / "x.sqlite", OLD, {"a.md": [Chunk(1, 1, "one"), Chunk(2, 2, "two")]})
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, (start, end, text) in enumerate(
            [(3, 2, "x"), ("three", 3, "x"), (4, 4, b"\xff\xfe"), (5, 5, "a" * (MAX_CHUNK_BYTES + 1))]
        ):
            connection.execute(
                "INSERT INTO chunks VALUES (?, 'a.md', 'memory', ?, ?, 'h', 'm', 1, CAST(? AS TEXT), '[]', 1)",
                (str(number), start, end, text),
            )
    found = list(read_memory_core(path))
    assert [each.memory.text for each in found if isinstance(each, Record)] == ["one\ntwo"]
    reasons = [each.reason for each in found if isinstance(each, Unreadable)]
    assert len(reasons) == 4
    assert sum("line numbers" in reason for reason in reasons) == 2
    assert sum("UTF-8" in reason for reason in reasons) == 1


def test_a_damaged_database_gives_what_can_be_read(tmp_path: Path) -> None:
    files = {f"{number:03}.md": [Chunk(1, 1, f"{number} " * 300)] for number in range(200)}
    path = database(tmp_path / "x.sqlite", OLD, files)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE INDEX by_place ON chunks(source, path, start_line, end_line)")
    data = bytearray(path.read_bytes())
    start = data.rfind(b"150 150 150")
    data[start - start % 4096 : start - start % 4096 + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    found = list(read_memory_core(path))
    assert 100 < sum(isinstance(each, Record) for each in found) < 200
    assert isinstance(found[-1], Unreadable)
    assert "damaged" in found[-1].reason


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE chunks (id TEXT)",
        "CREATE TABLE files (path TEXT, source TEXT, mtime INTEGER); CREATE VIEW chunks AS WITH RECURSIVE"
        " n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS path, i AS source, i AS start_line,"
        " i AS end_line, i AS text, i AS updated_at FROM n",
    ],
    ids=["other columns", "an endless view"],
)
def test_another_database_is_refused(tmp_path: Path, script: str) -> None:
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        connection.executescript(script)
    with pytest.raises(InvalidInput):
        list(read_memory_core(tmp_path / "x.sqlite"))


def test_no_database_is_refused_and_none_is_made(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database" * 100)
    for name in ("text", "absent.sqlite"):
        with pytest.raises(InvalidInput):
            list(read_memory_core(tmp_path / name))
    assert [each.name for each in tmp_path.iterdir()] == ["text"]


lines = st.lists(st.sampled_from(["a", "b", "", "a", "longer line"]), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(lines, st.integers(1, 5), st.integers(0, 4))
def test_whatever_the_overlap_the_lines_come_back(content: list[str], size: int, overlap: int) -> None:
    joined = "\n".join(sections(cut(content, size, min(overlap, size - 1))))
    assert joined.strip("\n") == "\n".join(content).strip("\n")


def test_an_overlap_that_starts_within_a_line_is_known() -> None:
    chunks = [Chunk(1, 2, "first line\nthe second line"), Chunk(2, 3, "second line\nthird")]
    assert list(sections(chunks)) == ["first line\nthe second line\nthird"]


def test_a_line_longer_than_a_chunk_is_one_line_again() -> None:
    without = [Chunk(1, 1, "abc"), Chunk(1, 1, "def"), Chunk(1, 2, "ghi\nnext")]
    overlapping = [Chunk(1, 1, "abcdef"), Chunk(1, 1, "ef\nghi"), Chunk(1, 2, "hi\njkl\nnext")]
    assert list(sections(without)) == ["abcdefghi\nnext"]
    assert list(sections(overlapping)) == ["abcdefghijkl\nnext"]


def test_a_gap_ends_a_section() -> None:
    assert list(sections([Chunk(1, 2, "a\nb"), Chunk(5, 5, "e")])) == ["a\nb", "e"]


def test_a_section_longer_than_a_memory_is_cut() -> None:
    text = "\n".join(["x" * 999] * 1200)
    parts = list(sections([Chunk(1, 1200, text)]))
    assert [len(part) <= 500_000 for part in parts] == [True, True, True]
    assert "\n".join(parts) == text
