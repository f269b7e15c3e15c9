"""The candidates of one question as arrays: counts, lengths, vectors, and who stands beside whom."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from noesis.ranking.bm25 import Floats, WordStatistics, bm25, rarity
from noesis.ranking.passages import Passage, Question
from noesis.text.words import fold

Indexes = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

NEAR_PLACES = 3
"""A neighbour is the nearest stored turn at most so many places away: capture drops turns without content."""


class Pool:
    """Everything the features are computed from.  Arrays have one entry per passage."""

    def __init__(
        self,
        question: Question,
        passages: Sequence[Passage],
        statistics: WordStatistics,
        similarities: Floats,
    ) -> None:
        self.question = question
        self.passages = passages
        self.statistics = statistics
        self.similarities = similarities
        self.terms = tuple(dict.fromkeys(question.terms))
        self.rarities = rarity(self.terms, statistics)
        self.lengths = np.array([len(passage.keyword) for passage in passages], dtype=float)
        self.counts = counts_of(passages, self.terms)

    def __len__(self) -> int:
        return len(self.passages)

    @cached_property
    def priorities(self) -> Floats:
        """The priorities, 0 to 100."""
        return np.array([passage.priority for passage in self.passages], dtype=float)

    @cached_property
    def word_scores(self) -> Floats:
        """BM25 of each passage."""
        return bm25(self.counts, self.lengths, self.statistics.length, self.rarities)

    @cached_property
    def has_vector(self) -> Flags:
        """Which passages have a vector to compare with the question's."""
        if self.question.vector is None:
            return np.zeros(len(self), dtype=bool)
        return np.array([passage.vector is not None for passage in self.passages], dtype=bool)

    @cached_property
    def vectors(self) -> Floats:
        """The vectors (passages, dimensions), zeros where there is none."""
        width = 1 if self.question.vector is None else len(self.question.vector)
        empty = np.zeros(width, dtype=np.float32)
        rows = [
            passage.vector if known and passage.vector is not None else empty
            for passage, known in zip(self.passages, self.has_vector, strict=True)
        ]
        return np.stack(rows).astype(float) if rows else np.zeros((0, width))

    @cached_property
    def words(self) -> Floats:
        """BM25 of each passage as a share of the best."""
        return shares(self.word_scores)

    @cached_property
    def meaning(self) -> Floats:
        """The similarity stretched to 0..1; a passage that has no vector yet is judged by its words."""
        stretched = self.words.copy()
        stretched[self.has_vector] = stretch(self.similarities[self.has_vector])
        return stretched

    @cached_property
    def both(self) -> Floats:
        """The plain mean of meaning and words, by which neighbours and sessions are judged."""
        return (self.meaning + self.words) / 2

    @cached_property
    def threads(self) -> Indexes:
        """The number of each passage's thread; a passage without one is a thread of its own."""
        numbers: dict[str, int] = {}
        found = [
            -1 if passage.thread is None else numbers.setdefault(passage.thread, len(numbers))
            for passage in self.passages
        ]
        alone = len(numbers)
        for index, number in enumerate(found):
            if number < 0:
                found[index] = alone
                alone += 1
        return np.array(found, dtype=np.intp)

    @cached_property
    def _order(self) -> list[int]:
        places = [
            (int(self.threads[index]), passage.place, index)
            for index, passage in enumerate(self.passages)
            if passage.place is not None
        ]
        return [index for _, _, index in sorted(places)]

    @cached_property
    def before(self) -> Indexes:
        """The index of each passage's neighbour before it, -1 where there is none."""
        found = np.full(len(self), -1, dtype=np.intp)
        for left, right in zip(self._order, self._order[1:], strict=False):
            if self.threads[left] == self.threads[right] and self._near(left, right):
                found[right] = left
        return found

    @cached_property
    def after(self) -> Indexes:
        """The index of each passage's neighbour after it, -1 where there is none."""
        found = np.full(len(self), -1, dtype=np.intp)
        right = np.flatnonzero(self.before >= 0)
        found[self.before[right]] = right
        return found

    def _near(self, left: int, right: int) -> bool:
        here, there = self.passages[left].place, self.passages[right].place
        return here is not None and there is not None and there[0] - here[0] <= NEAR_PLACES

    @cached_property
    def named(self) -> str | None:
        """The one author among the candidates whom the question names, folded; None for none or several."""
        found = {
            name
            for passage in self.passages
            if passage.author is not None
            for name in [fold(passage.author)]
            if name in self.question.words or name.split(" ")[0] in self.question.words
        }
        return found.pop() if len(found) == 1 else None


def counts_of(passages: Sequence[Passage], terms: Sequence[str]) -> Floats:
    """How often each term stands in each passage (passages, terms)."""
    counts = np.zeros((len(passages), len(terms)))
    column = {term: index for index, term in enumerate(terms)}
    for row, passage in enumerate(passages):
        for term in passage.keyword:
            if term in column:
                counts[row, column[term]] += 1
    return counts


def stretch(values: Floats) -> Floats:
    """Values stretched to 0..1; all equal ones become 1 if positive, else 0."""
    if len(values) == 0:
        return values
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-9:
        return np.full_like(values, 1.0 if high > 0 else 0.0)
    return (values - low) / (high - low)


def shares(values: Floats) -> Floats:
    """Values as shares of the greatest; zeros where none is positive."""
    high = float(values.max()) if len(values) else 0.0
    return values / high if high > 0 else np.zeros_like(values)


def at(values: Floats, indexes: Indexes) -> Floats:
    """The values of the neighbours, zero where there is none; works on rows of a matrix too."""
    missing = indexes < 0
    found: Floats = values[np.where(missing, 0, indexes)].astype(float)
    found[missing] = 0.0
    return found


def lent(values: Floats, indexes: Indexes) -> Floats:
    """The values of the neighbours; who has none gets the mean, so that standing alone costs nothing."""
    known = indexes >= 0
    found = np.full(len(values), float(values[indexes[known]].mean()) if known.any() else 0.0)
    found[known] = values[indexes[known]]
    return found
