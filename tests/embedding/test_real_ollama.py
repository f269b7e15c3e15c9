"""Against a real Ollama, when NOESIS_TEST_OLLAMA_URL names one; it needs `all-minilm` or pulls it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import numpy as np
import pytest

from noesis.embedding import EmbeddingFailure
from noesis.embedding.local import LocalEmbedder
from noesis.embedding.ollama import OllamaEmbedder

URL = os.environ.get("NOESIS_TEST_OLLAMA_URL", "")

pytestmark = [
    pytest.mark.real_ollama,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not URL, reason="real-ollama: NOESIS_TEST_OLLAMA_URL is not set"),
]


@pytest.fixture
async def real() -> AsyncIterator[OllamaEmbedder]:
    embedder = OllamaEmbedder(URL, "all-minilm", query_timeout_s=60)
    await embedder.ensure_model()
    yield embedder
    await embedder.close()


async def test_its_vectors_agree_with_the_local_model(real: OllamaEmbedder, local: LocalEmbedder) -> None:
    texts = ["The staging database is called heron-2.", "We prefer tabs over spaces.", "Café, 東京, 😀"]
    for one, other in zip(await real.embed_documents(texts), await local.embed_documents(texts), strict=True):
        assert not isinstance(one, EmbeddingFailure)
        assert not isinstance(other, EmbeddingFailure)
        assert float(np.dot(one, other)) > 0.99


async def test_a_text_over_its_context_is_embedded_whole(real: OllamaEmbedder) -> None:
    texts = ["${{ a.b:c }}=" * 300, "word " * 3000]
    assert not any(isinstance(result, EmbeddingFailure) for result in await real.embed_documents(texts))


async def test_its_identity_is_told(real: OllamaEmbedder) -> None:
    identity = await real.identity()
    assert (identity.dimension, len(identity.digest)) == (384, 64)
