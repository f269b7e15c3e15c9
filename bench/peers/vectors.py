"""The texts' vectors from the product's own embedder, made once and kept in a file."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from bench.server import BenchError
from bench.talks import Talk
from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.embedding.local import LocalEmbedder

Matrix = npt.NDArray[np.float32]

_SAMPLE = 64


class Vectors(msgspec.Struct, frozen=True):
    """A talk's vectors, one row an entry and one a question, in their order."""

    entries: Matrix
    questions: Matrix


async def vectors_of(talks: Sequence[Talk], embedder: LocalEmbedder, cache: Path) -> list[Vectors]:
    """Each talk's vectors, from the cache when it has them.  Raises BenchError or an EmbedderError."""
    digest = (await embedder.identity()).digest
    return [await _of_talk(talk, embedder, cache / "vectors", digest) for talk in talks]


async def cost_ms(talks: Sequence[Talk], embedder: LocalEmbedder) -> float:
    """What the model takes for a text, in ms: the mean over some of the first talk's."""
    texts = [entry.spoken for entry in talks[0].entries[:_SAMPLE]]
    began = time.perf_counter()
    await embedder.embed_documents(texts)
    return (time.perf_counter() - began) * 1000 / len(texts)


async def _of_talk(talk: Talk, embedder: LocalEmbedder, folder: Path, digest: str) -> Vectors:
    texts = [entry.spoken for entry in talk.entries]
    questions = [question.text for question in talk.questions]
    key = hashlib.sha256(msgspec.json.encode([digest, texts, questions])).hexdigest()
    path = folder / f"{key[:24]}.npz"
    if not path.is_file():
        found = await embedder.embed_documents(texts)
        asked = [await embedder.embed_query(question) for question in questions]
        folder.mkdir(parents=True, exist_ok=True)
        whole = path.with_suffix(".part.npz")
        np.savez(whole, entries=_matrix(talk, found), questions=np.stack(asked))
        whole.rename(path)
    with np.load(path) as kept:
        stored: Any = kept
        return Vectors(stored["entries"], stored["questions"])


def _matrix(talk: Talk, found: Sequence[Vector | EmbeddingFailure]) -> Matrix:
    vectors = [vector for vector in found if not isinstance(vector, EmbeddingFailure)]
    if len(vectors) != len(found):
        raise BenchError(f"{talk.name}: {len(found) - len(vectors)} texts have no vector.")
    return np.stack(vectors)
