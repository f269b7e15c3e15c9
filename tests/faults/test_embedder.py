"""What writers, searchers and the health page get when Ollama fails, fault by fault."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from noesis.embedding.ollama import OllamaEmbedder
from noesis.memory import Role, Scope
from noesis.store.filters import EVERYTHING
from tests.fakes.ollama import FakeOllama
from tests.support import Clock, Product, running

EVERYONE = Scope(agent=None, role=Role.ADMIN)


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        yield fake


@pytest.fixture
async def product(tmp_path: Path, ollama: FakeOllama, clock: Clock) -> AsyncIterator[Product]:
    """The product with an Ollama; a call that hangs is given up soon."""
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text", document_timeout_s=1.0, query_timeout_s=0.5)
    async with running(tmp_path, embedder=embedder, clock=clock) as opened:
        yield opened


@pytest.fixture
async def alpha(product: Product) -> httpx.AsyncClient:
    return await product.agent("alpha")


async def index(client: httpx.AsyncClient, *texts: str) -> list[dict[str, Any]]:
    """Store texts; each is acknowledged."""
    answers = []
    for text in texts:
        response = await client.post("/api/v1/memories", json={"text": text})
        assert response.status_code == 201, response.text
        answers.append(response.json())
    return answers


async def search(client: httpx.AsyncClient, query: str) -> dict[str, Any]:
    response = await client.post("/api/v1/search", json={"query": query})
    assert response.status_code == 200, response.text
    return dict(response.json())


async def fill(product: Product, clock: Clock) -> Any:
    """What the worker does, after enough time for every retry."""
    clock.advance(days=1)
    await product.noesis.vectors.look()
    return await product.noesis.filling.fill(lambda *_: None)


async def embedder_part(product: Product) -> Any:
    report = await product.noesis.health.report()
    return next(part for part in report.parts if part.name == "embedder")


async def vectors(product: Product) -> list[Any]:
    return [row.vector for row in await product.noesis.store.active.rows(EVERYTHING)]


async def test_ollama_is_away_texts_wait_and_are_found_by_their_words(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama, clock: Clock
) -> None:
    ollama.stop()
    answers = await index(alpha, "the heron database is for staging", "tea is preferred over coffee")
    assert {answer["embedding_state"] for answer in answers} == {"pending"}
    assert await product.noesis.store.active.dimension() is None, "no vector column before the first vector"
    found = await search(alpha, "heron database")
    assert found["hits"][0]["text"] == "the heron database is for staging"
    assert found["degraded"] is True
    assert "keyword" in found["reason"]
    part = await embedder_part(product)
    assert part.state == "degraded"
    assert "2 texts wait" in part.summary
    ollama.start()
    await asyncio.sleep(0)
    filled = await until_filled(product, clock)
    assert filled == {"pending": 0, "ready": 2, "failed": 0}
    found = await search(alpha, "heron database")
    assert found["degraded"] is False


async def until_filled(product: Product, clock: Clock) -> dict[str, int]:
    """Let the worker's turn come round until the breaker lets a probe through."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (await product.noesis.vectors.look()).state == "ready":
            await fill(product, clock)
            stats = await product.noesis.statistics.stats(EVERYONE)
            return stats.active.by_embedding_state
        await asyncio.sleep(0.5)
    raise AssertionError("the embedder is not seen again")


async def test_ollama_hangs_a_write_and_a_search_are_answered_all_the_same(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama
) -> None:
    await index(alpha, "before it hung the garage code was 4411")
    ollama.faults.hang = True
    began = time.monotonic()
    (answer,) = await index(alpha, "the ladder stands behind the shed")
    found = await search(alpha, "where is the ladder")
    took = time.monotonic() - began
    assert answer["embedding_state"] == "pending"
    assert found["hits"][0]["text"] == "the ladder stands behind the shed"
    assert found["degraded"] is True
    assert took < 5 * 5.5, "a write waits 3.5 s at most, a search 2 s; fivefold slack"


async def test_one_poison_text_fails_alone_and_can_be_retried(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama, clock: Clock
) -> None:
    ollama.faults.nan_on = "poison"
    lines = "\n".join(f'{{"text": "{word} number one"}}' for word in ("good", "poison", "fine", "right"))
    response = await alpha.post("/api/v1/memories/bulk", content=lines)
    answers = [httpx.Response(200, text=line).json() for line in response.text.splitlines()]
    assert [answer["embedding_state"] for answer in answers] == ["ready", "pending", "ready", "ready"]
    for _ in range(3):
        await fill(product, clock)
    poisoned = (await alpha.get(f"/api/v1/memories/{answers[1]['id']}")).json()
    assert poisoned["embedding_state"] == "failed"
    assert poisoned["embedding_reason"]
    assert "poison" not in poisoned["embedding_reason"]
    assert (await search(alpha, "poison"))["hits"][0]["id"] == answers[1]["id"]
    ollama.faults.nan_on = ""
    again = await alpha.post(f"/api/v1/memories/{answers[1]['id']}/embed")
    assert again.json()["embedding_state"] == "pending"
    await fill(product, clock)
    healed = (await alpha.get(f"/api/v1/memories/{answers[1]['id']}")).json()
    assert healed["embedding_state"] == "ready"


@pytest.mark.parametrize("fault", ["zero_on", "nan_on", "bad_value_on"])
async def test_bad_vectors_never_get_in_and_are_made_up_for(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama, clock: Clock, fault: str
) -> None:
    setattr(ollama.faults, fault, "bad")
    if fault == "bad_value_on":
        ollama.faults.bad_value = "1e999"
    texts = [f"bad text {number}" if number % 3 == 0 else f"sound text {number}" for number in range(8)]
    response = await alpha.post(
        "/api/v1/memories/bulk",
        content="\n".join(
            f'{{"text": "{text}", "session_id": "s", "position": {n}}}' for n, text in enumerate(texts)
        ),
    )
    states = [httpx.Response(200, text=line).json()["embedding_state"] for line in response.text.splitlines()]
    assert states == ["pending" if text.startswith("bad") else "ready" for text in texts]
    assert (await search(alpha, "bad text 3"))["hits"][0]["text"] == "bad text 3"
    for vector in await vectors(product):
        assert vector is None or (np.isfinite(vector).all() and abs(np.linalg.norm(vector) - 1) < 1e-3)
    setattr(ollama.faults, fault, "")
    await fill(product, clock)
    assert all(vector is not None for vector in await vectors(product))


async def test_another_width_under_the_same_name_is_never_mixed_in(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama
) -> None:
    await index(alpha, "made with the first model")
    width = await product.noesis.store.active.dimension()
    ollama.faults.wrong_dim = 32
    (answer,) = await index(alpha, "made with another model")
    assert answer["embedding_state"] == "pending"
    assert await product.noesis.store.active.dimension() == width
    found = await search(alpha, "another model")
    assert found["hits"][0]["text"] == "made with another model"
    assert found["degraded"] is True
    assert (await embedder_part(product)).state == "degraded"


async def test_another_model_at_the_start_means_words_only_and_a_clear_line(
    tmp_path: Path, ollama: FakeOllama, clock: Clock
) -> None:
    async with running(
        tmp_path, embedder=OllamaEmbedder(ollama.url, "nomic-embed-text"), clock=clock
    ) as product:
        await index(await product.agent("alpha"), "stored with nomic")
    ollama.models[0].digest = "f" * 64
    async with running(
        tmp_path, embedder=OllamaEmbedder(ollama.url, "nomic-embed-text"), clock=clock
    ) as product:
        alpha = await product.agent("alpha")
        (answer,) = await index(alpha, "stored with another")
        assert answer["embedding_state"] == "pending"
        found = await search(alpha, "stored with nomic")
        assert found["hits"][0]["text"] == "stored with nomic"
        assert found["degraded"] is True
        assert "re-embedded" in found["reason"]


async def test_a_model_replaced_in_use_is_noticed_by_the_next_question_and_said(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama
) -> None:
    """Also when the old model was seen a moment ago."""
    await index(alpha, "stored with the first one")
    assert (await search(alpha, "which was the first"))["degraded"] is False
    ollama.models[0].digest = "f" * 64
    (answer,) = await index(alpha, "stored after it was replaced")
    assert answer["embedding_state"] == "pending"
    found = await search(alpha, "what was stored after")
    assert found["degraded"] is True
    assert "replaced" in found["reason"]
    await product.noesis.vectors.look()
    part = await embedder_part(product)
    assert "replaced" in part.summary
    assert "former model" in part.what_to_do


async def test_a_missing_model_is_pulled_once_with_progress(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama, clock: Clock
) -> None:
    ollama.models.clear()
    (answer,) = await index(alpha, "written while the model is missing")
    assert answer["embedding_state"] == "pending"
    assert (await product.noesis.vectors.look()).state == "missing"
    seen: list[tuple[int, int]] = []
    await product.noesis.vectors.prepare(lambda status: seen.append((status.completed, status.total)))
    assert seen
    assert seen == sorted(seen)
    await product.noesis.vectors.prepare()
    pulls = [call for call in ollama.calls if call[1] == "/api/pull"]
    assert len(pulls) == 1
    await fill(product, clock)
    assert (await alpha.get(f"/api/v1/memories/{answer['id']}")).json()["embedding_state"] == "ready"


@pytest.mark.parametrize("how", ["offline", "disk_full", "end_early", "cut_mid_stream"])
async def test_a_pull_that_fails_says_why_and_everything_else_works(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama, how: str
) -> None:
    from noesis.errors import EmbedderUnavailable

    ollama.models.clear()
    ollama.faults.pull = how  # type: ignore[assignment]
    with pytest.raises(EmbedderUnavailable):
        await product.noesis.vectors.prepare()
    await index(alpha, "the model never came")
    assert (await search(alpha, "model never came"))["hits"]
    part = await embedder_part(product)
    assert part.state == "degraded"
    assert part.still_works
    assert "registry" in part.what_to_do


async def test_dense_text_beyond_the_models_limit_is_embedded_whole(
    product: Product, alpha: httpx.AsyncClient, ollama: FakeOllama
) -> None:
    ollama.faults.dense = True
    ollama.faults.ignore_truncate = True
    dense = "${{ a.b:c }}=" * 700
    plain = " ".join(f"word{number}" for number in range(200))
    body = "\n".join(f'{{"text": "{text}"}}' for text in (dense, plain))
    response = await alpha.post("/api/v1/memories/bulk", content=body)
    answers = [httpx.Response(200, text=line).json() for line in response.text.splitlines()]
    assert [answer["embedding_state"] for answer in answers] == ["ready", "ready"]
    whole = (await alpha.get(f"/api/v1/memories/{answers[0]['id']}")).json()
    assert whole["text"] == dense
    assert (await alpha.get(f"/api/v1/memories/{answers[1]['id']}")).json()["text"] == plain
