"""BM25 and the statistics it weighs terms by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noesis.ranking.bm25 import WordStatistics, bm25, rarity, statistics_of
from noesis.word_statistics import scaled


def test_the_score_is_the_one_worked_out_by_hand() -> None:
    """Two terms of rarity 2 and 1; the passage has 6 terms where 4 are usual."""
    scores = bm25(np.array([[3.0, 1.0]]), np.array([6.0]), 4.0, np.array([2.0, 1.0]))
    damping = 0.9 * (0.6 + 0.4 * 1.5)
    assert damping == pytest.approx(1.08)
    assert scores[0] == pytest.approx(2 * 3 * 1.9 / (3 + 1.08) + 1 * 1 * 1.9 / (1 + 1.08))
    assert scores[0] == pytest.approx(3.70758, abs=1e-5)


def test_a_repeat_adds_less_than_the_first_and_a_longer_passage_gets_less() -> None:
    lengths, rarities = np.array([4.0, 4.0, 4.0, 8.0]), np.array([1.0])
    once, twice, thrice, long = bm25(np.array([[1.0], [2.0], [3.0], [1.0]]), lengths, 4.0, rarities)
    assert 0 < thrice - twice < twice - once < once
    assert long < once


def test_without_terms_or_passages_there_is_no_score() -> None:
    assert bm25(np.zeros((3, 0)), np.ones(3), 2.0, np.zeros(0)).tolist() == [0, 0, 0]
    assert bm25(np.zeros((0, 2)), np.zeros(0), 0.0, np.ones(2)).tolist() == []


def test_a_mean_length_of_nothing_does_not_divide() -> None:
    assert np.isfinite(bm25(np.array([[1.0]]), np.array([0.0]), 0.0, np.array([1.0]))).all()


def test_what_fewer_texts_hold_is_rarer_and_an_unknown_term_the_rarest() -> None:
    known = WordStatistics(10, 5.0, {"common": 9, "rare": 1, "everywhere": 10})
    found = rarity(["unknown", "rare", "common", "everywhere"], known)
    assert found.tolist() == sorted(found, reverse=True)
    assert found[1] == pytest.approx(math.log(1 + 9.5 / 1.5))
    assert (found > 0).all()


def test_statistics_that_are_behind_still_give_a_rarity_above_nothing() -> None:
    assert rarity(["heron"], WordStatistics(2, 1.0, {"heron": 5}))[0] > 0
    assert rarity(["heron"], WordStatistics(0, 0.0, {}))[0] > 0


def test_a_term_counts_once_for_each_text_it_stands_in() -> None:
    found = statistics_of([["heron", "heron", "wiki"], ["heron"], []])
    assert (found.texts, found.length, dict(found.texts_with)) == (3, 4 / 3, {"heron": 2, "wiki": 1})
    assert statistics_of([]) == WordStatistics(0, 0.0, {})


def test_a_samples_counts_stand_for_all() -> None:
    sample = WordStatistics(4, 2.5, {"heron": 3, "wiki": 1})
    assert scaled(sample, 10) == WordStatistics(10, 2.5, {"heron": 8, "wiki": 2})
    assert scaled(sample, 4) == scaled(sample, 3) == sample
    assert scaled(WordStatistics(0, 0.0, {}), 0) == WordStatistics(0, 0.0, {})
