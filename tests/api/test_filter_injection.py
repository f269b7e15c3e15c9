"""Attack strings in every parameter that reaches the store find what a filter in plain Python finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.operations.samples import bulk, listed, search, texts
from tests.support import Product

ATTACKS = [
    "x' OR '1'='1",
    "a\\' OR 1=1 --",
    "'; DROP TABLE memories",
    "%",
    "_",
    "`",
    "a) OR (true",
    "O'Brien",
    "\\",
    "']) OR true OR array_has_all(tags, ['x",
]
Memory = dict[str, Any]


@pytest.fixture
async def memories(product: Product) -> tuple[httpx.AsyncClient, list[Memory]]:
    """One memory of alpha for each attack string, which is its session, source, author and tag."""
    client = await product.agent("alpha")
    made = [
        {
            "text": f"heron {number}",
            "session_id": value,
            "source": value,
            "author": value,
            "tags": [value, "all"],
        }
        for number, value in enumerate([*ATTACKS, "plain"])
    ]
    assert not any("detail" in answer for answer in await bulk(client, made))
    return client, made


async def test_a_list_is_filtered_as_by_hand(memories: tuple[httpx.AsyncClient, list[Memory]]) -> None:
    client, made = memories
    tests: dict[str, Callable[[Memory, str], bool]] = {
        "tag": lambda memory, value: value in memory["tags"],
        "session_id": lambda memory, value: memory["session_id"] == value,
        "source": lambda memory, value: memory["source"] == value,
    }
    for name, test in tests.items():
        for value in [*ATTACKS, "nothing", "x" * 10_000]:
            expected = {memory["text"] for memory in made if test(memory, value)}
            assert {found["text"] for found in await listed(client, 200, **{name: value})} == expected, (
                name,
                value,
            )


async def test_a_search_is_filtered_as_by_hand(memories: tuple[httpx.AsyncClient, list[Memory]]) -> None:
    client, made = memories
    for value in [*ATTACKS, "nothing", "x" * 10_000]:
        for mode in ("hybrid", "keyword", "vector"):
            for archive in ("never", "always"):
                wanted: Memory = {"mode": mode, "archive": archive, "limit": 200}
                found = await search(client, "heron", tags=[value, "all"], **wanted)
                assert set(texts(found)) == {memory["text"] for memory in made if value in memory["tags"]}
                found = await search(client, "heron", session_id=value, **wanted)
                assert set(texts(found)) == {m["text"] for m in made if m["session_id"] == value}


async def test_a_question_is_words_whatever_it_looks_like(
    memories: tuple[httpx.AsyncClient, list[Memory]],
) -> None:
    client, made = memories
    for value in ATTACKS:
        found = await search(client, f"heron {value}", mode="keyword", limit=200)
        assert len(found["hits"]) == len(made)
        assert len((await search(client, f"unheard {value}", mode="hybrid", limit=200))["hits"]) <= len(made)


async def test_an_id_is_compared_and_nothing_else(memories: tuple[httpx.AsyncClient, list[Memory]]) -> None:
    client, made = memories
    for value in [*ATTACKS, "x" * 5_000]:
        if "/" in value:
            continue
        for method, path, body in (
            ("GET", "", None),
            ("DELETE", "", None),
            ("PATCH", "", {"priority": 0}),
            ("POST", "/undelete", None),
            ("POST", "/embed", None),
        ):
            quoted = httpx.QueryParams({"x": value}).__str__().removeprefix("x=").replace("+", "%20")
            reply = await client.request(method, f"/api/v1/memories/{quoted}{path}", json=body)
            assert (value, method, reply.status_code) == (value, method, 404)
    assert len(await listed(client)) == len(made)


async def test_a_nul_finds_nothing_and_stores_nothing(
    memories: tuple[httpx.AsyncClient, list[Memory]],
) -> None:
    client, made = memories
    for name in ("tag", "session_id", "source"):
        assert (await client.get("/api/v1/memories", params={name: "a\x00b"})).status_code == 400
    for field in ("session_id", "source", "author"):
        reply = await client.post("/api/v1/memories", json={"text": "new", field: "a\x00b"})
        assert reply.status_code == 400
    assert len(await listed(client)) == len(made)
