"""Search: which legs, which tables, which scores, and what it says when a leg is missing."""

from __future__ import annotations

import math
from typing import Any

import httpx
import pytest

from noesis.embedding import EmbeddingFailure
from noesis.errors import StoreError
from noesis.store import Table
from noesis.store.filters import EVERYTHING
from tests.operations.expire import archive
from tests.operations.samples import bulk, index, search, texts, words
from tests.support import Clock, Product, WordEmbedder

BIRDS = ["the heron fishes at dawn", "the badger digs at dusk", "the wiki lives on port 8085"]


async def store_birds(client: httpx.AsyncClient) -> None:
    for text in BIRDS:
        await index(client, text)


async def test_the_best_answer_comes_first_in_every_mode(alpha: httpx.AsyncClient) -> None:
    await store_birds(alpha)
    for mode in ("hybrid", "vector", "keyword"):
        answer = await search(alpha, "where does the wiki live", mode=mode)
        assert answer["hits"][0]["text"] == BIRDS[2]
        assert (answer["degraded"], answer["reason"]) == (False, None)
        scores = [hit["score"] for hit in answer["hits"]]
        assert all(0 <= score <= 1 for score in scores)
    assert answer["took_ms"] >= 0
    assert set(answer["timings"]) == {"embedding", "store"}
    assert answer["timings"]["store"] > 0, "the last mode was keyword, whose leg is the store's work too"


async def test_keyword_finds_only_rows_with_a_word_and_asks_no_embedder(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    await store_birds(alpha)
    embedded = len(embedder.seen)
    answer = await search(alpha, "heron 8085 unheard", mode="keyword")
    assert set(texts(answer)) == {BIRDS[0], BIRDS[2]}
    assert len(embedder.seen) == embedded


async def test_vector_finds_what_shares_no_stem_as_well(alpha: httpx.AsyncClient) -> None:
    await store_birds(alpha)
    assert len((await search(alpha, "port", mode="vector", limit=10))["hits"]) == 3


async def test_the_limit_is_kept_and_its_default_is_that_of_the_settings(alpha: httpx.AsyncClient) -> None:
    await bulk(alpha, [{"text": f"heron number {n}"} for n in range(30)])
    assert len((await search(alpha, "heron"))["hits"]) == 6
    for limit in (1, 7, 30):
        assert len((await search(alpha, "heron", limit=limit))["hits"]) == limit
    for limit in (0, -1, 201):
        reply = await alpha.post("/api/v1/search", json={"query": "heron", "limit": limit})
        assert (reply.status_code, reply.json()["field"]) == (400, "limit")


NOTHING = ["", "  ", "\u200b", "\x00"]


async def test_a_question_of_nothing_is_refused(alpha: httpx.AsyncClient) -> None:
    for query in NOTHING:
        reply = await alpha.post("/api/v1/search", json={"query": query})
        assert (reply.status_code, reply.json()["field"]) == (400, "query")


SIGNS = ['"', '"heron', "heron AND", "(", "heron:", "*", "\\", "'", "~", "heron^2", "[", "-", "heron OR NOT"]


async def test_signs_in_a_question_are_no_language(alpha: httpx.AsyncClient) -> None:
    await store_birds(alpha)
    for query in SIGNS:
        for mode in ("hybrid", "keyword"):
            found = texts(await search(alpha, query, mode=mode))
            assert (BIRDS[0] in found) or "heron" not in query


async def test_every_candidate_has_both_scores_whichever_leg_brought_it(
    alpha: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leg's list ends somewhere: what only the other leg brought is scored by it as well."""
    await bulk(alpha, [{"text": f"common word number {n}"} for n in range(80)])
    await index(alpha, "common rare")
    answer = await search(alpha, "common rare", explain=True, limit=200)
    assert len(answer["hits"]) > 60
    only_vector = only_keyword = 0
    for hit in answer["hits"]:
        explained = hit["explanation"]
        assert explained["vector_score"] > 0, hit
        assert explained["keyword_score"] > 0, hit
        points = sum(explained["contributions"].values())
        assert abs(1 / (1 + math.exp(-points)) - hit["score"]) < 0.001
        only_vector += explained["keyword_rank"] is None
        only_keyword += explained["vector_rank"] is None
    assert only_vector
    assert only_keyword


async def test_a_candidate_without_a_vector_or_without_a_word_says_so(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    await index(alpha, "quiet badger")
    embedder.broken["noisy"] = EmbeddingFailure("No.", permanent=True)
    await index(alpha, "noisy heron")
    hits = {hit["text"]: hit for hit in (await search(alpha, "heron", explain=True))["hits"]}
    assert hits["noisy heron"]["explanation"]["vector_rank"] is None
    assert hits["noisy heron"]["explanation"]["vector_score"] == 0
    assert hits["quiet badger"]["explanation"]["keyword_score"] == 0
    assert hits["quiet badger"]["explanation"]["vector_rank"] == 1
    assert "explanation" not in (await search(alpha, "heron"))["hits"][0]


async def test_of_two_equal_answers_the_one_of_higher_priority_comes_first(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "heron facts", session_id="a", position=1, memory_type="session")
    await index(alpha, "heron facts", session_id="b", position=1, memory_type="decision")
    await index(alpha, "heron facts", session_id="c", position=1, memory_type="fact")
    answer = await search(alpha, "heron facts")
    assert [hit["session_id"] for hit in answer["hits"]] == ["b", "c", "a"]


async def test_a_long_memory_is_one_hit_with_its_whole_text(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    """Although several of its chunks fit the question."""
    text = " ".join(f"heron {words(200, start)}" for start in range(0, 1600, 200))
    first = await index(alpha, text)
    assert first["chunks"] > 3
    await index(alpha, "one heron alone")
    answer = await search(alpha, "heron word900")
    assert [hit["id"] for hit in answer["hits"]].count(first["id"]) == 1
    assert len(answer["hits"]) == 2
    (hit,) = [hit for hit in answer["hits"] if hit["id"] == first["id"]]
    assert hit["text"] == text
    await archive(product, first["id"])
    (hit,) = (await search(alpha, "word900", archive="only"))["hits"]
    assert (hit["text"], hit["archived"]) == (text, True)


async def test_the_archive_is_asked_as_the_question_says(alpha: httpx.AsyncClient, product: Product) -> None:
    old = await index(alpha, "heron of old")
    await archive(product, old["id"])
    for text in ("heron of today", "heron of tomorrow"):
        await index(alpha, text)
    living, everything = (
        {"heron of today", "heron of tomorrow"},
        {"heron of today", "heron of tomorrow", "heron of old"},
    )
    for use, expected in (
        ("auto", living),
        ("never", living),
        ("only", {"heron of old"}),
        ("always", everything),
    ):
        answer = await search(alpha, "heron", archive=use)
        assert set(texts(answer)) == expected, use
        assert {hit["text"] for hit in answer["hits"] if hit["archived"]} == expected - living
    reply = await alpha.post("/api/v1/archive/search", json={"query": "heron", "archive": "never"})
    assert texts(reply.json()) == ["heron of old"]


async def test_with_fewer_than_two_living_hits_the_archive_is_asked_too(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    old = await index(alpha, "heron of old")
    await archive(product, old["id"])
    assert texts(await search(alpha, "heron")) == ["heron of old"]
    assert texts(await search(alpha, "heron", archive="never")) == []
    await index(alpha, "heron of today")
    assert set(texts(await search(alpha, "heron"))) == {"heron of old", "heron of today"}
    await index(alpha, "heron of tomorrow")
    assert set(texts(await search(alpha, "heron"))) == {"heron of today", "heron of tomorrow"}


async def test_two_chunks_of_one_living_memory_are_one_hit_and_not_enough(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    old = await index(alpha, "heron of old")
    await archive(product, old["id"])
    await index(alpha, f"heron {words(500)} heron {words(500, 500)} heron")
    assert len((await search(alpha, "heron"))["hits"]) == 2


async def test_a_row_that_a_kill_left_in_both_tables_is_one_living_hit(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    await index(alpha, "heron twice")
    rows = await product.noesis.store.active.rows(EVERYTHING)
    for row in rows:
        row.archived_at, row.archive_reason = product.noesis.now_ms(), "expired"
    await product.noesis.store.archive.upsert(rows)
    for use in ("auto", "always"):
        answer = await search(alpha, "heron", archive=use)
        assert [(hit["text"], hit["archived"]) for hit in answer["hits"]] == [("heron twice", False)]


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"memory_types": ["decision"]}, {"heron one"}),
    ({"memory_types": ["decision", "context"]}, {"heron one", "heron two"}),
    ({"tags": ["x"]}, {"heron one", "heron two"}),
    ({"tags": ["x", "y"]}, {"heron one"}),
    ({"session_id": "s"}, {"heron two"}),
    ({"after": "2026-02-02T00:00:00Z"}, {"heron two", "heron three"}),
    ({"before": "2026-02-02T00:00:00Z"}, {"heron one"}),
    ({"after": "2026-02-02T01:00:00+01:00", "before": "2026-02-03T00:00:00Z"}, {"heron two"}),
    ({"memory_types": ["session"]}, set()),
]


async def test_each_filter_does_what_it_says_in_every_mode(alpha: httpx.AsyncClient) -> None:
    made: list[dict[str, Any]] = [
        {"memory_type": "decision", "tags": ["x", "y"], "created_at": "2026-02-01T00:00:00Z"},
        {"memory_type": "context", "tags": ["x"], "session_id": "s", "created_at": "2026-02-02T00:00:00Z"},
        {"created_at": "2026-02-03T00:00:00Z"},
    ]
    for name, values in zip(("one", "two", "three"), made, strict=True):
        await index(alpha, f"heron {name}", **values)
    for mode in ("hybrid", "vector", "keyword"):
        for wanted, expected in FILTERS:
            assert set(texts(await search(alpha, "heron", mode=mode, **wanted))) == expected, wanted


async def test_with_the_embedder_down_the_words_answer_and_the_answer_says_so(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    await store_birds(alpha)
    embedder.down = True
    answer = await search(alpha, "heron at noon")
    assert texts(answer) == [BIRDS[0]]
    assert answer["degraded"] is True
    assert answer["reason"] == "Answered by keyword only: The embedder does not answer."
    keyword = await search(alpha, "heron", mode="keyword")
    assert (keyword["degraded"], texts(keyword)) == (False, [BIRDS[0]])
    reply = await alpha.post("/api/v1/search", json={"query": "heron", "mode": "vector"})
    assert (reply.status_code, reply.json()["code"]) == (503, "embedder_unavailable")
    assert reply.headers["retry-after"]
    embedder.down = False
    answer = await search(alpha, "heron at noon")
    assert (answer["degraded"], answer["reason"]) == (False, None)


async def test_an_embedder_that_hangs_is_not_waited_for(
    alpha: httpx.AsyncClient, embedder: WordEmbedder, product: Product
) -> None:
    await store_birds(alpha)
    embedder.hang_s = 30
    product.noesis.vectors._query_deadline_s = 0.05
    answer = await search(alpha, "heron at noon")
    assert (texts(answer), answer["degraded"]) == ([BIRDS[0]], True)
    assert "did not answer within" in answer["reason"]


async def test_with_vectors_of_another_model_the_words_answer_and_nothing_is_mixed(
    alpha: httpx.AsyncClient, embedder: WordEmbedder, product: Product
) -> None:
    await store_birds(alpha)
    embedder.model = "another"
    answer = await search(alpha, "heron at noon")
    assert (texts(answer), answer["degraded"]) == ([BIRDS[0]], True)
    assert "another" in answer["reason"]
    assert (await index(alpha, "a new heron"))["embedding_state"] == "pending"
    embedder.model = "words"
    assert not (await search(alpha, "heron at noon"))["degraded"]


async def test_a_repeated_question_is_embedded_once(alpha: httpx.AsyncClient, embedder: WordEmbedder) -> None:
    await store_birds(alpha)
    embedded = len(embedder.seen)
    for _ in range(3):
        await search(alpha, "where is the heron")
    assert len(embedder.seen) == embedded + 1


async def test_a_failing_store_is_an_error_and_not_an_empty_answer(
    alpha: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("The store could not be read: broken")

    await store_birds(alpha)
    monkeypatch.setattr(Table, "matching", fail)
    reply = await alpha.post("/api/v1/search", json={"query": "heron"})
    assert (reply.status_code, reply.json()["code"]) == (500, "store")


async def test_an_expired_memory_that_nobody_archived_yet_is_no_hit_anywhere(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    await index(alpha, "heron for a day", ttl_days=1)
    clock.advance(days=1)
    for use in ("auto", "never", "always"):
        assert texts(await search(alpha, "heron", archive=use)) == []
