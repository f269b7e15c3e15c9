"""Index: stored once, with the right defaults, and found again under the same id."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from noesis.store.filters import EVERYTHING
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, get, index, recall, search, texts, words
from tests.support import Clock, Product, WordEmbedder

PRIORITIES = {"decision": 85, "preference": 80, "context": 60, "fact": 30, "session": 20}


async def test_a_memory_comes_back_as_it_was_given(alpha: httpx.AsyncClient) -> None:
    given: dict[str, Any] = {
        "memory_type": "decision",
        "priority": 77,
        "tags": ["infra", "wiki"],
        "ttl_days": 1.5,
        "session_id": "s-1",
        "source": "notes/today.md",
        "position": 3,
        "author": "Ann",
        "author_role": "user",
        "created_at": "2026-01-02T03:04:05.678Z",
    }
    answer = await index(alpha, "we host the wiki on port 8085", **given)
    assert (answer["status"], answer["duplicate"], answer["chunks"]) == (201, False, 1)
    assert answer["embedding_state"] == "ready"
    memory = await get(alpha, answer["id"])
    expected = {**given, "created_at": "2026-01-02T03:04:05.678000Z"}
    del expected["ttl_days"]
    assert {name: memory[name] for name in expected} == expected
    assert memory["expires_at"] == "2026-05-30T08:26:40Z"
    assert (memory["agent_id"], memory["priority_set_by"], memory["archived"]) == ("alpha", "caller", False)


KINDS = [*PRIORITIES, None]


async def test_the_type_sets_the_priority_unless_the_caller_does(alpha: httpx.AsyncClient) -> None:
    for kind in KINDS:
        chosen = {} if kind is None else {"memory_type": kind}
        memory = await get(alpha, (await index(alpha, f"one {kind}", **chosen))["id"])
        assert (memory["priority"], memory["priority_set_by"]) == (PRIORITIES[kind or "fact"], "type")
        for priority in (0, 30, 100):
            memory = await get(
                alpha, (await index(alpha, f"two {kind} {priority}", priority=priority, **chosen))["id"]
            )
            assert (memory["priority"], memory["priority_set_by"]) == (priority, "caller")


OUT_OF_BOUNDS: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "text"),
    ({"text": " \n\t\u200b"}, "text"),
    ({"priority": -1}, "priority"),
    ({"priority": 101}, "priority"),
    ({"ttl_days": -0.1}, "ttl_days"),
    ({"ttl_days": 36501}, "ttl_days"),
    ({"tags": ["x" * 65]}, "tags"),
    ({"tags": [""]}, "tags"),
    ({"tags": [" "]}, "tags"),
    ({"tags": [str(n) for n in range(33)]}, "tags"),
    ({"session_id": ""}, "session_id"),
    ({"session_id": "x" * 513}, "session_id"),
    ({"source": " "}, "source"),
    ({"author": "x" * 513}, "author"),
    ({"author_role": "wizard"}, "author_role"),
    ({"position": -1}, "position"),
    ({"position": 2**54}, "position"),
    ({"created_at": "1969-12-31T23:59:59Z"}, "created_at"),
    ({"created_at": "2100-01-01T00:00:00Z"}, "created_at"),
    ({"created_at": "2026-05-04T10:00:00"}, "created_at"),
    ({"tags": ["a\x00b"]}, "tags"),
    ({"session_id": "a\x00b"}, "session_id"),
    ({"source": "a\x00b"}, "source"),
    ({"author": "a\x1b[31mb"}, "author"),
]


async def test_a_value_out_of_bounds_is_refused_by_its_name(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    for values, field in OUT_OF_BOUNDS:
        reply = await alpha.post(MEMORIES, json={"text": "fine", **values})
        assert (reply.status_code, reply.json().get("field")) == (400, field)
        assert await product.noesis.store.active.count(EVERYTHING) == 0


async def test_the_same_text_again_is_answered_with_the_first_id_and_200(
    alpha: httpx.AsyncClient, clock: Clock, embedder: WordEmbedder
) -> None:
    """Also in another normal form, with blanks around it, later, and with other values."""
    first = await index(alpha, "Zürich is where the café is", priority=5)
    clock.advance(days=3)
    embedded = len(embedder.seen)
    for text in (
        "Zürich is where the café is",
        "  Zürich is where the café is\n",
        "Zu\u0308rich is where the cafe\u0301 is",
        "Zürich is where the \u200bcafé is",
    ):
        again = await index(alpha, text, memory_type="decision", priority=99, tags=["new"])
        assert (again["status"], again["id"], again["duplicate"]) == (200, first["id"], True)
    memory = await get(alpha, first["id"])
    assert (memory["priority"], memory["tags"], memory["memory_type"]) == (5, [], "fact")
    assert len(embedder.seen) == embedded
    assert await recall(alpha) == ["Zürich is where the café is"]


async def test_the_same_text_of_another_agent_is_another_memory(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    first, second = await index(alpha, "shared words"), await index(beta, "shared words")
    assert (second["status"], first["id"] != second["id"]) == (201, True)


async def test_the_same_text_at_another_place_of_a_source_is_another_memory(alpha: httpx.AsyncClient) -> None:
    """A turn is known by its session and number, a chunk by its source and number, a note by nothing."""
    places: list[dict[str, Any]] = [
        {},
        {"source": "a.md"},
        {"source": "b.md"},
        {"source": "a.md", "position": 1},
        {"source": "a.md", "position": 2},
        {"session_id": "s", "position": 1},
        {"session_id": "s", "position": 2},
        {"session_id": "t", "position": 1},
    ]
    ids = [(await index(alpha, "ok", **place))["id"] for place in places]
    assert len(set(ids)) == len(places)
    for place, memory_id in zip(places, ids, strict=True):
        again = await index(alpha, "ok", **place)
        assert (again["id"], again["duplicate"]) == (memory_id, True)
    # A session without a number does not tell places apart.
    assert (await index(alpha, "ok", session_id="s"))["id"] == ids[0]


async def test_many_at_once_with_the_same_text_make_one_memory(alpha: httpx.AsyncClient) -> None:
    answers = await asyncio.gather(*(index(alpha, "all together now") for _ in range(16)))
    assert len({answer["id"] for answer in answers}) == 1
    assert sorted(answer["status"] for answer in answers) == [200] * 15 + [201]


async def test_a_repeat_of_an_archived_memory_brings_it_back(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    first = await index(alpha, "the heron database", priority=44, tags=["db"])
    created = (await get(alpha, first["id"]))["created_at"]
    await archive(product, first["id"])
    assert await recall(alpha) == []
    clock.advance(days=1)
    again = await index(alpha, "the heron database", ttl_days=2)
    assert (again["status"], again["id"], again["duplicate"]) == (200, first["id"], True)
    memory = await get(alpha, first["id"])
    assert (memory["archived"], memory["archived_at"], memory["archive_reason"]) == (False, None, None)
    assert (memory["priority"], memory["tags"], memory["created_at"]) == (44, ["db"], created)
    assert memory["expires_at"] == "2026-05-31T20:26:40Z"
    assert await product.noesis.store.archive.count(EVERYTHING) == 0
    assert texts(await search(alpha, "heron")) == ["the heron database"]


async def test_a_repeat_of_a_deleted_or_expired_memory_brings_it_back(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    deleted = await index(alpha, "deleted once")
    expired = await index(alpha, "lived a day", ttl_days=1)
    assert (await alpha.delete(f"{MEMORIES}/{deleted['id']}")).status_code == 200
    clock.advance(days=1)
    assert await recall(alpha) == []
    for text, first in (("deleted once", deleted), ("lived a day", expired)):
        again = await index(alpha, text)
        assert (again["status"], again["id"]) == (200, first["id"])
    assert set(await recall(alpha)) == {"deleted once", "lived a day"}


async def test_an_edited_memory_keeps_its_id_and_its_old_text_makes_a_new_one(
    alpha: httpx.AsyncClient,
) -> None:
    first = await index(alpha, "the wiki is on port 80")
    reply = await alpha.patch(f"{MEMORIES}/{first['id']}", json={"text": "the wiki is on port 8085"})
    assert reply.json()["id"] == first["id"]
    old = await index(alpha, "the wiki is on port 80")
    assert (old["status"], old["id"] != first["id"]) == (201, True)
    assert (await index(alpha, "the wiki is on port 80"))["id"] == old["id"]
    assert (await index(alpha, "the wiki is on port 8085"))["id"] == first["id"]
    assert (await get(alpha, first["id"]))["text"] == "the wiki is on port 8085"
    assert sorted(await recall(alpha)) == ["the wiki is on port 80", "the wiki is on port 8085"]


async def test_a_long_text_is_stored_whole_in_chunks_that_share_everything(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    text = words(1500)
    answer = await index(alpha, text, tags=["long"], priority=50)
    assert answer["chunks"] > 3
    rows = await product.noesis.store.active.rows(EVERYTHING)
    assert sorted(row.chunk for row in rows) == list(range(answer["chunks"]))
    assert {(row.parent_id, row.priority, tuple(row.tags), row.chunks) for row in rows} == {
        (answer["id"], 50, ("long",), answer["chunks"])
    }
    assert all(row.vector is not None for row in rows)
    memory = await get(alpha, answer["id"])
    assert (memory["text"], memory["chunks"]) == (text, answer["chunks"])


async def test_a_text_is_cleaned_and_its_secrets_are_taken_out_before_anything_sees_it(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    answer = await index(alpha, "\ufeffmy token is ghp_" + "a1B2" * 9 + " \x1b[31mok\x1b[0m")
    memory = await get(alpha, answer["id"])
    assert "ghp_" not in memory["text"]
    assert memory["text"].startswith("my token is <redacted:")
    assert memory["text"].endswith(" ok")
    assert not any("ghp_" in text for text in embedder.seen)
    assert not any("ghp_" in row.keyword_text for row in await product.noesis.store.active.rows(EVERYTHING))


async def test_a_text_is_stored_while_the_embedder_is_away(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.down = True
    answer = await index(alpha, "stored all the same")
    assert (answer["status"], answer["embedding_state"]) == (201, "pending")
    memory = await get(alpha, answer["id"])
    assert (memory["embedding_state"], memory["embedding_reason"]) == (
        "pending",
        "The embedder does not answer.",
    )
    assert texts(await search(alpha, "stored")) == ["stored all the same"]
