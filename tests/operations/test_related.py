"""What stands around a memory and what is like it, of its own agent only."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, index
from tests.support import Clock, Product, WordEmbedder


async def around(client: httpx.AsyncClient, memory_id: str, **params: Any) -> tuple[list[str], list[str]]:
    reply = await client.get(f"{MEMORIES}/{memory_id}/neighbours", params=params)
    assert reply.status_code == 200, reply.text
    answer = reply.json()
    return [each["text"] for each in answer["before"]], [each["text"] for each in answer["after"]]


async def alike(client: httpx.AsyncClient, memory_id: str, **params: Any) -> list[dict[str, Any]]:
    reply = await client.get(f"{MEMORIES}/{memory_id}/related", params=params)
    assert reply.status_code == 200, reply.text
    found: list[dict[str, Any]] = reply.json()["related"]
    return found


async def talk(client: httpx.AsyncClient, *numbers: int, **values: Any) -> dict[int, str]:
    told = {"session_id": "s"} | values
    return {
        number: (await index(client, f"turn {number}", position=number, **told))["id"] for number in numbers
    }


async def test_turns_stand_by_their_number(alpha: httpx.AsyncClient, product: Product) -> None:
    ids = await talk(alpha, 9, 2, 5, 30, 11, 4, 1)
    assert await around(alpha, ids[5]) == (["turn 1", "turn 2", "turn 4"], ["turn 9", "turn 11", "turn 30"])
    assert await around(alpha, ids[5], limit=1) == (["turn 4"], ["turn 9"])
    assert await around(alpha, ids[1]) == ([], ["turn 2", "turn 4", "turn 5"])
    await archive(product, ids[4])
    await alpha.delete(f"{MEMORIES}/{ids[9]}")
    assert await around(alpha, ids[5], limit=2) == (["turn 2", "turn 4"], ["turn 11", "turn 30"])


async def test_without_numbers_they_stand_by_age(alpha: httpx.AsyncClient, clock: Clock) -> None:
    ids = []
    for text in ("first", "second", "third"):
        ids.append((await index(alpha, text, session_id="s"))["id"])
        clock.advance(seconds=1)
    await talk(alpha, 1)
    assert await around(alpha, ids[1]) == (["first"], ["third"])


async def test_another_session_source_or_agent_is_not_around(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    ids = await talk(alpha, 1, 2)
    await talk(alpha, 3, session_id="other")
    await talk(alpha, 4, source="notes.md")
    await talk(beta, 5)
    lone = (await index(alpha, "of no session"))["id"]
    assert await around(alpha, ids[2]) == (["turn 1"], [])
    assert await around(alpha, lone) == ([], [])


async def test_the_most_alike_come_first_and_repeats_count_as_one(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    tea = (await index(alpha, "green tea from the hills of Uji"))["id"]
    await index(alpha, "black tea from the hills of Assam")
    twins = [
        (await index(alpha, text, source=f"{number}.md"))["id"]
        for number, text in enumerate(("green tea from the hills", "Green tea from the hills!"))
    ]
    await index(alpha, "a violin case")
    found = await alike(alpha, tea, limit=2)
    assert [each["memory"]["text"] for each in found][1] == "black tea from the hills of Assam"
    assert {found[0]["memory"]["id"], *found[0]["copies"]} == set(twins)
    assert found[0]["similarity"] > found[1]["similarity"] > 0.3
    assert len(await alike(alpha, tea)) == 3


async def test_without_a_vector_it_goes_by_words(alpha: httpx.AsyncClient, embedder: WordEmbedder) -> None:
    embedder.down = True
    tea = (await index(alpha, "green tea from Uji"))["id"]
    await index(alpha, "tea from Assam")
    await index(alpha, "a violin case")
    found = await alike(alpha, tea)
    assert [(each["memory"]["text"], each["similarity"]) for each in found] == [("tea from Assam", None)]


@pytest.mark.parametrize("what", ["neighbours", "related"])
async def test_another_agents_memory_is_not_found_nor_shown(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient, what: str
) -> None:
    mine = (await talk(alpha, 1))[1]
    theirs = (await talk(beta, 1, 2))[1]
    assert (await alpha.get(f"{MEMORIES}/{theirs}/{what}")).status_code == 404
    assert (await alpha.get(f"{MEMORIES}/no-such-id/{what}")).status_code == 404
    reply = await alpha.get(f"{MEMORIES}/{mine}/{what}")
    assert "beta" not in reply.text
    assert (await alpha.get(f"{MEMORIES}/{mine}/{what}", params={"limit": 0})).status_code == 400
    seen = (await admin.get(f"{MEMORIES}/{theirs}/{what}")).text
    assert ("turn 2" in seen, "alpha" in seen) == (True, False)
