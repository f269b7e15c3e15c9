"""BM25 (Robertson and Zaragoza 2009) over a set of passages whose term counts are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

K1, B = 0.9, 0.4
"""Better than the usual 1.2 and 0.75, which the store's index has built in, on short turns (+1.1 R@10)."""


class WordStatistics(msgspec.Struct, frozen=True):
    """How common terms are among some memories.

    `texts` is how many there are, `length` their mean length in terms, `texts_with` in how many of
    them a term occurs.
    """

    texts: int
    length: float
    texts_with: Mapping[str, int]


def rarity(terms: Sequence[str], statistics: WordStatistics) -> Floats:
    """The inverse document frequency of each term, as Lucene smooths it."""
    found = np.array([statistics.texts_with.get(term, 0) for term in terms], dtype=float)
    found = np.minimum(found, statistics.texts)
    rarities: Floats = np.log1p((statistics.texts - found + 0.5) / (found + 0.5))
    return rarities


def bm25(counts: Floats, lengths: Floats, mean_length: float, rarities: Floats) -> Floats:
    """The score of each passage: `counts` (passages, terms), `lengths` in terms."""
    if counts.shape[1] == 0:
        return np.zeros(len(lengths))
    damping = K1 * (1 - B + B * lengths / max(mean_length, 1.0))
    scores: Floats = (rarities * counts * (K1 + 1) / (counts + damping[:, None])).sum(axis=1)
    return scores


def statistics_of(texts: Sequence[Sequence[str]]) -> WordStatistics:
    """Count over texts given as terms."""
    counts: dict[str, int] = {}
    for text in texts:
        for term in set(text):
            counts[term] = counts.get(term, 0) + 1
    total = sum(map(len, texts))
    return WordStatistics(len(texts), total / max(len(texts), 1), counts)
