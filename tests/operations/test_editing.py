"""Get, correct, delete and bring back one memory."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from noesis.store.filters import EVERYTHING
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, get, index, recall, search, texts, words
from tests.support import Clock, Product, WordEmbedder


async def patch(client: httpx.AsyncClient, memory_id: str, **values: Any) -> dict[str, Any]:
    reply = await client.patch(f"{MEMORIES}/{memory_id}", json=values)
    assert reply.status_code == 200, reply.text
    memory: dict[str, Any] = reply.json()
    return memory


async def test_a_correction_keeps_what_it_does_not_name(alpha: httpx.AsyncClient, clock: Clock) -> None:
    first = await index(alpha, "port 80", tags=["a"], session_id="s", source="x.md", priority=50)
    before = await get(alpha, first["id"])
    clock.advance(days=2)
    after = await patch(alpha, first["id"], text="port 8085")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"text", "updated_at"}
    assert after == await get(alpha, first["id"])


async def test_a_new_text_is_found_by_meaning_and_words_and_the_old_one_is_not(
    alpha: httpx.AsyncClient,
) -> None:
    first = await index(alpha, "the heron likes cold water")
    await patch(alpha, first["id"], text="the badger digs at night")
    for mode in ("keyword", "hybrid"):
        assert texts(await search(alpha, "badger", mode=mode)) == ["the badger digs at night"]
    assert texts(await search(alpha, "heron", mode="keyword")) == []


async def test_a_text_may_become_longer_and_shorter_and_leaves_no_chunk_behind(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    first = await index(alpha, words(1000))
    longer = await patch(alpha, first["id"], text=words(2000, 5000))
    assert longer["chunks"] > first["chunks"]
    shorter = await patch(alpha, first["id"], text="short now")
    assert (shorter["chunks"], shorter["text"]) == (1, "short now")
    assert [row.id for row in await product.noesis.store.active.rows(EVERYTHING)] == [first["id"]]


async def test_metadata_of_all_chunks_changes_together(alpha: httpx.AsyncClient, product: Product) -> None:
    first = await index(alpha, words(1000))
    await patch(alpha, first["id"], priority=91, tags=["x", "y"], memory_type="decision", ttl_days=0)
    rows = await product.noesis.store.active.rows(EVERYTHING)
    assert len(rows) == first["chunks"] > 1
    assert {(row.priority, tuple(row.tags), row.memory_type) for row in rows} == {
        (91, ("x", "y"), "decision")
    }
    assert (await get(alpha, first["id"]))["expires_at"] is None


async def test_a_priority_set_by_hand_stays_and_one_of_the_type_follows_it(alpha: httpx.AsyncClient) -> None:
    by_type, by_hand = await index(alpha, "one"), await index(alpha, "two", priority=33)
    assert (await patch(alpha, by_type["id"], memory_type="decision"))["priority"] == 85
    assert (await patch(alpha, by_hand["id"], memory_type="decision"))["priority"] == 33
    reset = await patch(alpha, by_hand["id"], priority=None)
    assert (reset["priority"], reset["priority_set_by"]) == (85, "type")
    both = await patch(alpha, by_hand["id"], priority=None, memory_type="session")
    assert (both["priority"], both["priority_set_by"]) == (20, "type")


async def test_a_ttl_counts_from_the_moment_it_is_set(alpha: httpx.AsyncClient, clock: Clock) -> None:
    first = await index(alpha, "short life", ttl_days=1)
    clock.advance(days=0.5)
    await patch(alpha, first["id"], ttl_days=1)
    clock.advance(days=0.75)
    assert await recall(alpha) == ["short life"]
    clock.advance(days=0.25)
    assert await recall(alpha) == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"text": " "}, "text"),
    ({"text": None}, "text"),
    ({"priority": 101}, "priority"),
    ({"tags": None}, "tags"),
    ({"tags": ["x" * 65]}, "tags"),
    ({"ttl_days": -1}, "ttl_days"),
    ({"memory_type": None}, "memory_type"),
    ({"agent_id": "beta"}, "agent_id"),
    ({"id": "x"}, "id"),
    ({"created_at": "2026-01-01T00:00:00Z"}, "created_at"),
]


async def test_a_wrong_correction_changes_nothing(alpha: httpx.AsyncClient) -> None:
    for values, field in WRONG:
        first = await index(alpha, "as it was")
        before = await get(alpha, first["id"])
        reply = await alpha.patch(f"{MEMORIES}/{first['id']}", json={"priority": 1, **values})
        assert (reply.status_code, reply.json()["field"]) == (400, field)
        assert await get(alpha, first["id"]) == before


async def test_a_correction_of_nothing_is_refused(alpha: httpx.AsyncClient) -> None:
    first = await index(alpha, "as it was")
    assert (await alpha.patch(f"{MEMORIES}/{first['id']}", json={})).status_code == 400


async def test_corrections_at_the_same_time_all_count(alpha: httpx.AsyncClient) -> None:
    """None of them writes back what it read before the others came."""
    first = await index(alpha, "contested")
    await asyncio.gather(
        patch(alpha, first["id"], priority=64),
        patch(alpha, first["id"], tags=["kept"]),
        patch(alpha, first["id"], memory_type="context"),
        patch(alpha, first["id"], text="agreed"),
    )
    memory = await get(alpha, first["id"])
    found = (memory["priority"], memory["tags"], memory["memory_type"], memory["text"])
    assert found == (64, ["kept"], "context", "agreed")


async def test_a_deleted_memory_is_in_no_answer_and_can_be_brought_back(alpha: httpx.AsyncClient) -> None:
    first = await index(alpha, "the heron database", tags=["db"])
    before = await get(alpha, first["id"])
    gone = (await alpha.delete(f"{MEMORIES}/{first['id']}")).json()
    assert (gone["id"], gone["archived"], gone["archive_reason"]) == (first["id"], True, "deleted")
    assert await recall(alpha) == []
    for use in ("auto", "never", "only", "always"):
        assert texts(await search(alpha, "heron database", archive=use)) == []
    stats = (await alpha.get("/api/v1/stats")).json()
    assert (stats["active"]["memories"], stats["archive"]["memories"]) == (0, 0)
    for method, path, body in (("DELETE", "", None), ("PATCH", "", {"priority": 1})):
        reply = await alpha.request(method, f"{MEMORIES}/{first['id']}{path}", json=body)
        assert reply.status_code == 404
    back = await alpha.post(f"{MEMORIES}/{first['id']}/undelete")
    assert back.status_code == 200
    assert {name for name in before if before[name] != back.json()[name]} <= {"updated_at"}
    assert texts(await search(alpha, "heron")) == ["the heron database"]
    assert (await alpha.post(f"{MEMORIES}/{first['id']}/undelete")).status_code == 409


async def test_bringing_back_gives_a_new_life_only_when_the_old_one_ran_out(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    living, over = await index(alpha, "thirty days", ttl_days=30), await index(alpha, "one day", ttl_days=1)
    for memory in (living, over):
        await alpha.delete(f"{MEMORIES}/{memory['id']}")
    clock.advance(days=2)
    ends = [
        (await alpha.post(f"{MEMORIES}/{memory['id']}/undelete")).json()["expires_at"]
        for memory in (living, over)
    ]
    assert ends == ["2026-06-27T20:26:40Z", "2026-08-28T20:26:40Z"]


async def test_an_archived_memory_is_got_corrected_and_deleted_where_it_lies(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    first = await index(alpha, "old heron")
    await archive(product, first["id"])
    assert (await get(alpha, first["id"]))["archived"] is True
    changed = await patch(alpha, first["id"], text="old badger", priority=3)
    assert (changed["archived"], changed["text"]) == (True, "old badger")
    assert texts(await search(alpha, "badger", archive="only")) == ["old badger"]
    assert (await alpha.post(f"{MEMORIES}/{first['id']}/undelete")).status_code == 409
    assert (await alpha.delete(f"{MEMORIES}/{first['id']}")).status_code == 200
    assert texts(await search(alpha, "badger", archive="only")) == []


async def test_what_there_is_not_is_404(alpha: httpx.AsyncClient) -> None:
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"priority": 1}),
        ("DELETE", "", None),
        ("POST", "/undelete", None),
        ("POST", "/embed", None),
    ):
        reply = await alpha.request(method, f"{MEMORIES}/nothing{path}", json=body)
        assert (method, path, reply.status_code) == (method, path, 404)


async def test_an_edit_while_the_embedder_is_away_never_keeps_the_old_vector(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    first = await index(alpha, "the heron likes cold water")
    embedder.down = True
    changed = await patch(alpha, first["id"], text="the badger digs at night")
    assert changed["embedding_state"] == "pending"
    assert [row.vector for row in await product.noesis.store.active.rows(EVERYTHING)] == [None]
    embedder.down = False
    assert texts(await search(alpha, "heron cold water", mode="vector")) == []
