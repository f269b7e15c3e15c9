"""Asking why a memory was missed tells nobody of memories that are not theirs."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from noesis.memory import Role
from tests.support import Product

ROUTE = "/api/v1/search/why-not"
UNKNOWN = "00000000-0000-5000-8000-000000000000"
SECRET = "locker4411"


async def store(client: httpx.AsyncClient, text: str) -> str:
    reply = await client.post("/api/v1/memories", json={"text": text})
    assert reply.status_code == 201
    return str(reply.json()["id"])


@pytest.fixture
async def secret(product: Product) -> str:
    """The id of a memory of alpha's."""
    return await store(await product.agent("alpha"), f"alpha's code is {SECRET}")


QUESTIONS: list[dict[str, Any]] = [
    {"query": SECRET},
    {"query": "code", "mode": "keyword", "archive": "always"},
    {"query": "code", "memory_types": ["decision"]},
    {"query": "code", "session_id": "s", "tags": ["x"]},
]


async def test_anothers_memory_is_answered_for_as_if_there_were_none(product: Product, secret: str) -> None:
    """Byte for byte, whatever is asked; so is a deleted one."""
    beta = await product.agent("beta")
    await store(beta, "tea")
    alpha = await product.agent("alpha")
    headers = {"x-request-id": "same"}
    for deleted in (False, True):
        if deleted:
            assert (await alpha.delete(f"/api/v1/memories/{secret}")).status_code == 200
        for question in QUESTIONS:
            unknown = await beta.post(ROUTE, json=question | {"id": UNKNOWN}, headers=headers)
            foreign = await beta.post(ROUTE, json=question | {"id": secret}, headers=headers)
            assert unknown.status_code == 404
            assert (foreign.status_code, foreign.content) == (404, unknown.content)
            assert dict(foreign.headers) == dict(unknown.headers)


async def test_leave_to_search_across_agents_does_not_open_it_either(product: Product, secret: str) -> None:
    beta = await product.agent("beta")
    reply = await beta.post(ROUTE, json={"id": secret, "query": SECRET, "cross_agent": True})
    assert reply.status_code in (403, 404)
    assert SECRET not in reply.text
    assert "alpha" not in reply.text


async def test_a_gateway_asks_for_the_agent_it_acts_for(product: Product, secret: str) -> None:
    _, token = await product.noesis.tokens.create(Role.GATEWAY, ["*"], "gateway")
    question = {"id": secret, "query": SECRET}
    own = await product.client(token, "alpha").post(ROUTE, json=question)
    assert (own.status_code, own.json()["stage"]) == (200, "returned")
    assert (await product.client(token, "beta").post(ROUTE, json=question)).status_code == 404


async def test_a_verdict_does_not_repeat_the_memorys_text(product: Product, secret: str) -> None:
    alpha = await product.agent("alpha")
    for question in QUESTIONS[1:]:
        reply = await alpha.post(ROUTE, json=question | {"id": secret})
        assert reply.status_code == 200
        assert SECRET not in reply.text


WRONG: list[tuple[dict[str, Any], int, str | None]] = [
    ({"limit": 0}, 400, "limit"),
    ({"limit": 201}, 400, "limit"),
    ({"query": " \u200b"}, 400, "query"),
    ({"query": "x" * 50_001}, 413, "query"),
    ({"mode": "magic"}, 400, None),
    ({"agent_id": "no such name!"}, 400, None),
    ({"unknown": 1}, 400, None),
    ({"id": None}, 400, None),
]


async def test_a_wrong_question_is_refused_also_for_what_no_search_would_reach(
    product: Product, secret: str
) -> None:
    alpha = await product.agent("alpha")
    deleted = await store(alpha, "gone")
    assert (await alpha.delete(f"/api/v1/memories/{deleted}")).status_code == 200
    for memory_id in (secret, deleted):
        for change, status, field in WRONG:
            reply = await alpha.post(ROUTE, json={"id": memory_id, "query": "code"} | change)
            assert reply.status_code == status, (change, reply.text)
            assert field is None or reply.json()["field"] == field


async def test_without_a_token_nobody_learns_anything(product: Product, secret: str) -> None:
    reply = await product.client().post(ROUTE, json={"id": secret, "query": SECRET})
    assert reply.status_code == 401
