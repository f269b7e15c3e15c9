"""A fake Ollama, embedders on it, and the local model loaded once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from noesis.embedding.local import LocalEmbedder
from noesis.embedding.ollama import OllamaEmbedder
from tests.fakes.ollama import FakeOllama


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as fake:
        yield fake


@pytest.fixture
async def embedder(ollama: FakeOllama) -> AsyncIterator[OllamaEmbedder]:
    """Nomic on the fake server, without a wait before its second tries."""
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text", jitter=lambda: 0.0, document_timeout_s=5.0)
    yield embedder
    await embedder.close()


@pytest.fixture(scope="session")
def local() -> Iterator[LocalEmbedder]:
    """all-MiniLM-L6-v2 in this process; loading it takes half a second, so all tests share it."""
    embedder = LocalEmbedder(threads=2)
    yield embedder
    asyncio.run(embedder.close())


def state_of(embedder: OllamaEmbedder) -> str:
    """The state at this moment, as a plain string that a type checker does not think constant."""
    return embedder.model_status.state
