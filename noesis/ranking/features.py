"""What the learned fusion looks at: one number for each candidate and feature, most of them in 0..1.

Sources and effects: neighbours, sessions, windows and turn signs were found to matter on dialogue by
fitting a linear model on labelled conversations; README, Retrieval, has the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from noesis.ranking.bm25 import Floats, bm25, rarities_of, rarity
from noesis.ranking.pool import Indexes, Pool, at, counts_of, lent, shares, stretch
from noesis.text.dates import fit

_NEAR, _FAR = 0.25, 0.5
_EXPANDED_FROM, _EXPANDED_TO = 5, 10
_SESSION_BEST = 5
_LONGEST = 4.5
"""The logarithm of about 90 words: longer texts count as this long."""

_NEWS = 12.0
"""A text says as much as so many words of which nothing else has any; more counts as this much."""

_SELF_WORDS = 3.0


class Surroundings:
    """What several features share: windows, sessions and the terms of the best candidates."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.before2 = _beyond(pool.before)
        self.after2 = _beyond(pool.after)

    @cached_property
    def window_counts(self) -> Floats:
        """Term counts of a passage and the two beside it."""
        pool = self.pool
        return pool.counts + at(pool.counts, pool.before) + at(pool.counts, pool.after)

    @cached_property
    def window_lengths(self) -> Floats:
        """Terms in a passage and the two beside it."""
        pool = self.pool
        return pool.lengths + at(pool.lengths, pool.before) + at(pool.lengths, pool.after)

    @cached_property
    def window_words(self) -> Floats:
        """BM25 of three passages in a row as one text."""
        return self._words_of(self.window_counts, self.window_lengths)

    @cached_property
    def wide_words(self) -> Floats:
        """BM25 of five passages in a row as one text."""
        pool = self.pool
        counts = self.window_counts + at(pool.counts, self.before2) + at(pool.counts, self.after2)
        lengths = self.window_lengths + at(pool.lengths, self.before2) + at(pool.lengths, self.after2)
        return self._words_of(counts, lengths)

    @cached_property
    def window_meaning(self) -> Floats:
        """Similarity of the vectors of three passages, blended."""
        pool = self.pool
        return self._blended({_NEAR: (pool.before, pool.after)})

    @cached_property
    def wide_meaning(self) -> Floats:
        """Similarity of the vectors of five passages, blended."""
        pool = self.pool
        return self._blended({_FAR: (pool.before, pool.after), _NEAR: (self.before2, self.after2)})

    @cached_property
    def session_words(self) -> Floats:
        """BM25 of all candidates of a thread as one text."""
        pool = self.pool
        counts, lengths = pool.in_thread @ pool.counts, pool.in_thread @ pool.lengths
        return self._words_of(counts, lengths)[pool.threads]

    @cached_property
    def session_meaning(self) -> Floats:
        """Similarity of the mean vector of a thread's candidates."""
        pool = self.pool
        dots = pool.in_thread @ pool.similarities
        same = pool.threads[:, None] == pool.threads
        squares: Floats = np.bincount(pool.threads, (pool.likeness * same).sum(axis=1)).astype(float)
        return self._meaning_of(dots[pool.threads], squares[pool.threads])

    @cached_property
    def session_best(self) -> Floats:
        """The best score in a thread."""
        best = np.zeros(len(self.pool))
        np.maximum.at(best, self.pool.threads, self.pool.both)
        return best[self.pool.threads]

    @cached_property
    def session_five(self) -> Floats:
        """The mean of the five best scores in a thread."""
        pool = self.pool
        order = np.lexsort((-pool.both, pool.threads))
        threads = pool.threads[order]
        place = np.arange(len(order)) - np.searchsorted(threads, threads)
        five = order[place < _SESSION_BEST]
        sums = np.bincount(pool.threads[five], pool.both[five], len(pool))
        many = np.bincount(pool.threads[five], minlength=len(pool))
        means: Floats = (sums / np.maximum(many, 1))[pool.threads]
        return means

    @cached_property
    def best(self) -> Indexes:
        """The few best by their own score and their best neighbour's."""
        pool = self.pool
        beside = np.maximum(lent(pool.both, pool.before), lent(pool.both, pool.after))
        return np.argsort(-(pool.both + beside / 2), kind="stable")[:_EXPANDED_FROM]

    @cached_property
    def expansion_words(self) -> Floats:
        """BM25 with the terms that the best candidates share (pseudo relevance feedback, Rocchio 1971)."""
        pool = self.pool
        often: dict[str, int] = {}
        for index in self.best:
            for term in dict.fromkeys(pool.passages[index].text.terms):
                often[term] = often.get(term, 0) + 1
        terms = [term for term in often if term not in pool.terms]
        weights = rarity(terms, pool.statistics) * np.array([often[term] for term in terms], dtype=float)
        chosen = np.argsort(-weights, kind="stable")[:_EXPANDED_TO]
        counts = counts_of(pool.passages, [terms[index] for index in chosen])
        return shares(bm25(counts, pool.lengths, pool.statistics.length, weights[chosen]))

    @cached_property
    def expansion_meaning(self) -> Floats:
        """Similarity to the mean vector of the best candidates."""
        pool = self.pool
        if not pool.has_vector.any():
            return pool.words
        return _filled(pool, stretch(pool.likeness[:, self.best].mean(axis=1)))

    @cached_property
    def rare_share(self) -> Floats:
        """How much of the question's rarity a passage's terms hold."""
        return self._rare_share(self.pool.counts)

    @cached_property
    def window_rare_share(self) -> Floats:
        """How much of the question's rarity three passages in a row hold."""
        return self._rare_share(self.window_counts)

    @cached_property
    def news(self) -> Floats:
        """How much a passage says beside the question's terms: the rarity of its other terms, in rarest ones."""
        pool = self.pool
        asked = set(pool.terms)
        new = [set(passage.text.terms) - asked for passage in pool.passages]
        rarest = float(np.log1p(2 * pool.statistics.texts + 1))
        sums = np.array([sum(rarities_of(each, pool.statistics)) for each in new])
        return np.minimum(sums / rarest, _NEWS) / _NEWS

    @cached_property
    def answered_words(self) -> Floats:
        """BM25 of what stands before a passage, where that asks."""
        pool = self.pool
        return lent(pool.signs.asks * pool.words, pool.before)

    @cached_property
    def answered_meaning(self) -> Floats:
        """Similarity of what stands before a passage, where that asks."""
        pool = self.pool
        return lent(pool.signs.asks * pool.meaning, pool.before)

    def _rare_share(self, counts: Floats) -> Floats:
        total = float(self.pool.rarities.sum())
        held: Floats = ((counts > 0) * self.pool.rarities).sum(axis=1)
        return held / total if total > 0 else held

    def _words_of(self, counts: Floats, lengths: Floats) -> Floats:
        mean = float(lengths.mean()) if len(lengths) else 1.0
        return shares(bm25(counts, lengths, mean, self.pool.rarities))

    def _blended(self, beside: Mapping[float, tuple[Indexes, Indexes]]) -> Floats:
        """Similarity of the sum of each passage's vector and its neighbours', these by their weights."""
        pool = self.pool
        parts = [(1.0, np.arange(len(pool)))]
        parts += [(weight, indexes) for weight, pair in beside.items() for indexes in pair]
        # A neighbour that is missing has the index -1, where the zeros are.
        near, alike = np.pad(pool.similarities, (0, 1)), np.pad(pool.likeness, (0, 1))
        dots = sum((weight * near[indexes] for weight, indexes in parts), np.zeros(len(pool)))
        squares = sum((weight**2 * alike[indexes, indexes] for weight, indexes in parts), np.zeros(len(pool)))
        for (weight, left), (other, right) in combinations(parts, 2):
            squares += 2 * weight * other * alike[left, right]
        return self._meaning_of(dots, squares)

    def _meaning_of(self, dots: Floats, squares: Floats) -> Floats:
        """The similarities of vectors, from their products with the question's and their squared lengths."""
        if self.pool.question.vector is None:
            return self.pool.words
        return _filled(self.pool, stretch(dots / np.maximum(np.sqrt(np.maximum(squares, 0)), 1e-9)))


def _filled(pool: Pool, values: Floats) -> Floats:
    return np.where(pool.has_vector, values, pool.words)


def _beyond(beside: Indexes) -> Indexes:
    return np.where(beside >= 0, beside[np.maximum(beside, 0)], -1)


def _by(pool: Pool, *, named: bool) -> Floats:
    if pool.named is None:
        return np.zeros(len(pool))
    flags = [author is not None and (author == pool.named) is named for author in pool.authors]
    return np.array(flags, dtype=float)


def _rank_share(values: Floats) -> Floats:
    """1 for the best, 1/2 for the second; equals share the better rank."""
    better = len(values) - np.searchsorted(np.sort(values), values, side="right")
    shares: Floats = 1 / (1.0 + better)
    return shares


def _matched_share(pool: Pool) -> Floats:
    found: Floats = (pool.counts > 0).sum(axis=1).astype(float)
    return found / float(max(len(pool.terms), 1))


def _rarest(pool: Pool) -> Floats:
    if not len(pool.rarities):
        return np.zeros(len(pool))
    found: Floats = (pool.counts[:, pool.rarities == pool.rarities.max()] > 0).any(axis=1).astype(float)
    return found


def _phrase(pool: Pool) -> Floats:
    wanted = set(pairwise(pool.question.terms))
    found = np.zeros(len(pool))
    if wanted:
        for index in np.flatnonzero(pool.counts.sum(axis=1) > 1).tolist():
            found[index] = not wanted.isdisjoint(pairwise(pool.passages[index].text.terms))
    return found


def _length(pool: Pool) -> Floats:
    lengths: Floats = np.minimum(np.log1p(pool.signs.words), _LONGEST) / _LONGEST
    return lengths


def _fitting_date(pool: Pool) -> Floats:
    dates = pool.question.dates
    if not dates:
        return np.zeros(len(pool))
    return np.array([fit(dates, passage.created_at) for passage in pool.passages])


def _by_named_of_self(pool: Pool) -> Floats:
    shares: Floats = _by(pool, named=True) * np.minimum(pool.signs.self_words / _SELF_WORDS, 1)
    return shares


Feature = Callable[[Pool, Surroundings], Floats]

FEATURES: dict[str, Feature] = {
    "meaning": lambda pool, _: pool.meaning,
    "meaning_rank": lambda pool, _: _rank_share(pool.meaning),
    "words": lambda pool, _: pool.words,
    "words_rank": lambda pool, _: _rank_share(pool.words),
    "both_rank": lambda pool, _: _rank_share(pool.both),
    "before_meaning": lambda pool, _: lent(pool.meaning, pool.before),
    "before_words": lambda pool, _: lent(pool.words, pool.before),
    "after_meaning": lambda pool, _: lent(pool.meaning, pool.after),
    "after_words": lambda pool, _: lent(pool.words, pool.after),
    "before_before": lambda pool, near: lent(pool.both, near.before2),
    "after_after": lambda pool, near: lent(pool.both, near.after2),
    "best_neighbour": lambda pool, _: np.maximum(lent(pool.both, pool.before), lent(pool.both, pool.after)),
    "window_words": lambda _, near: near.window_words,
    "window_meaning": lambda _, near: near.window_meaning,
    "wide_words": lambda _, near: near.wide_words,
    "wide_meaning": lambda _, near: near.wide_meaning,
    "session_words": lambda _, near: near.session_words,
    "session_meaning": lambda _, near: near.session_meaning,
    "session_best": lambda _, near: near.session_best,
    "session_five": lambda _, near: near.session_five,
    "length": lambda pool, _: _length(pool),
    "asks": lambda pool, _: pool.signs.asks,
    "answers": lambda pool, _: lent(pool.signs.asks, pool.before),
    "before_question": lambda pool, _: lent(pool.signs.asks, pool.after),
    "named_author": lambda pool, _: _by(pool, named=True),
    "other_author": lambda pool, _: _by(pool, named=False),
    "rare_share": lambda _, near: near.rare_share,
    "window_rare_share": lambda _, near: near.window_rare_share,
    "matched_share": lambda pool, _: _matched_share(pool),
    "rarest_term": lambda pool, _: _rarest(pool),
    "phrase": lambda pool, _: _phrase(pool),
    "time_for_when": lambda pool, _: pool.signs.names_time * pool.question.asks_for_time,
    "number_for_how_many": lambda pool, _: pool.signs.names_number * pool.question.asks_for_number,
    "names_time": lambda pool, _: pool.signs.names_time,
    "names_number": lambda pool, _: pool.signs.names_number,
    "expansion_words": lambda _, near: near.expansion_words,
    "expansion_meaning": lambda _, near: near.expansion_meaning,
    "news": lambda _, near: near.news,
    "fitting_date": lambda pool, _: _fitting_date(pool),
    "named_author_of_self": lambda pool, _: _by_named_of_self(pool),
    "answered_words": lambda _, near: near.answered_words,
    "answered_meaning": lambda _, near: near.answered_meaning,
    # Products: what matters only where the other does as well.
    "named_author_words": lambda pool, _: _by(pool, named=True) * pool.words,
    "rare_share_words": lambda pool, near: near.rare_share * pool.words,
    "rare_share_meaning": lambda pool, near: near.rare_share * pool.meaning,
    "length_words": lambda pool, _: _length(pool) * pool.words,
    "length_meaning": lambda pool, _: _length(pool) * pool.meaning,
    "news_words": lambda pool, near: near.news * pool.words,
    "news_meaning": lambda pool, near: near.news * pool.meaning,
}
"""Each feature's name and how it is computed; the weights' file names the ones that count."""


GROUPS: dict[str, tuple[str, ...]] = {
    "meaning": (
        "meaning",
        "meaning_rank",
        "expansion_meaning",
        "rare_share_meaning",
        "length_meaning",
        "news_meaning",
    ),
    "words": (
        "words",
        "words_rank",
        "rare_share",
        "matched_share",
        "rarest_term",
        "phrase",
        "expansion_words",
        "rare_share_words",
        "length_words",
        "news_words",
    ),
    "both": ("both_rank",),
    "neighbours": (
        "before_meaning",
        "before_words",
        "after_meaning",
        "after_words",
        "before_before",
        "after_after",
        "best_neighbour",
        "window_words",
        "window_meaning",
        "window_rare_share",
        "wide_words",
        "wide_meaning",
        "answers",
        "before_question",
        "answered_words",
        "answered_meaning",
    ),
    "session": ("session_words", "session_meaning", "session_best", "session_five"),
    "speaker": ("named_author", "other_author", "named_author_of_self", "named_author_words"),
    "form": (
        "length",
        "news",
        "asks",
        "fitting_date",
        "names_time",
        "names_number",
        "time_for_when",
        "number_for_how_many",
    ),
}
"""The features in the words in which a person is told of them."""


def features(pool: Pool, names: tuple[str, ...] = tuple(FEATURES)) -> Floats:
    """The features of every passage (passages, names)."""
    near = Surroundings(pool)
    if not len(pool):
        return np.zeros((0, len(names)))
    return np.stack([FEATURES[name](pool, near) for name in names], axis=1)
