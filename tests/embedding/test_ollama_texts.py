"""What a caller gets for texts that break the model, and for answers that are wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from noesis.embedding import EmbeddingFailure, Vector
from noesis.embedding.ollama import OllamaEmbedder
from noesis.errors import EmbedderMismatch, EmbedderUnavailable, EmbeddingRejected
from tests.embedding.conftest import state_of
from tests.fakes.hash_vectors import hash_vector
from tests.fakes.ollama import FakeOllama
from tests.fakes.ollama_embed import count_tokens

BAD = "zebra"
GOOD = ["one apple", "two pears", "three plums", "four figs", "five dates"]
MIXED = [*GOOD[:2], f"a {BAD} text", *GOOD[2:]]


def failures(results: Sequence[Vector | EmbeddingFailure]) -> dict[int, EmbeddingFailure]:
    return {at: result for at, result in enumerate(results) if isinstance(result, EmbeddingFailure)}


def as_embedded(text: str) -> Vector:
    """What the fake gives for a document of nomic."""
    return np.array(hash_vector(f"search_document: {text}", 64), dtype=np.float32)


def assert_belongs(result: Vector | EmbeddingFailure, text: str) -> None:
    assert not isinstance(result, EmbeddingFailure)
    np.testing.assert_allclose(result, as_embedded(text), atol=1e-6)


@pytest.fixture
async def ready(embedder: OllamaEmbedder) -> OllamaEmbedder:
    """Its model has been learnt before any fault begins."""
    await embedder.identity()
    return embedder


FAULTS: dict[str, dict[str, str | bool]] = {
    "nan, newer": {"nan_on": BAD},
    "nan, older": {"nan_on": BAD, "newer": False},
    "nan, oldest": {"nan_on": BAD, "oldest": True},
    "zero, newer": {"zero_on": BAD},
    "zero, older": {"zero_on": BAD, "newer": False},
    "crash as 400": {"crash_on": BAD, "crash_form": "400"},
    "crash as 500": {"crash_on": BAD, "crash_form": "500"},
    "plain 500": {"fail_on": BAD},
    "null": {"bad_value_on": BAD, "bad_value": "null"},
    "infinity": {"bad_value_on": BAD, "bad_value": "1e999"},
    "NaN in JSON": {"bad_value_on": BAD, "bad_value": "NaN"},
    "a string": {"bad_value_on": BAD, "bad_value": '"x"'},
    "beyond float32": {"bad_value_on": BAD, "bad_value": "1e300"},
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_bad_text_fails_alone_and_may_be_tried_again(
    fault: str, ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    for name, value in FAULTS[fault].items():
        setattr(ollama.faults, name, value)
    results = await ready.embed_documents(MIXED)
    assert list(failures(results)) == [2]
    assert not failures(results)[2].permanent
    assert BAD not in failures(results)[2].reason
    for at in (0, 1, 3, 4, 5):
        assert_belongs(results[at], MIXED[at])


@pytest.mark.parametrize("fault", ["nan, newer", "zero, older", "crash as 400", "infinity", "null"])
async def test_once_the_model_recovers_the_bad_text_is_embedded(
    fault: str, ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    for name, value in FAULTS[fault].items():
        setattr(ollama.faults, name, value)
    assert failures(await ready.embed_documents(MIXED))
    for name in FAULTS[fault]:
        setattr(ollama.faults, name, "")
    assert not failures(await ready.embed_documents(MIXED))


async def test_three_bad_of_eight(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    """NaN, zeros and infinity in one session: five vectors, three passing failures."""
    ollama.faults.nan_on, ollama.faults.newer = "nanny", False
    ollama.faults.zero_on, ollama.faults.bad_value_on, ollama.faults.bad_value = "zero", "endless", "1e999"
    results = await ready.embed_documents([*GOOD, "the nanny", "a zero", "endless"])
    assert sorted(failures(results)) == [5, 6, 7]
    assert not any(failure.permanent for failure in failures(results).values())
    for at, text in enumerate(GOOD):
        assert_belongs(results[at], text)


async def test_finding_the_bad_text_asks_a_bounded_number_of_times(
    ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    ollama.calls.clear()
    ollama.faults.nan_on = BAD
    results = await ready.embed_documents(["word"] * 20 + [BAD] + ["word"] * 11)
    assert list(failures(results)) == [20]
    assert len(ollama.embed_calls()) <= 2 + 1 + 2 * 5 + 2


async def test_dense_text_is_split_smaller_until_it_fits(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    """A model that counts each mark as a token refuses; every character is embedded all the same."""
    ollama.faults.dense, ollama.faults.context = True, 700
    marks = [f"${{{{ a.b:{i} }}}}=" for i in range(1000, 1600)]
    ollama.calls.clear()
    results = await ready.embed_documents(["".join(marks), "plain words here " * 66])
    assert not failures(results)
    sent = [text for call in ollama.embed_calls() for text in call]
    taken = [text for text in sent if count_tokens(text, ollama.faults) <= 698]
    assert len(taken) < len(sent)
    assert [mark for mark in marks if not any(mark in text for text in taken)] == []
    assert all(body["truncate"] is False for _, path, body in ollama.calls if path == "/api/embed")


async def test_a_text_that_no_splitting_helps_is_rejected_for_good(
    ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    ollama.faults.context = 2  # not even one word has room
    results = await ready.embed_documents(["one two three four"])
    assert failures(results)[0].permanent
    with pytest.raises(EmbeddingRejected):
        await ready.embed_query("one two three four")


async def test_a_server_that_ignores_truncate_is_no_matter(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    ollama.faults.ignore_truncate, ollama.faults.context = True, 100
    assert not failures(await ready.embed_documents(["word " * 1500, "short"]))


async def test_the_oldest_wording_of_too_long_is_understood(
    ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    ollama.faults.oldest, ollama.faults.context = True, 100
    assert not failures(await ready.embed_documents(["word " * 1500, "short"]))


async def test_a_long_text_is_sent_in_windows_below_the_trained_context(
    ollama: FakeOllama, embedder: OllamaEmbedder
) -> None:
    """Nomic asks for 8192 in its Modelfile and was trained with 2048."""
    await embedder.identity()
    assert embedder.max_tokens < 2048
    ollama.calls.clear()
    text = " ".join(f"word{i}" for i in range(6000))
    assert not failures(await embedder.embed_documents([text]))
    pieces = [piece for call in ollama.embed_calls() for piece in call]
    assert len(pieces) > 3
    assert all(piece.startswith("search_document: ") for piece in pieces)
    assert {f"word{i}" for i in range(6000)} <= {word for piece in pieces for word in piece.split()}


async def test_fewer_vectors_than_texts_are_not_matched_up(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    """The batch is not believed; one by one, the texts are."""
    ollama.faults.short_batch = True
    results = await ready.embed_documents(GOOD)
    for at, text in enumerate(GOOD):
        assert_belongs(results[at], text)


async def test_a_server_that_shuffles_batches_gets_single_texts(
    ollama: FakeOllama, embedder: OllamaEmbedder
) -> None:
    ollama.faults.shuffle_batch = True
    results = await embedder.embed_documents(GOOD)
    for at, text in enumerate(GOOD):
        assert_belongs(results[at], text)


async def test_vectors_that_are_not_normalised_are(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    ollama.faults.long_vector_norm = 12.5
    [result] = await ready.embed_documents(["one apple"])
    assert_belongs(result, "one apple")


async def test_another_width_is_another_model(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    ollama.faults.wrong_dim = 32
    with pytest.raises(EmbedderMismatch, match="32"):
        await ready.embed_documents(GOOD)
    with pytest.raises(EmbedderMismatch):
        await ready.embed_query("one apple")
    assert state_of(ready) == "unsuitable"


async def test_a_model_replaced_under_its_name_is_noticed_by_its_digest(
    ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    before = await ready.identity()
    old = ollama.models[0].digest
    ollama.models[0].digest = "f" * 64
    with pytest.raises(EmbedderMismatch, match="replaced"):
        await ready.embed_documents(GOOD)
    assert await ready.identity() == before
    ollama.models[0].digest = old
    assert not failures(await ready.embed_documents(GOOD))


async def test_a_question_about_a_replaced_model_is_noticed_when_trust_runs_out(ollama: FakeOllama) -> None:
    now = [0.0]
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text", clock=lambda: now[0])
    await embedder.embed_query("one apple")
    ollama.models[0].digest = "f" * 64
    now[0] += 31
    with pytest.raises(EmbedderMismatch):
        await embedder.embed_query("one apple")
    await embedder.close()


@pytest.mark.parametrize("fault", ["nan_on", "crash_on", "fail_on"])
async def test_a_question_that_breaks_the_model_is_unavailable(
    fault: str, ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    setattr(ollama.faults, fault, BAD)
    with pytest.raises(EmbedderUnavailable) as caught:
        await ready.embed_query(f"where is the {BAD}?")
    assert BAD not in caught.value.message
    await ready.embed_query("where is the apple?")


async def test_a_runner_that_fails_on_everything_blames_no_text(
    ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    ollama.calls.clear()
    ollama.faults.crash_after = 0
    with pytest.raises(EmbedderUnavailable):
        await ready.embed_documents(MIXED)
    assert len(ollama.embed_calls()) == 3  # the batch twice, then plain words


async def test_a_crash_that_passes_is_not_noticed(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    """One second try for a whole batch."""
    ollama.faults.busy = 1
    assert not failures(await ready.embed_documents(GOOD))


async def test_what_was_embedded_before_a_crash_is_kept(ollama: FakeOllama, ready: OllamaEmbedder) -> None:
    ollama.faults.crash_after = 1
    texts = ["word " * 700, "word " * 800]  # each a request of its own
    results = await ready.embed_documents(texts)
    assert isinstance(results[0], np.ndarray)
    assert not failures(results)[1].permanent


async def test_documents_and_questions_get_the_models_prefixes(
    ollama: FakeOllama, ready: OllamaEmbedder
) -> None:
    ollama.calls.clear()
    await ready.embed_documents(["one apple"])
    await ready.embed_query("two pears")
    assert ollama.embed_calls() == [["search_document: one apple"], ["search_query: two pears"]]


async def test_every_request_has_the_same_options(ollama: FakeOllama, embedder: OllamaEmbedder) -> None:
    """Ollama loads the model anew when they differ."""
    await embedder.embed_documents([*GOOD, "word " * 3000])
    await embedder.embed_query("one apple")
    bodies = [body for _, path, body in ollama.calls if path == "/api/embed"]
    assert len({(repr(body["options"]), body["keep_alive"], body["truncate"]) for body in bodies}) == 1
    assert all(len(body["input"]) <= 32 for body in bodies)
