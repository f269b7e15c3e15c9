"""The real engine behind Ollama against the local model: same weights, same vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import numpy as np
import pytest

from noesis.embedding import EmbeddingFailure
from noesis.embedding.local import LocalEmbedder
from noesis.embedding.ollama import OllamaEmbedder
from tests.embedding.subjects import llama_ollama
from tests.fakes.ollama import FakeOllama

TEXTS = [
    "The staging database is called heron-2.",
    "We prefer tabs over spaces in Python code, and four of them in Makefiles.",
    "Café naïve, 東京, 😀",
    "x",
    "Deploys happen on Tuesdays. " * 20,
]


@pytest.fixture
async def llama() -> AsyncIterator[FakeOllama]:
    with llama_ollama() as fake:
        yield fake


async def test_its_vectors_agree_with_the_local_model(llama: FakeOllama, local: LocalEmbedder) -> None:
    """f16 in llama.cpp and int8 in ONNX Runtime, from one float32 original."""
    embedder = OllamaEmbedder(llama.url, "all-minilm", query_timeout_s=30)
    theirs, ours = await embedder.embed_documents(TEXTS), await local.embed_documents(TEXTS)
    for one, other in zip(theirs, ours, strict=True):
        assert not isinstance(one, EmbeddingFailure)
        assert not isinstance(other, EmbeddingFailure)
        assert float(np.dot(one, other)) > 0.99
    await embedder.close()


async def test_its_own_error_for_too_long_is_the_one_ollama_maps(llama: FakeOllama) -> None:
    body = {"model": "all-minilm", "input": ["word " * 900], "truncate": False}
    async with httpx.AsyncClient(base_url=llama.url, trust_env=False) as client:
        answer = await client.post("/api/embed", json=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": "the input length exceeds the context length"}


async def test_text_denser_than_estimated_is_split_until_the_engine_takes_it(llama: FakeOllama) -> None:
    """Random letters are two a token for this tokenizer; the estimate says three."""
    letters = "".join(chr(97 + (i * i * 7 + i // 3) % 26) for i in range(1300))
    embedder = OllamaEmbedder(llama.url, "all-minilm", query_timeout_s=30)
    await embedder.identity()
    llama.calls.clear()
    [result] = await embedder.embed_documents([" ".join(letters[i : i + 20] for i in range(0, 1300, 20))])
    assert not isinstance(result, EmbeddingFailure)
    sent = [len(text) for call in llama.embed_calls() for text in call]
    assert max(sent) > 1200, "the estimate let it by"
    assert sum(sent) > 2000, "and it was sent again in pieces"
    await embedder.close()
