"""Check and join vectors: nothing but finite unit vectors of the right width leaves an embedder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.errors import EmbedderMismatch

TOLERANCE = 1e-4
FLOAT32 = np.finfo(np.float32)


def unit_vector(raw: npt.ArrayLike, dimension: int) -> Vector | EmbeddingFailure:
    """`raw` as float32 with L2 norm 1, or why it cannot be one.

    A norm that is merely off is put right; zero and non-finite vectors carry no direction and are
    failures.  Raises EmbedderMismatch when the width is not `dimension`.
    """
    vector = np.asarray(raw, dtype=np.float64)
    if vector.shape != (dimension,):
        width = vector.shape[-1] if vector.ndim else 0
        raise EmbedderMismatch(
            f"The embedder gave a vector of width {width} where {dimension} was expected: "
            "it is another model than before, and its vectors are not used."
        )
    # False for NaN as well, and for what would become infinite as float32.
    if not (np.abs(vector) <= FLOAT32.max).all():
        return EmbeddingFailure("the embedder gave a vector with NaN or infinity for it", permanent=False)
    norm = float(np.linalg.norm(vector))
    # Below the smallest float32 that keeps full precision, the direction is rounding noise.
    if norm < FLOAT32.tiny:
        return EmbeddingFailure("the embedder gave a zero vector for it", permanent=False)
    if abs(norm - 1.0) > TOLERANCE:
        vector = vector / norm
    return vector.astype(np.float32)


def average(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector | EmbeddingFailure:
    """The weighted mean of unit vectors, normalised again; one vector is given back unchanged."""
    if len(vectors) == 1:
        return vectors[0]
    mean = np.average(np.stack(vectors).astype(np.float64), axis=0, weights=weights)
    return unit_vector(mean, len(mean))


def join_windows(
    results: Sequence[Vector | EmbeddingFailure], weights: Sequence[float]
) -> Vector | EmbeddingFailure:
    """One result for a text out of its windows' results: the first failure, else their average."""
    vectors: list[Vector] = []
    for result in results:
        if isinstance(result, EmbeddingFailure):
            return result
        vectors.append(result)
    return average(vectors, weights)
