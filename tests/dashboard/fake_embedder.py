"""An embedder without a model: words become directions, and it can be told to be out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from noesis.embedding import EmbedderIdentity, EmbeddingFailure, Vector
from noesis.errors import EmbedderUnavailable
from tests.fakes.hash_vectors import hash_vector

DIMENSION = 64


class FakeEmbedder:
    """Texts that share words come out similar; `out` makes every call fail as an outage does."""

    def __init__(self) -> None:
        self.out = False

    async def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("fake", "hash-64", "0" * 64, DIMENSION)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        self._check()
        return [_vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self._check()
        return _vector(text)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    @property
    def max_tokens(self) -> int:
        return 4096

    async def close(self) -> None:
        return None

    def _check(self) -> None:
        if self.out:
            raise EmbedderUnavailable("The embedder does not answer.")


def _vector(text: str) -> Vector:
    return np.array(hash_vector(text, DIMENSION), dtype=np.float32)
