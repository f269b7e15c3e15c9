"""Vectors without a model: texts that share words come out similar, the same text the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

Floats = list[float]


def hash_vector(text: str, dimension: int) -> Floats:
    """The sum of one pseudo-random direction per word, as a unit vector."""
    words = re.findall(r"\w+|[^\w\s]", text.lower()) or [""]
    total = np.sum([_direction(word, dimension) for word in words], axis=0)
    return [float(value) for value in total / np.linalg.norm(total)]


def hash_vectors(texts: Sequence[str], dimension: int) -> list[Floats]:
    """One vector per text."""
    return [hash_vector(text, dimension) for text in texts]


def _direction(word: str, dimension: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    seed = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimension)
