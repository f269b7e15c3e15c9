"""Cutting texts, estimating tokens, and the checks on vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noesis.embedding import EmbeddingFailure
from noesis.embedding.vectors import average, join_windows, unit_vector
from noesis.embedding.windows import clean_text, estimate_tokens, split_text, window_spans
from noesis.errors import EmbedderMismatch


@given(st.integers(0, 3000), st.integers(16, 256), st.integers(0, 12))
def test_spans_cover_everything_and_overlap(count: int, size: int, overlap: int) -> None:
    spans = window_spans(count, size, overlap)
    assert spans[0][0] == 0
    assert spans[-1][1] == count
    assert all(end - start <= size for start, end in spans)
    for (_, end), (start, _) in pairwise(spans):
        assert end - start >= overlap


def test_the_last_window_is_no_stub() -> None:
    assert {end - start for start, end in window_spans(257, 256, 32)} == {256}


@given(st.text(min_size=1, max_size=400), st.integers(4, 60), st.integers(0, 3))
def test_pieces_cover_every_character_in_order_within_the_limit(text: str, limit: int, overlap: int) -> None:
    pieces = split_text(text, limit, overlap)
    assert all(estimate_tokens(piece) <= limit for piece in pieces)
    reached = 0
    for piece in pieces:
        starts = [at for at in range(reached + 1) if text.startswith(piece, at)]
        assert starts, "no gap before a piece"
        reached = max(at + len(piece) for at in starts)
    assert reached == len(text)


def test_pieces_end_between_words() -> None:
    pieces = split_text("alpha beta gamma delta " * 50, 20, 4)
    assert len(pieces) > 10
    assert all(piece.endswith(" ") for piece in pieces[:-1])


def test_pieces_overlap() -> None:
    words = [f"w{i}" for i in range(300)]
    pieces = split_text(" ".join(words), 60, 12)
    for one, following in pairwise(pieces):
        assert set(one.split()[-3:]) & set(following.split())


def test_dense_text_counts_more_than_prose() -> None:
    assert estimate_tokens("3141592653") == 10
    assert estimate_tokens("記憶") == 2
    assert estimate_tokens("abcdefghi") == 3
    assert estimate_tokens("😀") == 3
    assert estimate_tokens("") == 0


def test_lone_surrogates_and_nul_are_replaced_and_pairs_survive() -> None:
    assert clean_text("a\ud800b\0c") == "a\ufffdb c"
    assert clean_text("👩‍👧 ok") == "👩‍👧 ok"


def test_a_norm_that_is_off_is_put_right() -> None:
    vector = unit_vector([3.0, 4.0], 2)
    assert isinstance(vector, np.ndarray)
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(
    "raw", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1e300, 1.0], [1e-300, 0.0]], ids=str
)
def test_a_vector_without_a_direction_is_a_passing_failure(raw: list[float]) -> None:
    result = unit_vector(raw, 2)
    assert isinstance(result, EmbeddingFailure)
    assert not result.permanent


@pytest.mark.parametrize("raw", [[1.0], [1.0, 0.0, 0.0], [], [[1.0, 0.0]]])
def test_another_width_is_a_mismatch(raw: list[float]) -> None:
    with pytest.raises(EmbedderMismatch):
        unit_vector(raw, 2)


def test_windows_are_averaged_by_weight_and_normalised() -> None:
    x, y = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)
    joined = average([x, y], [3, 1])
    assert isinstance(joined, np.ndarray)
    np.testing.assert_allclose(joined, np.array([3, 1]) / np.sqrt(10), rtol=1e-6)


def test_opposite_windows_cancel_out_to_a_failure() -> None:
    x = np.array([1, 0], dtype=np.float32)
    assert isinstance(average([x, -x], [1, 1]), EmbeddingFailure)


def test_a_failed_window_fails_its_text() -> None:
    failure = EmbeddingFailure("no", permanent=False)
    assert join_windows([np.array([1, 0], dtype=np.float32), failure], [1, 1]) is failure
