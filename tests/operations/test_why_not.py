"""Where a memory dropped out of a search; and whoever does what the verdict says gets it back."""

from __future__ import annotations

import re
from typing import Any

import httpx

from noesis.embedding import EmbeddingFailure
from noesis.memory import MemoryFilter, NewMemory, Scope, SearchQuery
from noesis.why_not import Stage
from tests.operations.expire import archive, archive_all
from tests.operations.samples import MEMORIES, bulk, index, search
from tests.support import Clock, Product, WordEmbedder

ASKED = "grey heron harbour"
WANTED = "the grey heron of the harbour"


async def why(client: httpx.AsyncClient, memory_id: str, query: str = ASKED, **values: Any) -> dict[str, Any]:
    """The verdict."""
    reply = await client.post("/api/v1/search/why-not", json={"id": memory_id, "query": query, **values})
    assert reply.status_code == 200, reply.text
    verdict: dict[str, Any] = reply.json()
    return verdict


async def finds(client: httpx.AsyncClient, memory_id: str, query: str = ASKED, **values: Any) -> bool:
    """Whether a search brings the memory; the verdict has to say the same."""
    found = memory_id in [hit["id"] for hit in (await search(client, query, **values))["hits"]]
    assert ((await why(client, memory_id, query, **values))["stage"] == "returned") is found
    return bool(found)


def followed(remedy: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The search as the remedy wants it."""
    if without := re.search(r"Search without (\w+)", remedy):
        return {name: value for name, value in asked.items() if name != without[1]}
    if limit := re.search(r"limit of (\d+)", remedy):
        return asked | {"limit": int(limit[1])}
    setting = re.search(r"Search with (\w+)=(\w+)", remedy)
    assert setting, remedy
    return asked | {setting[1]: setting[2]}


async def stages(client: httpx.AsyncClient, memory_id: str, query: str, **asked: Any) -> list[str]:
    """The stages on the way back, following each remedy in turn."""
    passed: list[str] = []
    while not await finds(client, memory_id, query, **asked):
        verdict = await why(client, memory_id, query, **asked)
        passed.append(verdict["stage"])
        assert len(passed) < 9, passed
        asked = followed(verdict["remedy"], asked)
    return passed


async def crowd(client: httpx.AsyncClient, size: int = 70, text: str = "heron tale{}") -> list[str]:
    """So many memories that share a word with the question; their ids."""
    answers = await bulk(client, [{"text": text.format(number)} for number in range(size)])
    return [answer["id"] for answer in answers]


async def test_a_hit_is_told_to_be_one(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, WANTED)
    await index(alpha, "heron")
    verdict = await why(alpha, memory["id"])
    (score,) = [hit["score"] for hit in (await search(alpha, ASKED))["hits"] if hit["id"] == memory["id"]]
    assert verdict == {
        "stage": "returned",
        "reason": "It is hit 1 of this search.",
        "remedy": None,
        "rank": 1,
        "candidates": 2,
        "score": score,
    }


async def test_a_search_as_another_agent_cannot_bring_it(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory = await index(alpha, WANTED)
    await index(beta, "heron")
    verdict = await why(admin, memory["id"], agent_id="beta")
    assert verdict["stage"] == "scope"
    assert verdict["reason"] == "It belongs to the agent alpha; the search looked at beta."
    for remedied in ({"agent_id": "alpha"}, {"cross_agent": True}):
        assert await finds(admin, memory["id"], **remedied)


async def test_a_deleted_one_comes_back_by_undoing_it(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, WANTED)
    assert (await alpha.delete(f"{MEMORIES}/{memory['id']}")).status_code == 200
    for use in ("auto", "always", "only"):
        assert (await why(alpha, memory["id"], archive=use))["stage"] == "deleted"
        assert not await finds(alpha, memory["id"], archive=use)
    assert (await alpha.post(f"{MEMORIES}/{memory['id']}/undelete")).status_code == 200
    assert await finds(alpha, memory["id"])


FILTERS: list[tuple[str, Any]] = [
    ("memory_types", ["decision", "context"]),
    ("tags", ["x", "z"]),
    ("session_id", "another"),
    ("after", "2026-02-01T00:00:01Z"),
    ("before", "2026-02-01T00:00:00Z"),
]
FITTING = {
    "tags": ["x", "y"],
    "session_id": "s",
    "created_at": "2026-02-01T00:00:00Z",
    "ttl_days": 0,
}


async def test_the_filter_that_it_does_not_fit_is_named(alpha: httpx.AsyncClient, product: Product) -> None:
    """In the archive as well; and a filter that it fits is not."""
    memory = await index(alpha, WANTED, **FITTING)
    fitting: dict[str, Any] = {
        "memory_types": ["fact"],
        "tags": ["y"],
        "session_id": "s",
        "after": "2026-02-01T00:00:00Z",
    }
    assert await finds(alpha, memory["id"], **fitting)
    for name, value in FILTERS:
        verdict = await why(alpha, memory["id"], **fitting | {name: value})
        assert (verdict["stage"], verdict["remedy"]) == ("filter", f"Search without {name}.")
        assert await stages(alpha, memory["id"], ASKED, **fitting | {name: value}) == ["filter"]
    await archive(product, memory["id"])
    for name, value in FILTERS:
        assert await stages(alpha, memory["id"], ASKED, archive="only", **{name: value}) == ["filter"]


async def test_the_source_is_a_filter_too(product: Product) -> None:
    noesis, alpha = product.noesis, Scope("alpha")
    stored = await noesis.indexing.index(alpha, NewMemory(text=WANTED, source="a.md"))
    for source, stage in (("a.md", Stage.RETURNED), ("b.md", Stage.FILTER)):
        query = SearchQuery(text=ASKED, filter=MemoryFilter(source=source))
        assert (await noesis.why_not.explain(alpha, query, stored.id)).stage is stage


async def test_of_several_filters_each_is_named_in_turn(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, WANTED, **FITTING)
    assert await stages(alpha, memory["id"], ASKED, **dict(FILTERS)) == ["filter"] * len(FILTERS)


async def test_an_expired_one_comes_back_with_a_longer_life(alpha: httpx.AsyncClient, clock: Clock) -> None:
    memory = await index(alpha, WANTED, ttl_days=1)
    clock.advance(days=1)
    verdict = await why(alpha, memory["id"])
    assert (verdict["stage"], verdict["remedy"]) == ("expired", "Give it a longer life on its page.")
    assert not await finds(alpha, memory["id"])
    assert (await alpha.patch(f"{MEMORIES}/{memory['id']}", json={"ttl_days": 5})).status_code == 200
    assert await finds(alpha, memory["id"])


async def test_an_archived_one_needs_a_search_in_the_archive(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    memory = await index(alpha, WANTED)
    await archive(product, memory["id"])
    assert await finds(alpha, memory["id"]), "hardly anything living fits, so the archive was asked"
    assert await stages(alpha, memory["id"], ASKED, archive="never") == ["archive"]
    for text in ("heron", "harbour"):
        await index(alpha, text)
    assert await stages(alpha, memory["id"], ASKED) == ["archive"]
    assert await stages(alpha, memory["id"], ASKED, archive="never") == ["archive"]


async def test_a_living_one_is_not_in_the_archive(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, WANTED)
    assert await stages(alpha, memory["id"], ASKED, archive="only") == ["archive"]


async def test_when_the_archive_was_asked_in_vain_the_archive_is_not_blamed(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    memory = await index(alpha, "copper lanterns")
    await archive_all(product.noesis, [memory["id"], *await crowd(alpha)])
    verdict = await why(alpha, memory["id"])
    assert verdict["stage"] == "leg"
    assert verdict["stage"] == (await why(alpha, memory["id"], archive="always"))["stage"]
    assert await finds(alpha, memory["id"], "copper lanterns")


async def test_what_no_leg_brought_is_told_what_each_saw_of_it(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, "copper lanterns")
    await crowd(alpha)
    verdict = await why(alpha, memory["id"])
    assert verdict["stage"] == "leg"
    assert re.search(
        r"By meaning its similarity is -?0\.\d\d, the last of the 60 nearest has 0\.\d\d\.", verdict["reason"]
    )
    assert "shares no word with the question" in verdict["reason"]
    assert (verdict["rank"], verdict["score"]) == (None, None)
    assert verdict["candidates"] >= 60
    assert await finds(alpha, memory["id"], "copper lanterns")


async def test_what_others_outdo_by_words_is_told_so(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, f"heron {' '.join(f'filler{number}' for number in range(300))}")
    await crowd(alpha)
    verdict = await why(alpha, memory["id"], mode="keyword")
    assert verdict["stage"] == "leg"
    assert "The search went by words only." in verdict["reason"]
    assert "It shares 1 of the question's 3 words, and 60 others fit better by words." in verdict["reason"]
    narrowed = await index(alpha, f"heron in detail {' '.join(f'filler{n}' for n in range(300))}", tags=["x"])
    assert await finds(alpha, narrowed["id"], mode="keyword", tags=["x"])


async def test_by_words_alone_a_memory_without_one_stays_out(alpha: httpx.AsyncClient) -> None:
    memory = await index(alpha, "copper lanterns")
    verdict = await why(alpha, memory["id"], mode="keyword")
    assert verdict["stage"] == "leg"
    assert await finds(alpha, memory["id"], "copper", mode="keyword")


async def test_by_meaning_alone_a_memory_without_a_vector_needs_the_words(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.broken["grey"] = EmbeddingFailure("No.", permanent=True)
    memory = await index(alpha, WANTED)
    await index(alpha, "heron")
    verdict = await why(alpha, memory["id"], mode="vector")
    assert "It has no vector yet" in verdict["reason"]
    assert "The search went by meaning only." in verdict["reason"]
    assert await stages(alpha, memory["id"], ASKED, mode="vector") == ["leg"]


async def test_one_hit_more_than_its_place_is_never_needed(alpha: httpx.AsyncClient) -> None:
    ids = await crowd(alpha, 7)
    last = [hit["id"] for hit in (await search(alpha, ASKED, limit=7))["hits"]]
    assert set(last) == set(ids)
    for memory_id in last[2:]:
        verdict = await why(alpha, memory_id, limit=2)
        assert verdict["stage"] in ("limit", "diversity")
        place = followed(verdict["remedy"], {})["limit"]
        assert place == 1 + last.index(memory_id)
        assert await finds(alpha, memory_id, limit=place)
        assert not await finds(alpha, memory_id, limit=place - 1)


async def test_a_near_repeat_was_held_back_by_diversity(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    """The other has no vector and so resembles nobody."""
    embedder.broken["odd"] = EmbeddingFailure("No.", permanent=True)
    said = ("grey heron harbour", "harbour heron grey")
    twins = [(await index(alpha, text, priority=100))["id"] for text in said]
    await index(alpha, "odd grey heron harbour", priority=0)
    await index(alpha, "a copper lantern")
    hits = [hit["id"] for hit in (await search(alpha, ASKED, limit=2))["hits"]]
    (held,) = set(twins) - set(hits)
    verdict = await why(alpha, held, limit=2)
    assert (verdict["stage"], verdict["rank"]) == ("diversity", 2)
    assert await stages(alpha, held, ASKED, limit=2) == ["diversity"]


async def test_equals_without_vectors_are_cut_off_by_the_limit_and_not_by_diversity(
    alpha: httpx.AsyncClient,
) -> None:
    ids = [(await index(alpha, "heron", session_id=f"s{n}", position=1))["id"] for n in range(8)]
    for memory_id in ids:
        verdict = await why(alpha, memory_id, mode="keyword", limit=3)
        assert verdict["stage"] in ("limit", "returned")
        assert (verdict["rank"] <= 3) is (verdict["stage"] == "returned")


async def test_where_no_limit_reaches_it_the_search_has_to_be_narrowed(alpha: httpx.AsyncClient) -> None:
    """Two legs of sixty with neighbours on both sides are more than a search may ask for."""
    sessions = [f"s{number}" for number in range(60)]
    await bulk(
        alpha,
        [
            {
                "text": f"{'heron' if place == 3 else 'badger'} {session} {place}",
                "session_id": session,
                "position": place,
            }
            for session in sessions
            for place in range(1, 6)
        ],
    )
    hits = {hit["id"] for hit in (await search(alpha, "heron", limit=200))["hits"]}
    assert len(hits) == 200
    found = await alpha.get(MEMORIES, params={"limit": 200})
    more = await alpha.get(MEMORIES, params={"limit": 200, "cursor": found.json()["cursor"]})
    outside = [
        memory["id"]
        for memory in found.json()["memories"] + more.json()["memories"]
        if memory["id"] not in hits
    ]
    verdicts = [await why(alpha, memory_id, "heron", limit=200) for memory_id in outside[:3]]
    limited = [verdict for verdict in verdicts if verdict["stage"] == "limit"]
    assert limited
    assert {verdict["remedy"] for verdict in limited} == {"Narrow the search, or use words that it holds."}
