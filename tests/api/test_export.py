"""The export over HTTP: whose it is, what its headers say, and how it ends when nobody takes it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from noesis.api import export
from noesis.exporting.values import Shape, Wanted
from noesis.memory import NewMemory, Role, Scope
from tests.support import Product


async def put(product: Product, agent: str, count: int, first: int = 0) -> None:
    news = [NewMemory(text=f"Boat {number} lies in the bay.") for number in range(first, first + count)]
    await product.noesis.indexing.index_many(Scope(agent), news)


async def test_an_agent_exports_its_own_memories_and_an_administrator_all(product: Product) -> None:
    await put(product, "alpha", 3)
    await put(product, "beta", 2)
    alpha, admin = await product.agent("alpha"), await product.admin()

    async def agents(client: Any, **params: Any) -> list[str]:
        answer = await client.get("/api/v1/export", params=params)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert "noesis-export.ndjson" in answer.headers["content-disposition"]
        header, *memories = [json.loads(line) for line in answer.text.splitlines()]
        assert answer.headers["x-noesis-memories"] == str(len(memories)) == str(header["memories"])
        return [memory["agent_id"] for memory in memories]

    assert await agents(alpha) == ["alpha"] * 3
    assert sorted(await agents(admin)) == ["alpha"] * 3 + ["beta"] * 2
    assert await agents(admin, agent_id="beta") == ["beta"] * 2
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, ["*"], "gateway")
    assert await agents(product.client(secret, "beta")) == ["beta"] * 2
    for client, status in (
        (alpha, 403),
        (product.client(secret, "alpha"), 403),
        (product.client(secret), 422),
    ):
        params = {"agent_id": "beta"} if status == 403 else {}
        answer = await client.get("/api/v1/export", params=params)
        assert answer.status_code in (status, 400)
        assert answer.headers["content-type"] == "application/problem+json"
    told = await product.noesis.audit.newest(50)
    assert [entry.target for entry in told if entry.action == "exported"] == ["beta", "beta", "*", "alpha"]


async def test_parameters_choose_and_odd_ones_are_refused(product: Product) -> None:
    await put(product, "alpha", 2)
    alpha = await product.agent("alpha")
    array = await alpha.get("/api/v1/export", params={"format": "json", "memory_type": "fact"})
    assert [row["agentId"] for row in array.json()] == ["alpha", "alpha"]
    none = await alpha.get(
        "/api/v1/export", params={"format": "json", "memory_type": ["decision", "session"]}
    )
    assert none.json() == []
    packed = await alpha.get("/api/v1/export", params={"format": "markdown"})
    assert packed.content.startswith(b"\x1f\x8b")
    for params in (
        {"format": "xml"},
        {"archive": "some"},
        {"format": "json", "vectors": "true"},
        {"tag": "x" * 65},
    ):
        assert (await alpha.get("/api/v1/export", params=params)).status_code == 400


async def test_a_client_that_leaves_or_takes_nothing_ends_the_export(
    product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is kept for it: old versions may be removed again."""
    await put(product, "alpha", 600)
    monkeypatch.setattr(export, "STALLED_S", 0.05)
    noesis = product.noesis
    wanted, shape = Wanted(), Shape.NDJSON
    opened = export._streamed(noesis.exporting, noesis.audit, Scope("alpha"), wanted, shape)
    for leaves in (True, False):
        sent: list[Any] = []

        async def receive(leaves: bool = leaves) -> Any:
            if not leaves:
                await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        async def send(message: Any, leaves: bool = leaves, sent: list[Any] = sent) -> None:
            sent.append(message)
            await asyncio.sleep(0 if leaves else 60)

        if not leaves:
            # The start goes out at once; only the body is not taken.
            async def send(message: Any, sent: list[Any] = sent) -> None:  # type: ignore[misc]
                sent.append(message)
                await asyncio.sleep(60 if message["type"] == "http.response.body" else 0)

        await opened({}, receive, send)  # type: ignore[arg-type]
        assert sent[0]["type"] == "http.response.start"
        assert all(message.get("more_body", True) for message in sent)
        async with noesis.store._locks.pruning():
            pass
