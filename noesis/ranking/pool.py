"""The candidates of one question as arrays: counts, lengths, vectors, and who stands beside whom."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from noesis.ranking.bm25 import Floats, WordStatistics, bm25, rarity
from noesis.ranking.passages import Passage, Question
from noesis.text.words import fold

Indexes = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

_SAME = 1e-6
"""Values that differ by less are equal: products of float32 vectors are no more exact."""

NEAR_PLACES = 3
"""A neighbour is the nearest stored turn at most so many places away: capture drops turns without content."""


class Signs(NamedTuple):
    """What is read from texts, one entry each: what `TextFacts` counts in words, and its flags as 0 or 1."""

    words: Floats
    self_words: Floats
    asks: Floats
    names_time: Floats
    names_number: Floats


class Pool:
    """Everything the features are computed from.  Arrays have one entry per passage."""

    def __init__(self, question: Question, passages: Sequence[Passage], statistics: WordStatistics) -> None:
        self.question = question
        self.passages = passages
        self.statistics = statistics
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
        width = self._width
        return np.array(
            [passage.vector is not None and len(passage.vector) == width for passage in self.passages],
            dtype=bool,
        )

    @property
    def _width(self) -> int:
        return 0 if self.question.vector is None else len(self.question.vector)

    @cached_property
    def _vectors(self) -> npt.NDArray[np.float32]:
        """The vectors (passages, dimensions), zeros where there is none."""
        found = np.zeros((len(self), self._width), dtype=np.float32)
        for index in np.flatnonzero(self.has_vector).tolist():
            found[index] = self.passages[index].vector
        return found

    @cached_property
    def similarities(self) -> Floats:
        """The cosine similarity of each passage to the question, whichever leg brought it; 0 without a vector."""
        asked = self.question.vector
        if asked is None:
            return np.zeros(len(self))
        # Row by row: a matrix product gives equal vectors values that differ by 1e-7, and ranks are made of these.
        return np.asarray((self._vectors * asked).sum(axis=1), dtype=float)

    @cached_property
    def likeness(self) -> Floats:
        """The cosine similarity of each passage to each other (passages, passages), 0 without a vector.

        All that ranking asks of the vectors of sessions, windows and repeats follows from these
        products; the sums of the vectors themselves take several times as long.
        """
        return np.asarray(self._vectors @ self._vectors.T, dtype=float)

    @cached_property
    def covered(self) -> Floats:
        """How much of the question's rarity the terms of each passage hold, 0..1."""
        total = float(self.rarities.sum())
        held: Floats = ((self.counts > 0) * self.rarities).sum(axis=1)
        return held / total if total > 0 else held

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
    def signs(self) -> Signs:
        """What is read from the passages' texts."""
        facts = [passage.text for passage in self.passages]
        table = np.array(
            [(fact.words, fact.self_words, fact.asks, fact.names_time, fact.names_number) for fact in facts],
            dtype=float,
        ).reshape(-1, 5)
        return Signs(*table.T)

    @cached_property
    def authors(self) -> list[str | None]:
        """The passages' authors, folded."""
        folded: dict[str | None, str | None] = {
            author: None if author is None else fold(author)
            for author in {passage.author for passage in self.passages}
        }
        return [folded[passage.author] for passage in self.passages]

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
    def in_thread(self) -> Floats:
        """1 where a passage stands in a thread, else 0 (threads, passages)."""
        many = int(self.threads.max()) + 1 if len(self) else 0
        return np.asarray(np.arange(many)[:, None] == self.threads, dtype=float)

    @cached_property
    def before(self) -> Indexes:
        """The index of each passage's neighbour before it, -1 where there is none."""
        found = np.full(len(self), -1, dtype=np.intp)
        placed = np.array([index for index, each in enumerate(self.passages) if each.place is not None])
        if not len(placed):
            return found
        place, chunk = np.array([self.passages[index].place for index in placed]).T
        thread = self.threads[placed]
        order = np.lexsort((placed, chunk, place, thread))
        left, right = order[:-1], order[1:]
        beside = (thread[left] == thread[right]) & (place[right] - place[left] <= NEAR_PLACES)
        found[placed[right[beside]]] = placed[left[beside]]
        return found

    @cached_property
    def after(self) -> Indexes:
        """The index of each passage's neighbour after it, -1 where there is none."""
        found = np.full(len(self), -1, dtype=np.intp)
        right = np.flatnonzero(self.before >= 0)
        found[self.before[right]] = right
        return found

    @cached_property
    def named(self) -> str | None:
        """The one author among the candidates whom the question names, folded; None for none or several."""
        found = {
            name
            for name in set(self.authors)
            if name is not None and (name in self.question.words or name.split(" ")[0] in self.question.words)
        }
        return found.pop() if len(found) == 1 else None


def counts_of(passages: Sequence[Passage], terms: Sequence[str]) -> Floats:
    """How often each term stands in each passage (passages, terms)."""
    column = {term: index for index, term in enumerate(terms)}
    held = [[column[term] for term in passage.keyword if term in column] for passage in passages]
    rows = np.repeat(np.arange(len(held)), [len(each) for each in held])
    columns = np.array([each for of_one in held for each in of_one], dtype=np.intp)
    places = rows * len(terms) + columns
    counts = np.bincount(places, minlength=len(held) * len(terms)).astype(float)
    return counts.reshape(len(held), len(terms))


def stretch(values: Floats) -> Floats:
    """Values stretched to 0..1; all equal ones become 1 if positive, else 0."""
    if len(values) == 0:
        return values
    low, high = float(values.min()), float(values.max())
    if high - low < _SAME:
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
