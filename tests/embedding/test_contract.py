"""The contract of an embedder, held against every implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from noesis.embedding import EmbeddingFailure, Vector
from noesis.embedding.local import LocalEmbedder
from noesis.errors import EmbedderUnavailable
from tests.embedding.subjects import KINDS, POISON, Subject, subject

TEXTS = [
    "The staging database is called heron-2.",
    "We prefer tabs over spaces.",
    "x",
    "Kaffee bitte ohne Zucker, sagte sie.",
    "The build runs every night at three.",
    "Our office is closed on Fridays in August, as it was last year and the year before that.",
    "Alice owns the billing service.",
]
UNICODE = [
    "",
    "   ",
    "東京都の天気",
    "😀👩‍👩‍👧‍👦",
    "e\u0301 vs é",
    "\u202eabc",
    "a\0b",
    "lone \ud800 surrogate",
    "\n\r\u2028",
]


@pytest.fixture(params=KINDS)
async def tested(
    request: pytest.FixtureRequest, tmp_path: Path, local: LocalEmbedder
) -> AsyncIterator[Subject]:
    async with subject(request.param, tmp_path, local) as found:
        yield found


def vectors(results: Sequence[Vector | EmbeddingFailure]) -> list[Vector]:
    found = [result for result in results if not isinstance(result, EmbeddingFailure)]
    assert len(found) == len(results), results
    return found


def assert_sound(found: Sequence[Vector], width: int) -> None:
    for vector in found:
        assert vector.dtype == np.float32
        assert vector.shape == (width,)
        assert np.isfinite(vector).all()
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3


def closeness(one: Vector, other: Vector) -> float:
    return float(one @ other)


async def test_identity_is_stable_and_names_the_weights(tested: Subject) -> None:
    identity = await tested.embedder.identity()
    assert identity == await tested.embedder.identity()
    assert len(identity.digest) == 64
    assert identity.dimension > 0


async def test_vectors_are_sound(tested: Subject) -> None:
    """Right count and width, float32, finite, norm 1."""
    found = vectors(await tested.embedder.embed_documents(TEXTS))
    assert len(found) == len(TEXTS)
    assert_sound(found, (await tested.embedder.identity()).dimension)


async def test_order_is_that_of_the_texts(tested: Subject) -> None:
    together = vectors(await tested.embedder.embed_documents(TEXTS))
    for text, vector in zip(TEXTS, together, strict=True):
        [alone] = vectors(await tested.embedder.embed_documents([text]))
        assert closeness(alone, vector) > 0.999


async def test_no_text_gives_no_vector(tested: Subject) -> None:
    assert await tested.embedder.embed_documents([]) == []


async def test_any_unicode_is_embedded(tested: Subject) -> None:
    found = vectors(await tested.embedder.embed_documents(UNICODE))
    assert_sound(found, (await tested.embedder.identity()).dimension)


async def test_a_question_finds_its_answer(tested: Subject) -> None:
    question = await tested.embedder.embed_query("What is the staging database called?")
    found = vectors(await tested.embedder.embed_documents(TEXTS))
    assert_sound([question], len(found[0]))
    assert max(range(len(TEXTS)), key=lambda at: closeness(question, found[at])) == 0


async def test_a_long_text_is_read_to_its_end(tested: Subject) -> None:
    """A needle behind the model's limit still changes the vector."""
    await tested.embedder.identity()
    sentence = "The weather was mild and nothing of note took place. "
    filler = sentence * (2 * tested.embedder.max_tokens // tested.embedder.count_tokens(sentence))
    needle = "Zürich quarterly penguin audit! " * 10
    assert tested.embedder.count_tokens(filler) > tested.embedder.max_tokens
    plain, marked = vectors(await tested.embedder.embed_documents([filler, filler + needle]))
    assert_sound([plain, marked], len(plain))
    assert closeness(plain, marked) < 0.9999


async def test_dense_text_is_embedded(tested: Subject) -> None:
    """Digits, code and CJK take many more tokens a character than prose."""
    texts = ["${{ a.b:c }}=" * 60, "3141592653589793" * 20, "記憶" * 200]
    assert_sound(
        vectors(await tested.embedder.embed_documents(texts)), (await tested.embedder.identity()).dimension
    )


async def test_a_text_of_max_tokens_counts_more_than_a_shorter_one(tested: Subject) -> None:
    counts = [tested.embedder.count_tokens("word " * n) for n in (1, 10, 100)]
    assert counts == sorted(counts)
    assert counts[0] > 0
    assert tested.embedder.max_tokens >= 16


async def test_concurrent_calls_do_not_mix_their_texts(tested: Subject) -> None:
    alone = vectors(await tested.embedder.embed_documents(TEXTS))
    questions = [tested.embedder.embed_query(text) for text in TEXTS]
    documents = [tested.embedder.embed_documents([text]) for text in TEXTS]
    asked, embedded = await asyncio.gather(asyncio.gather(*questions), asyncio.gather(*documents))
    again = [await tested.embedder.embed_query(text) for text in TEXTS]
    for at in range(len(TEXTS)):
        assert closeness(asked[at], again[at]) > 0.999
        [vector] = vectors(embedded[at])
        assert closeness(vector, alone[at]) > 0.999


async def test_a_poisonous_text_fails_alone(tested: Subject) -> None:
    if not tested.poisonable:
        # The local model takes every text, so that there is nothing to isolate.
        vectors(await tested.embedder.embed_documents([*TEXTS, POISON]))
        return
    texts = [*TEXTS[:3], f"a {POISON} memory", *TEXTS[3:]]
    results = await tested.embedder.embed_documents(texts)
    failed = [at for at, result in enumerate(results) if isinstance(result, EmbeddingFailure)]
    assert failed == [3]
    failure = results[3]
    assert isinstance(failure, EmbeddingFailure)
    assert POISON not in failure.reason


async def test_a_cancelled_call_leaves_the_embedder_usable(tested: Subject) -> None:
    long = asyncio.create_task(tested.embedder.embed_documents(["word " * 100] * 20))
    await asyncio.sleep(0.05)
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    assert len(vectors(await tested.embedder.embed_documents(["after it"]))) == 1


async def test_a_closed_local_embedder_says_so(tmp_path: Path) -> None:
    embedder = LocalEmbedder()
    await embedder.close()
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await embedder.embed_query("anything")
