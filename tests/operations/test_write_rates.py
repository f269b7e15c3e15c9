"""Writes over HTTP are limited by agent and minute, and one who brings many makes nobody else wait."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from noesis.api.rate_limits import REFUSED_AFTER_S
from noesis.errors import TooManyRequests
from noesis.memory import NewMemory, Scope
from noesis.write_rates import WriteRates
from tests.operations.samples import MEMORIES, index, listed, search
from tests.support import Product, WordEmbedder

AGENTS = "/api/v1/agents"


@pytest.fixture
async def alpha(product: Product, admin: httpx.AsyncClient) -> httpx.AsyncClient:
    """An agent that may write three memories a minute."""
    await admin.patch(f"{AGENTS}/alpha", json={"writes_per_minute": 3})
    return await product.agent("alpha")


async def test_a_write_too_many_is_429_says_when_to_try_again_and_stores_nothing(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    for number in range(3):
        await index(alpha, f"text {number}")
    seen = list(embedder.seen)
    reply = await alpha.post(MEMORIES, json={"text": "one too many"})
    assert (reply.status_code, reply.json()["code"]) == (429, "too_many_requests")
    assert 1 <= int(reply.headers["retry-after"]) <= 20
    assert embedder.seen == seen
    assert len(await listed(alpha)) == 3
    assert (await search(alpha, "text 1"))["hits"][0]["text"] == "text 1"
    await index(beta, "another agent's")


async def test_every_kind_of_write_counts(alpha: httpx.AsyncClient) -> None:
    first = await index(alpha, "text")
    address = f"{MEMORIES}/{first['id']}"
    assert (await alpha.patch(address, json={"priority": 3})).status_code == 200
    assert (await alpha.delete(address)).status_code == 200
    for reply in (
        await alpha.post(f"{address}/undelete"),
        await alpha.patch(address, json={"priority": 4}),
        await alpha.delete(address),
        await alpha.post(MEMORIES, json={"text": "x"}),
    ):
        assert reply.status_code == 429


async def test_a_turn_counts_and_one_too_many_is_taken_when_it_comes_again(
    alpha: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    def turn(number: int) -> dict[str, object]:
        said = {"role": "user", "content": f"We decided to use database number {number}."}
        return {"session_id": "s", "advancement_key": f"turn {number}", "messages": [said]}

    replies = [await alpha.post("/api/v1/context/turns", json=turn(number)) for number in range(4)]
    assert [reply.status_code for reply in replies] == [202] * 3 + [429]
    assert int(replies[3].headers["retry-after"]) >= 1
    await admin.patch(f"{AGENTS}/alpha", json={"writes_per_minute": 0})
    again = await alpha.post("/api/v1/context/turns", json=turn(3))
    assert (again.status_code, again.json()["duplicate"]) == (202, False)


async def test_lines_of_a_bulk_request_count_one_by_one(alpha: httpx.AsyncClient) -> None:
    lines = "\n".join(json.dumps({"text": f"text {number}"}) for number in range(7))
    reply = await alpha.post(f"{MEMORIES}/bulk", content=lines)
    answers = [json.loads(line) for line in reply.text.splitlines()]
    assert ["id" in answer for answer in answers] == [True] * 3 + [False] * 4
    assert {answer["code"] for answer in answers[3:]} == {"too_many_requests"}
    assert [answer["line"] for answer in answers[3:]] == [4, 5, 6, 7]


async def test_a_refusal_comes_late_so_that_trying_again_at_once_costs_the_others_little(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    lines = "\n".join(json.dumps({"text": f"text {number}"}) for number in range(30))
    await alpha.post(f"{MEMORIES}/bulk", content=lines)
    for content in ({"json": {"text": "one too many"}}, {"content": lines}):
        address = MEMORIES if "json" in content else f"{MEMORIES}/bulk"
        began = time.monotonic()
        refused = asyncio.create_task(alpha.post(address, **content))
        await search(beta, "anything")
        assert not refused.done(), "another agent is answered meanwhile"
        await refused
        assert REFUSED_AFTER_S <= time.monotonic() - began < 5 * REFUSED_AFTER_S, "once for all its lines"


async def test_a_bucket_fills_again_and_holds_a_minutes_worth(product: Product) -> None:
    now, waits = 0.0, list[int]()
    rates = WriteRates(product.noesis.agents, 60, clock=lambda: now)

    async def taken(most: int) -> int:
        for count in range(most):
            try:
                await rates.take("alpha")
            except TooManyRequests as error:
                waits.append(error.retry_after_s)
                return count
        return most

    assert await taken(100) == 60
    now += 5
    assert await taken(100) == 5
    now += 3600
    assert await taken(100) == 60
    assert waits == [1, 1, 1]


async def test_who_brings_many_makes_nobody_else_wait(product: Product, embedder: WordEmbedder) -> None:
    """Another agent's text does not stand at the end of the queue for the embedder."""
    embedder.hang_s = 0.02
    indexing = product.noesis.indexing
    many = [NewMemory(text=f"text number {number}") for number in range(320)]
    noisy = [asyncio.create_task(indexing.index_many(Scope("alpha"), [new])) for new in many]
    single = asyncio.create_task(indexing.index(Scope("beta"), NewMemory(text="a single one")))
    await asyncio.gather(single, *noisy)
    assert embedder.seen.index("a single one") < len(many) / 2
