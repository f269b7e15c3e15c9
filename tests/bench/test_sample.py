"""Generated memories: the same every time, like real ones where it matters."""

from __future__ import annotations

import numpy as np

from bench.sample import Sample


def test_the_same_seed_gives_the_same_memories() -> None:
    one, two, other = Sample(50), Sample(50), Sample(50, seed=8)
    assert [one.memory(index) for index in range(50)] == [two.memory(index) for index in range(50)]
    assert one.text(0) != other.text(0)
    assert one.questions(5) == two.questions(5)


def test_questions_differ_and_use_words_of_a_memory() -> None:
    sample = Sample(80)
    questions = sample.questions(60)
    texts = [set(sample.text(index).split()) for index in range(80)]
    asked = [set(question.rstrip("?").split(" about ")[1].split()) for question in questions]
    assert len(set(questions)) == 60
    assert all(any(words <= text for text in texts) for words in asked)


def test_questions_asked_for_later_are_others() -> None:
    sample = Sample(500)
    assert set(sample.questions(20)).isdisjoint(sample.questions(20))


def test_vectors_are_unit_vectors_in_clusters() -> None:
    vectors = np.concatenate(list(Sample(400).vectors(64, batch=150)))
    cosines = vectors @ vectors.T
    assert vectors.shape == (400, 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    assert np.median(np.sort(cosines, axis=1)[:, -20:]) > 0.5 > np.median(cosines)
