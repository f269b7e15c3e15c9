"""Filling: memories that were stored without a vector get it later, or are known to have failed."""

from __future__ import annotations

import httpx
import numpy as np
import pytest

from noesis.embedding import EmbeddingFailure
from noesis.errors import EmbedderUnavailable
from noesis.filling import Filled
from noesis.store import Row
from noesis.store.filters import EVERYTHING
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, bulk, get, index, search, texts
from tests.support import Clock, Product, WordEmbedder

PASSING = EmbeddingFailure("It gave a vector of zeros.", permanent=False)
LASTING = EmbeddingFailure("It is longer than the model takes.", permanent=True)


async def fill(product: Product) -> Filled:
    return await product.noesis.filling.fill(lambda done, total: None)


async def rows(product: Product) -> list[Row]:
    store = product.noesis.store
    return [*await store.active.rows(EVERYTHING), *await store.archive.rows(EVERYTHING)]


async def test_after_an_outage_every_waiting_row_gets_its_vector(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    """Those in the archive too, and nothing else of them changes."""
    embedder.down = True
    await bulk(alpha, [{"text": f"heron number {n}"} for n in range(150)])
    await archive(product, (await index(alpha, "heron of old"))["id"])
    with pytest.raises(EmbedderUnavailable):
        await fill(product)
    before = {row.id: row.updated_at for row in await rows(product)}
    embedder.down = False
    seen: list[tuple[int, int]] = []
    done = await product.noesis.filling.fill(lambda count, total: seen.append((count, total)))
    assert done == Filled(embedded=151, failed=0, waiting=0)
    assert seen[-1] == (151, 151)
    after = await rows(product)
    assert {row.id: row.updated_at for row in after} == before
    assert {row.embedding_state for row in after} == {"ready"}
    assert all(row.vector is not None and abs(np.linalg.norm(row.vector) - 1) < 1e-5 for row in after)
    assert texts(await search(alpha, "heron of old", archive="only", mode="vector")) == ["heron of old"]
    assert await fill(product) == Filled(0, 0, 0)


async def test_an_outage_is_not_counted_against_a_text(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder, clock: Clock
) -> None:
    embedder.down = True
    first = await index(alpha, "patient heron")
    for _ in range(5):
        clock.advance(days=1)
        with pytest.raises(EmbedderUnavailable):
            await fill(product)
    assert (await get(alpha, first["id"]))["embedding_state"] == "pending"
    embedder.down = False
    assert await fill(product) == Filled(1, 0, 0)


async def test_a_text_that_fails_three_times_fails_alone_with_its_reason(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder, clock: Clock
) -> None:
    embedder.broken["poison"] = PASSING
    answers = await bulk(alpha, [{"text": text} for text in ("good heron", "poison heron", "better heron")])
    poison = answers[1]["id"]
    tries = 1
    while (memory := await get(alpha, poison))["embedding_state"] == "pending":
        assert memory["embedding_reason"] == PASSING.reason
        assert await fill(product) == Filled(0, 0, 1)  # not due yet
        clock.advance(days=1)
        await fill(product)
        tries += 1
        assert tries < 10
    assert tries == 3
    assert (memory["embedding_state"], memory["embedding_reason"]) == ("failed", PASSING.reason)
    states = (await alpha.get("/api/v1/stats")).json()["active"]["by_embedding_state"]
    assert states == {"pending": 0, "ready": 2, "failed": 1}
    assert set(texts(await search(alpha, "heron"))) == {"good heron", "poison heron", "better heron"}
    clock.advance(days=1)
    assert await fill(product) == Filled(0, 0, 0)


async def test_a_text_that_will_never_fit_fails_at_once(
    alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.broken["poison"] = LASTING
    first = await index(alpha, "poison heron")
    assert first["embedding_state"] == "failed"
    assert (await get(alpha, first["id"]))["embedding_reason"] == LASTING.reason


async def test_a_failed_text_can_be_tried_again_by_hand(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    embedder.broken["poison"] = LASTING
    first = await index(alpha, "poison heron")
    reply = await alpha.post(f"{MEMORIES}/{first['id']}/embed")
    assert (reply.status_code, reply.json()["embedding_state"]) == (200, "pending")
    jobs = (await product.noesis.jobs.list()).jobs
    assert [(job.name, job.key, job.state) for job in jobs] == [("embed_pending", "embed_pending", "queued")]
    await alpha.post(f"{MEMORIES}/{first['id']}/embed")
    assert len((await product.noesis.jobs.list()).jobs) == 1
    embedder.broken.clear()
    assert await fill(product) == Filled(1, 0, 0)
    memory = await get(alpha, first["id"])
    assert (memory["embedding_state"], memory["embedding_reason"]) == ("ready", None)


async def test_a_ready_memory_stays_ready_when_it_is_tried_again(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    first = await index(alpha, "fine heron")
    reply = await alpha.post(f"{MEMORIES}/{first['id']}/embed")
    assert (reply.status_code, reply.json()["embedding_state"]) == (200, "ready")
    assert all(row.vector is not None for row in await rows(product))


async def test_a_text_that_was_edited_meanwhile_is_not_given_the_old_vector(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    embedder.down = True
    first = await index(alpha, "the heron likes cold water")
    embedder.down = False
    embed = embedder.embed_documents

    async def edit_meanwhile(asked: list[str]) -> object:
        embedder.embed_documents = embed  # type: ignore[method-assign]
        vectors = await embed(asked)
        embedder.down = True
        reply = await alpha.patch(f"{MEMORIES}/{first['id']}", json={"text": "the badger digs at night"})
        assert reply.json()["embedding_state"] == "pending"
        embedder.down = False
        return vectors

    embedder.embed_documents = edit_meanwhile  # type: ignore[method-assign, assignment]
    await fill(product)
    (row,) = await rows(product)
    assert row.text == "the badger digs at night"
    assert row.vector is not None
    right, wrong = [(await embed([text]))[0] for text in (row.text, "the heron likes cold water")]
    assert isinstance(right, np.ndarray)
    assert float(row.vector @ right) > 0.999
    assert isinstance(wrong, np.ndarray)
    assert float(row.vector @ wrong) < 0.9


async def test_a_memory_that_was_deleted_or_archived_meanwhile_stays_where_it_is(
    alpha: httpx.AsyncClient, product: Product, embedder: WordEmbedder
) -> None:
    embedder.down = True
    first, second = await index(alpha, "one heron"), await index(alpha, "two herons")
    embedder.down = False
    embed = embedder.embed_documents

    async def move_meanwhile(asked: list[str]) -> object:
        embedder.embed_documents = embed  # type: ignore[method-assign]
        await alpha.delete(f"{MEMORIES}/{first['id']}")
        await archive(product, second["id"])
        return await embed(asked)

    embedder.embed_documents = move_meanwhile  # type: ignore[method-assign, assignment]
    await fill(product)
    assert await product.noesis.store.active.count(EVERYTHING) == 0
    found = {row.id: (row.archive_reason, row.embedding_state) for row in await rows(product)}
    assert found == {first["id"]: ("deleted", "ready"), second["id"]: ("expired", "ready")}
