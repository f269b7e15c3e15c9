"""A quota is exact, refuses in words, changes nothing, and stops nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.errors import QuotaExceeded
from noesis.importing.values import Recipients, What
from noesis.memory import NewMemory, Role, Scope
from noesis.sources.foreign import Format
from noesis.turns import Turn
from tests.operations.samples import MEMORIES, index, listed, search
from tests.support import Clock, Product, WordEmbedder, running

MOST = 5
AGENTS = "/api/v1/agents"


@pytest.fixture
async def product(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    async with running(
        tmp_path / "data", embedder=embedder, clock=clock, environ={"NOESIS_MAX_MEMORIES": str(MOST)}
    ) as opened:
        yield opened


async def fill(client: httpx.AsyncClient) -> list[str]:
    """As many memories as there may be."""
    return [(await index(client, f"memory number {number}"))["id"] for number in range(MOST)]


async def refused(client: httpx.AsyncClient, text: str = "one too many") -> dict[str, Any]:
    reply = await client.post(MEMORIES, json={"text": text})
    assert reply.status_code == 429, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    return problem


async def test_one_too_many_is_refused_in_words_and_changes_nothing(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    ids = await fill(alpha)
    before = await product.noesis.store.active.version()
    seen = list(embedder.seen)
    problem = await refused(alpha, "a canary text")
    assert problem["code"] == "quota_exceeded"
    assert problem["detail"].startswith("alpha has all of the 5 memories")
    assert "canary" not in json.dumps(problem)
    assert await product.noesis.store.active.version() == before
    assert embedder.seen == seen, "what is refused costs the embedder nothing"
    assert {memory["id"] for memory in await listed(alpha)} == set(ids)


@pytest.mark.parametrize(
    "tags", [["x" * 10_000], [f"tag {number}" for number in range(100_000)]], ids=["10 kB", "100,000"]
)
async def test_tags_beyond_measure_are_refused_and_change_nothing(
    alpha: httpx.AsyncClient, tags: list[str]
) -> None:
    reply = await alpha.post(MEMORIES, json={"text": "with tags", "tags": tags})
    assert (reply.status_code, reply.json()["field"]) == (400, "tags")
    assert len(reply.content) < 1_000
    assert await listed(alpha) == []


async def test_what_is_there_already_is_answered_as_ever(alpha: httpx.AsyncClient) -> None:
    ids = await fill(alpha)
    again = await index(alpha, "memory number 0")
    assert (again["status"], again["id"]) == (200, ids[0])
    assert (await search(alpha, "memory number 3"))["hits"][0]["id"] == ids[3]


async def test_many_at_once_fill_it_exactly(alpha: httpx.AsyncClient) -> None:
    replies = await asyncio.gather(
        *(alpha.post(MEMORIES, json={"text": f"text {number}"}) for number in range(40))
    )
    statuses = [reply.status_code for reply in replies]
    assert (statuses.count(201), statuses.count(429)) == (MOST, 40 - MOST)
    assert len(await listed(alpha)) == MOST


async def test_lines_of_a_bulk_request_fail_alone(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "text 1")
    lines = "\n".join(json.dumps({"text": f"text {number}"}) for number in range(9))
    answers = [
        json.loads(line) for line in (await alpha.post(f"{MEMORIES}/bulk", content=lines)).text.splitlines()
    ]
    assert answers[1]["duplicate"] is True
    assert sum("id" in answer and not answer["duplicate"] for answer in answers) == MOST - 1
    assert sum(answer.get("code") == "quota_exceeded" for answer in answers) == 9 - MOST


async def test_deleting_makes_room_and_bringing_back_takes_it(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    ids = await fill(alpha)
    await alpha.delete(f"{MEMORIES}/{ids[0]}")
    await asyncio.sleep(0.15)
    await index(alpha, "in the place of the first")
    reply = await alpha.post(f"{MEMORIES}/{ids[0]}/undelete")
    assert (reply.status_code, reply.json()["code"]) == (429, "quota_exceeded")
    assert ids[0] not in {memory["id"] for memory in await listed(alpha)}


async def test_a_repeat_of_a_deleted_memory_needs_room_like_a_new_one(alpha: httpx.AsyncClient) -> None:
    ids = await fill(alpha)
    await alpha.delete(f"{MEMORIES}/{ids[0]}")
    await asyncio.sleep(0.15)
    await index(alpha, "in the place of the first")
    await refused(alpha, "memory number 0")


async def test_each_agent_has_its_own_and_an_administrator_changes_it(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    await fill(alpha)
    await refused(alpha)
    await fill(beta)
    for most in (MOST + 1, 0):
        reply = await admin.patch(f"{AGENTS}/alpha", json={"max_memories": most})
        assert reply.json()["max_memories"] == most
        await index(alpha, f"allowed by {most}")
    await index(alpha, "no limit at all")
    await admin.patch(f"{AGENTS}/alpha", json={"max_memories": None})
    await refused(alpha)
    (shown,) = [a for a in (await admin.get(AGENTS)).json()["agents"] if a["agent"] == "alpha"]
    assert (shown["memories"], shown["max_memories"], shown["refused"]) == (MOST + 3, None, 2)


@pytest.mark.parametrize("limits", [{"max_memories": -1}, {"writes_per_minute": 2**40}])
async def test_a_limit_out_of_bounds_is_refused_by_its_name(
    admin: httpx.AsyncClient, limits: dict[str, int]
) -> None:
    reply = await admin.patch(f"{AGENTS}/alpha", json=limits)
    assert (reply.status_code, reply.json()["field"]) == (400, next(iter(limits)))


async def test_who_was_refused_is_shown_and_told_once_an_hour(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    async def part() -> Any:
        return next(p for p in (await product.noesis.health.report()).parts if p.name == "quotas")

    async def told() -> int:
        events = (await product.noesis.activity.list()).events
        return sum(event.kind == "quota" for event in events)

    assert (await part()).state == "ok"
    await fill(alpha)
    for _ in range(3):
        await refused(alpha)
    assert (await part()).state == "degraded"
    assert "alpha (3 refused so far)" in (await part()).summary
    assert await told() == 1
    clock.advance(seconds=3601)
    assert (await part()).state == "ok"
    await refused(alpha)
    assert await told() == 2


async def test_a_turn_that_finds_no_room_is_captured_when_there_is_some(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    ids = await fill(alpha)
    turn = Turn(
        session_id="s", entry_id="1", number=0, role="user", text="We decided to use port 8085 for staging."
    )
    capturing = product.noesis.inflow.capturing
    with pytest.raises(QuotaExceeded):
        await capturing.capture("alpha", [turn], "talk")
    for memory_id in ids:
        await alpha.delete(f"{MEMORIES}/{memory_id}")
    await asyncio.sleep(0.15)
    found = await capturing.capture("alpha", [turn], "talk")
    assert (found.known, sum(found.stored.values()) > 0) == (0, True)


async def test_a_followed_file_that_finds_no_room_is_shown_and_read_later(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, tmp_path: Path
) -> None:
    ids = await fill(alpha)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Harbour\n\nThe heron lives at the harbour.\n")
    inflow = product.noesis.inflow
    root = await inflow.following.add("alpha", str(notes))
    scanned = await inflow.scanning.scan(root.key, lambda _done, _total: None, lambda: False)
    assert (scanned.failed, scanned.read) == (1, 0)
    (fresh,) = await inflow.scanning.freshness(Scope(None, Role.ADMIN))
    assert not fresh.is_clean
    assert "alpha has all of the 5 memories" in fresh.problems[0][1]
    await alpha.delete(f"{MEMORIES}/{ids[0]}")
    await asyncio.sleep(0.15)
    clock.advance(seconds=60)
    scanned = await inflow.scanning.scan(root.key, lambda _done, _total: None, lambda: False)
    assert (scanned.failed, scanned.read) == (0, 1)
    assert len(await listed(alpha)) == MOST


async def test_entries_of_an_import_that_find_no_room_are_counted(
    alpha: httpx.AsyncClient, product: Product, tmp_path: Path
) -> None:
    file = tmp_path / "old.ndjson"
    lines = [{"text": f"entry {number}", "agent_id": "alpha", "memory_type": "fact"} for number in range(8)]
    file.write_text("\n".join(map(json.dumps, lines)))
    what = What(path=str(file), format=Format.NOESIS, trusted=True)
    to = Recipients(agent="alpha")
    done = await product.noesis.inflow.importing.run(what, to, lambda _done, _total: None, lambda: False)
    assert (done.indexed, done.errors) == (MOST, 3)
    assert len(await listed(alpha)) == MOST


async def test_another_process_s_memories_are_counted_too(
    alpha: httpx.AsyncClient, product: Product, tmp_path: Path, clock: Clock
) -> None:
    await index(alpha, "the first")
    other = {"NOESIS_MAX_MEMORIES": str(MOST)}
    async with running(tmp_path / "data", clock=clock, environ=other) as second:
        for number in range(MOST - 1):
            await second.noesis.indexing.index(Scope("alpha"), NewMemory(text=f"elsewhere {number}"))
        with pytest.raises(QuotaExceeded):
            await second.noesis.indexing.index(Scope("alpha"), NewMemory(text="one too many"))
