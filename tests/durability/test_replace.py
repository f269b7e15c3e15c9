"""A change or a move that breaks off, however it does, leaves one copy of the memory, whole and found."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from noesis.errors import StoreError
from noesis.memory import DELETED
from noesis.store import Row, Table
from noesis.store.filters import Column, one_of
from noesis.store.packing import row_hash
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, index, search
from tests.servers import all_memories, headers, process, token_for
from tests.support import Clock, Product, running

TEXT = "The staging database is called heron-2"
ARCHIVE = "memories_archive"

KILLED = """
import gc; gc.disable()  # it ends before there is much to collect
import asyncio, os, signal, sys
from pathlib import Path
from noesis.memory import Role, Scope
from noesis.store import Table
from tests.operations.expire import archive
from tests.support import running

async def die(self, rows):
    if rows:
        os.kill(os.getpid(), signal.SIGKILL)

async def main(directory, step, move, memory_id):
    setattr(Table, step, die)
    async with running(Path(directory)) as product:
        if move == "delete":
            await product.noesis.editing.delete(Scope(agent=None, role=Role.ADMIN), memory_id)
        else:
            await archive(product, memory_id)

asyncio.run(main(*sys.argv[1:]))
"""


class Copy(NamedTuple):
    """The one row of a memory: its table, the hash of all of it, and two values to look at."""

    table: str
    row_hash: str
    priority: int
    archive_reason: str | None


async def the_copy(product: Product, memory_id: str) -> Copy:
    """The one row there must be."""
    fits = one_of(Column.PARENT_ID, [memory_id])
    tables = (product.noesis.store.active, product.noesis.store.archive)
    found = [(each.name, row) for each in tables for row in await each.rows(fits)]
    assert [(row.id, row.text) for _, row in found] == [(memory_id, TEXT)]
    ((table, row),) = found
    return Copy(table, row_hash(row), row.priority, row.archive_reason)


async def assert_found(client: httpx.AsyncClient, memory_id: str) -> None:
    hits = (await search(client, "what is the staging database called"))["hits"]
    assert [(hit["id"], hit["text"]) for hit in hits] == [(memory_id, TEXT)]


class Once:
    """Stands in for a write step of the tables: the first call with rows for a table named so fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: str, name: str) -> None:
        self.failed = 0
        real = getattr(Table, step)

        async def stepped(table: Table, rows: Sequence[Row | str]) -> None:
            if rows and table.name == name and not self.failed:
                self.failed += 1
                raise StoreError("The store could not be written: broken once.")
            await real(table, rows)

        monkeypatch.setattr(Table, step, stepped)


async def test_a_priority_whose_write_fails_once_stays_and_its_caller_is_told(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = await product.agent("alpha")
    stored = (await index(alpha, TEXT))["id"]
    before = await the_copy(product, stored)
    Once(monkeypatch, "upsert", "memories")
    answer = await alpha.patch(f"{MEMORIES}/{stored}", json={"priority": 90})
    assert answer.status_code == 500
    assert answer.json()["code"] == "store"
    assert await the_copy(product, stored) == before
    await assert_found(alpha, stored)
    assert (await alpha.patch(f"{MEMORIES}/{stored}", json={"priority": 90})).status_code == 200
    assert (await the_copy(product, stored)).priority == 90


async def test_a_request_that_is_cancelled_in_the_middle_of_its_write_loses_nothing(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = await product.agent("alpha")
    stored = (await index(alpha, TEXT))["id"]
    writing, go_on = asyncio.Event(), asyncio.Event()
    upsert = Table.upsert

    async def slow(table: Table, rows: Sequence[Row]) -> None:
        if rows:
            writing.set()
            await go_on.wait()
        await upsert(table, rows)

    monkeypatch.setattr(Table, "upsert", slow)
    request = asyncio.create_task(alpha.patch(f"{MEMORIES}/{stored}", json={"priority": 90}))
    await writing.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    go_on.set()
    await product.noesis.store.writer.close()
    assert (await the_copy(product, stored)).priority == 90
    await assert_found(alpha, stored)


MOVES = pytest.mark.parametrize("move", ["delete", "expire"])


async def move_to_archive(product: Product, move: str, memory_id: str) -> None:
    """A deletion over HTTP, or what a clean-up does to an expired row.  Raises StoreError when it failed."""
    if move == "expire":
        await archive(product, memory_id)
        return
    alpha = await product.agent("alpha")
    answer = await alpha.delete(f"{MEMORIES}/{memory_id}")
    if answer.status_code != 200:
        raise StoreError(str(answer.json()["code"]))


@MOVES
@pytest.mark.parametrize(("step", "table"), [("upsert", ARCHIVE), ("delete", "memories")])
async def test_a_move_that_fails_at_a_step_leaves_the_row_where_it_was_and_can_be_done_again(
    product: Product, monkeypatch: pytest.MonkeyPatch, move: str, step: str, table: str
) -> None:
    alpha = await product.agent("alpha")
    stored = (await index(alpha, TEXT))["id"]
    before = await the_copy(product, stored)
    Once(monkeypatch, step, table)
    with pytest.raises(StoreError):
        await move_to_archive(product, move, stored)
    assert await the_copy(product, stored) == before
    await assert_found(alpha, stored)
    await move_to_archive(product, move, stored)
    moved = await the_copy(product, stored)
    assert moved.table == ARCHIVE
    if moved.archive_reason == DELETED:
        assert (await alpha.post(f"{MEMORIES}/{stored}/undelete")).status_code == 200
    await assert_found(alpha, stored)


async def test_an_expired_row_whose_move_fails_is_moved_by_the_next_one(
    product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = await product.agent("alpha")
    stored = (await index(alpha, TEXT, ttl_days=1))["id"]
    clock.advance(days=2)
    Once(monkeypatch, "upsert", ARCHIVE)
    with pytest.raises(StoreError):
        await archive(product, stored)
    assert (await the_copy(product, stored)).table == "memories"
    await archive(product, stored)
    assert (await the_copy(product, stored)).table == ARCHIVE
    await assert_found(alpha, stored)


async def test_half_a_move_that_cannot_be_taken_back_at_once_is_taken_back_by_the_next_write(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = await product.agent("alpha")
    stored = (await index(alpha, TEXT))["id"]

    async def full(_table: Table, _ids: Sequence[str]) -> None:
        raise StoreError("The store could not be written: full.")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Table, "delete", full)
        with pytest.raises(StoreError):
            await move_to_archive(product, "delete", stored)
        await assert_found(alpha, stored)
    await index(await product.agent("beta"), "another agent writes something")
    assert (await the_copy(product, stored)).table == "memories"


@MOVES
@pytest.mark.parametrize("step", ["upsert", "delete"])
async def test_a_move_that_is_killed_at_a_step_is_one_copy_after_the_restart(
    tmp_path: Path, move: str, step: str
) -> None:
    async with running(tmp_path) as product:
        stored = (await index(await product.agent("alpha"), TEXT))["id"]
        before = await the_copy(product, stored)
    command = [sys.executable, "-c", KILLED, str(tmp_path), step, move, stored]
    ended = await asyncio.to_thread(subprocess.run, command, cwd=Path(__file__).parents[2])
    assert ended.returncode == -9
    async with running(tmp_path) as product:
        assert await the_copy(product, stored) == before
        await assert_found(await product.agent("alpha"), stored)
        await move_to_archive(product, move, stored)
        assert (await the_copy(product, stored)).table == ARCHIVE


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_clients_that_hang_up_in_the_middle_of_a_change_lose_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = token_for(data)
    chance = random.Random(4)
    with process("api", data) as server:
        client = httpx.Client(base_url=server.url, headers=headers(token), trust_env=False, timeout=60)
        with client:
            stored = client.post(MEMORIES, json={"text": TEXT}).json()["id"]
            for priority in range(1, 25):
                with socket.create_connection(("127.0.0.1", server.port)) as connection:
                    connection.sendall(patch_request(f"{MEMORIES}/{stored}", token, priority))
                    time.sleep(chance.uniform(0, 0.02))
            assert client.patch(f"{MEMORIES}/{stored}", json={"tags": ["last"]}).status_code == 200
            hits = client.post("/api/v1/search", json={"query": "staging database"}).json()["hits"]
        (memory,) = all_memories(server.url, token)
    assert (memory["id"], memory["text"], memory["tags"]) == (stored, TEXT, ["last"])
    assert memory["priority"] in range(1, 25), "not one of the changes was made"
    assert [hit["id"] for hit in hits] == [stored]


def patch_request(path: str, token: str, priority: int) -> bytes:
    """The bytes of a request that sets a priority."""
    body = json.dumps({"priority": priority})
    lines = [f"PATCH {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers(token).items()]
    lines += [f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()
