"""The original plugin's LanceDB directory, made here in its exact shape."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest

from noesis.errors import InvalidInput, StoreError
from noesis.memory import NEVER, MemoryType, NewMemory
from noesis.sources.foreign.original import Batch, read_original_rows
from noesis.sources.foreign.records import Record, Unreadable
from noesis.store.foreign import OriginalBatch, read_original

WIDTH = 8
SCHEMA = pa.schema(
    [
        pa.field(name, kind, nullable=False)
        for name, kind in (
            ("id", pa.utf8()),
            ("agentId", pa.utf8()),
            ("sessionId", pa.utf8()),
            ("content", pa.utf8()),
            ("chunk", pa.utf8()),
            ("embedding", pa.list_(pa.float32(), WIDTH)),
            ("memoryType", pa.utf8()),
            ("priority", pa.int64()),
            ("expiresAt", pa.int64()),
            ("createdAt", pa.int64()),
            ("sourcePath", pa.utf8()),
            ("checksum", pa.utf8()),
            ("tags", pa.list_(pa.utf8())),
        )
    ]
)
CREATED = 1_776_000_000_000
LONG = "\n\n".join(f"## Part {number}\n" + "A sentence about rye. " * 60 for number in range(8))


def row(number: int, content: str, **values: Any) -> dict[str, Any]:
    return {
        "id": f"00000000-0000-4000-8000-{number:012}",
        "agentId": "main",
        "sessionId": "manual",
        "content": content,
        "chunk": content[:100],
        "embedding": [0.0] * WIDTH,
        "memoryType": "fact",
        "priority": 30,
        "expiresAt": 0,
        "createdAt": CREATED + number,
        "sourcePath": "",
        "checksum": hashlib.sha256(content.encode()).hexdigest(),
        "tags": [],
    } | values


async def make(path: Path, **tables: list[dict[str, Any]]) -> Path:
    connection = await lancedb.connect_async(str(path))
    for name, rows in tables.items():
        table = await connection.create_table(name, schema=SCHEMA)
        for half in (rows[::2], rows[1::2]):
            if half:
                await table.add(pa.Table.from_pylist(half, schema=SCHEMA))
    return path


def digest(path: Path) -> dict[str, str]:
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in path.rglob("*")
        if file.is_file()
    }


async def read(path: Path) -> list[Record | Unreadable]:
    return [each async for each in read_original_rows(lambda: read_original(path))]


async def one(path: Path, *rows: dict[str, Any]) -> Record:
    (record,) = await read(await make(path, memories=list(rows), memories_archive=[]))
    assert isinstance(record, Record)
    return record


async def test_each_document_comes_once_and_nothing_is_written(tmp_path: Path) -> None:
    path = await make(
        tmp_path / "db",
        memories=[
            *(
                row(number, LONG, sourcePath="memory/rye.md", memoryType="decision", priority=85)
                for number in range(8)
            ),
            row(20, "short", agentId="Ops Team", sessionId="s-1", tags=["a", "b"], expiresAt=CREATED * 2),
            row(21, LONG, agentId="other"),
        ],
        memories_archive=[row(30, "old", expiresAt=CREATED, memoryType="session", priority=20)],
    )
    before = digest(path)
    found = {
        each.memory.text[:5] + str(each.raw_agent): each
        for each in await read(path)
        if isinstance(each, Record)
    }
    assert digest(path) == before
    assert len(found) == 4
    long = found["## Pamain"]
    assert long.memory == NewMemory(
        text=LONG,
        memory_type=MemoryType.DECISION,
        priority=85,
        session_id="manual",
        source="memory/rye.md",
        created_at=CREATED,
    )
    assert (long.agent, long.expires_at, long.archived) == ("main", NEVER, False)
    short = found["shortOps Team"]
    assert (short.agent, short.memory.tags, short.expires_at) == (None, ("a", "b"), CREATED * 2)
    assert found["## Paother"].memory.source is None
    old = found["oldmain"]
    assert (old.archived, old.archive_reason, old.expires_at) == (True, "expired", CREATED)
    assert old.id == "00000000-0000-4000-8000-000000000030"


async def test_what_one_row_of_a_document_was_given_counts_for_all(tmp_path: Path) -> None:
    rows = [row(number, LONG, expiresAt=CREATED * 2) for number in range(8)]
    rows[5] |= {"priority": 99, "expiresAt": 0, "tags": ["kept"], "createdAt": 1}
    record = await one(tmp_path, *rows)
    assert (record.memory.priority, record.expires_at, record.memory.tags) == (99, NEVER, ("kept",))


@pytest.mark.parametrize(
    ("found", "kept"),
    [([30, 30], 30), ([10, 30], 10), ([0, 30], 30), ([0, 0], 0), ([500, 30], 100), ([-3], 0)],
)
async def test_a_priority_set_by_hand_wins(tmp_path: Path, found: list[int], kept: int) -> None:
    rows = [row(number, "same", priority=priority) for number, priority in enumerate(found)]
    assert (await one(tmp_path, *rows)).memory.priority == kept


async def test_an_unknown_type_is_context(tmp_path: Path) -> None:
    assert (await one(tmp_path, row(1, "x", memoryType="musing"))).memory.memory_type is MemoryType.CONTEXT


async def test_a_document_that_is_also_active_is_not_archived(tmp_path: Path) -> None:
    path = await make(tmp_path / "db", memories_archive=[row(1, "x")], memories=[row(2, "x")])
    (record,) = await read(path)
    assert isinstance(record, Record)
    assert (record.archived, record.id) == (False, "00000000-0000-4000-8000-000000000002")


async def test_a_blank_row_fails_alone(tmp_path: Path) -> None:
    path = await make(tmp_path / "db", memories=[row(1, "x"), row(2, " \n")])
    good, bad = await read(path)
    assert isinstance(good, Record)
    assert bad == Unreadable("memories row 2", "content is missing or blank.")


async def test_an_older_table_without_some_columns_is_read(tmp_path: Path) -> None:
    connection = await lancedb.connect_async(str(tmp_path))
    await connection.create_table("memories", [{"id": "1", "agentId": "main", "content": "x"}])
    (record,) = await read(tmp_path)
    assert record == Record(
        memory=NewMemory(text="x", memory_type=MemoryType.CONTEXT),
        agent="main",
        id="1",
        expires_at=NEVER,
        raw_agent="main",
    )


async def test_odd_values_do_not_stop_it() -> None:
    async def rows() -> AsyncIterator[Batch]:
        yield OriginalBatch(
            "memories",
            False,
            1,
            [
                {"content": 17},
                {"content": "half \ud800", "agentId": "a"},
                {"content": "x", "agentId": None, "tags": "no list", "priority": "high", "expiresAt": -1},
            ],
        )

    first, second, third = [each async for each in read_original_rows(rows)]
    assert isinstance(first, Unreadable)
    assert isinstance(second, Unreadable)
    assert isinstance(third, Record)
    assert (third.memory.priority, third.memory.tags, third.expires_at) == (None, (), NEVER)


async def test_another_directory_is_refused(tmp_path: Path) -> None:
    connection = await lancedb.connect_async(str(tmp_path / "db"))
    await connection.create_table("memories", [{"id": "1", "agent_id": "main", "text": "x"}])
    for path in (tmp_path / "db", tmp_path / "absent"):
        with pytest.raises(InvalidInput):
            await read(path)
    assert not (tmp_path / "absent").exists()


async def test_a_broken_table_is_a_store_error_without_its_rows(tmp_path: Path) -> None:
    path = await make(tmp_path / "db", memories=[row(1, "a secret text")])
    for file in (path / "memories.lance" / "data").iterdir():
        file.write_bytes(b"gone")
    with pytest.raises(StoreError) as caught:
        await read(path)
    assert "secret" not in caught.value.message
