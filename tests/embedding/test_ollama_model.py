"""Whether the model is there, and how it gets there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from noesis.embedding import ModelStatus
from noesis.embedding.ollama import OllamaEmbedder
from noesis.embedding.ollama_model import canonical_name, context_of
from noesis.embedding.ollama_wire import Shown
from noesis.embedding.prefixes import task_prefixes
from noesis.errors import EmbedderMismatch, EmbedderUnavailable
from tests.embedding.conftest import state_of
from tests.fakes.ollama import FakeOllama
from tests.fakes.ollama_faults import llama


@pytest.fixture
async def missing(ollama: FakeOllama) -> AsyncIterator[OllamaEmbedder]:
    """The model is in the library and not installed."""
    ollama.models.clear()
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text", jitter=lambda: 0.0, pull_stall_s=0.3)
    yield embedder
    await embedder.close()


def pulls(ollama: FakeOllama) -> int:
    return sum(path == "/api/pull" for _, path, _ in ollama.calls)


async def test_the_identity_holds_what_makes_vectors_comparable(
    ollama: FakeOllama, embedder: OllamaEmbedder
) -> None:
    identity = await embedder.identity()
    assert (identity.provider, identity.model, identity.dimension) == ("ollama", "nomic-embed-text", 64)
    assert identity.digest == ollama.models[0].digest
    assert (identity.document_prefix, identity.query_prefix) == ("search_document: ", "search_query: ")


@pytest.mark.parametrize("name", ["nomic-embed-text", "nomic-embed-text:latest", "Nomic-Embed-Text"])
async def test_all_spellings_of_a_name_are_one_identity(name: str, ollama: FakeOllama) -> None:
    embedder = OllamaEmbedder(ollama.url, name)
    assert (await embedder.identity()).model == "nomic-embed-text"
    await embedder.close()


async def test_a_missing_model_is_unavailable_and_said_to_be_missing(missing: OllamaEmbedder) -> None:
    with pytest.raises(EmbedderUnavailable, match="does not have the model"):
        await missing.embed_documents(["text"])
    assert state_of(missing) == "missing"
    assert "nomic-embed-text" in missing.model_status.sentence


async def test_a_missing_model_is_pulled_with_progress(ollama: FakeOllama, missing: OllamaEmbedder) -> None:
    seen: list[ModelStatus] = []
    await missing.ensure_model(seen.append)
    assert state_of(missing) == "ready"
    assert {status.state for status in seen} == {"pulling"}
    assert [status.completed for status in seen] == sorted(status.completed for status in seen)
    assert seen[-1].completed == seen[-1].total > ollama.models[0].size
    assert "100 %" in seen[-1].sentence
    assert len(await missing.embed_documents(["text"])) == 1


async def test_the_status_tells_of_a_pull_while_it_runs(ollama: FakeOllama, missing: OllamaEmbedder) -> None:
    ollama.faults.pull_step_s = 0.05
    pulling = asyncio.create_task(missing.ensure_model())
    async with asyncio.timeout(10):
        while not missing.model_status.total:  # noqa: ASYNC110 - a status has no event
            await asyncio.sleep(0.01)
    assert state_of(missing) == "pulling"
    with pytest.raises(EmbedderUnavailable):
        await missing.embed_query("text")
    assert state_of(missing) == "pulling"
    await pulling


async def test_a_model_that_is_there_is_not_pulled(ollama: FakeOllama, embedder: OllamaEmbedder) -> None:
    await embedder.ensure_model()
    assert pulls(ollama) == 0


async def test_calls_at_the_same_time_pull_once(ollama: FakeOllama, missing: OllamaEmbedder) -> None:
    await asyncio.gather(*(missing.ensure_model() for _ in range(4)))
    assert pulls(ollama) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("offline", "no such host"),
        ("unknown", "file does not exist"),
        ("disk_full", "no space left"),
        ("cut_mid_stream", "broke off"),
        ("stall", "0.3 s"),
        ("repeat", "no progress"),
    ],
)
async def test_a_pull_that_fails_says_why_and_can_be_called_again(
    fault: str, words: str, ollama: FakeOllama, missing: OllamaEmbedder
) -> None:
    ollama.faults.pull = fault  # type: ignore[assignment]
    async with asyncio.timeout(10):
        with pytest.raises(EmbedderUnavailable, match=words):
            await missing.ensure_model()
    assert state_of(missing) == "missing"
    assert words in missing.model_status.sentence
    ollama.faults.pull = ""
    await missing.ensure_model()
    assert state_of(missing) == "ready"


async def test_a_pull_that_is_cancelled_can_be_called_again(
    ollama: FakeOllama, missing: OllamaEmbedder
) -> None:
    ollama.faults.pull_step_s = 0.1
    pulling = asyncio.create_task(missing.ensure_model())
    async with asyncio.timeout(10):
        while not missing.model_status.total:  # noqa: ASYNC110 - a status has no event
            await asyncio.sleep(0.01)
    pulling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pulling
    assert state_of(missing) == "missing"
    ollama.faults.pull_step_s = 0
    await missing.ensure_model()
    assert state_of(missing) == "ready"


async def test_a_stream_that_ends_without_success_is_a_failure(
    ollama: FakeOllama, missing: OllamaEmbedder
) -> None:
    ollama.faults.pull = "end_early"
    with pytest.raises(EmbedderUnavailable, match="before its end"):
        await missing.ensure_model()


async def test_pulling_from_a_server_that_is_down_is_unavailable(
    ollama: FakeOllama, missing: OllamaEmbedder
) -> None:
    ollama.stop()
    with pytest.raises(EmbedderUnavailable):
        await missing.ensure_model()
    assert state_of(missing) == "unreachable"


async def test_a_model_that_generates_text_is_refused(ollama: FakeOllama) -> None:
    ollama.models.append(llama())
    embedder = OllamaEmbedder(ollama.url, "llama3.2")
    with pytest.raises(EmbedderMismatch, match="generates text"):
        await embedder.embed_documents(["text"])
    assert state_of(embedder) == "unsuitable"
    assert ollama.embed_calls() == []
    await embedder.close()


async def test_a_generating_model_of_an_old_server_is_refused_by_its_error(ollama: FakeOllama) -> None:
    ollama.models.append(llama())
    ollama.faults.oldest = True
    embedder = OllamaEmbedder(ollama.url, "llama3.2")
    with pytest.raises(EmbedderMismatch):
        await embedder.identity()
    await embedder.close()


async def test_a_model_deleted_later_is_missing(ollama: FakeOllama, embedder: OllamaEmbedder) -> None:
    await embedder.identity()
    ollama.models.clear()
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed_documents(["text"])
    assert state_of(embedder) == "missing"


@pytest.mark.parametrize(
    ("trained", "configured", "asked", "context"),
    [
        (2048, "num_ctx                        8192", {}, 2048),
        (512, "num_ctx 256", {}, 256),
        (8192, "", {}, 2048),  # the runner's own batch
        (8192, "", {"num_ctx": 1024}, 1024),
        (None, "", {}, 512),
    ],
)
def test_the_context_is_the_least_of_all_limits(
    trained: int | None, configured: str, asked: dict[str, int], context: int
) -> None:
    info = {"general.architecture": "bert"} | ({"bert.context_length": trained} if trained else {})
    assert context_of(Shown(configured, info), asked) == context


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
        ("jeffh/multilingual-e5-small:f16", "passage: ", "query: "),
        ("bge-m3", "", ""),
        ("bge-large:latest", "", "Represent this sentence for searching relevant passages: "),
        ("snowflake-arctic-embed2", "", "query: "),
        ("snowflake-arctic-embed:22m", "", "Represent this sentence for searching relevant passages: "),
        ("embeddinggemma", "title: none | text: ", "task: search result | query: "),
        ("all-minilm", "", ""),
        ("something-new", "", ""),
    ],
)
def test_known_models_get_the_prefixes_of_their_cards(model: str, document: str, query: str) -> None:
    assert task_prefixes(model) == (document, query)


def test_qwen3_is_asked_with_an_instruction() -> None:
    document, query = task_prefixes("qwen3-embedding:0.6b")
    assert document == ""
    assert query.startswith("Instruct: ")
    assert query.endswith("\nQuery:")


def test_names_are_compared_as_ollama_does() -> None:
    assert canonical_name("Nomic-Embed-Text:latest") == canonical_name("nomic-embed-text")
    assert canonical_name("nomic-embed-text:v1.5") != canonical_name("nomic-embed-text")
