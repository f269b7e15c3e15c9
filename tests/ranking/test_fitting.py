"""Fitting finds what the answers have in common, and the file it is written to says the same."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from noesis.ranking.bm25 import Floats
from noesis.ranking.fitting import Labelled, fit
from noesis.ranking.fusion import DEFAULT, Fusion, Model, Weight, decode, file_name, probability, shipped

NAMES = ("meaning", "words", "length", "asks")
PLANTED = np.array([4.0, 2.0, 0.0, -2.0])


def questions(count: int = 80, *, noise: float = 0.5, seed: int = 1) -> list[Labelled]:
    """Questions of 20 candidates, of which the two with the most planted points answer it."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        values = rng.random((20, len(NAMES)))
        points = values @ PLANTED + rng.normal(scale=noise, size=20)
        made.append(Labelled(values, points >= np.sort(points)[-2]))
    return made


def points_of(model: Model, values: Floats) -> Floats:
    """The model's points, from values rather than from a pool."""
    points = np.full(len(values), model.bias)
    for index, name in enumerate(NAMES):
        if name in model.weights:
            weight = model.weights[name]
            points += weight.weight * (values[:, index] - weight.mean)
    return points


def test_what_the_answers_share_is_recovered() -> None:
    weights = {name: found.weight for name, found in fit(questions(), NAMES).weights.items()}
    assert weights["meaning"] > weights["words"] > 0 > weights["asks"]
    assert weights["meaning"] / weights["words"] == pytest.approx(2, rel=0.3)
    assert abs(weights.get("length", 0.0)) < 0.2 * weights["words"]


def test_a_fitted_model_ranks_questions_it_has_not_seen() -> None:
    model = fit(questions(noise=0.1), NAMES)
    fresh = questions(40, noise=0.1, seed=2)
    first = [each.answers[points_of(model, each.values).argmax()] for each in fresh]
    assert np.mean(first) > 0.8


@pytest.mark.parametrize(("noise", "unanswered"), [(0.5, 0), (3.0, 0), (0.5, 80), (0.0, 0), (0.5, 2000)])
def test_the_mean_probability_is_the_share_of_answers(noise: float, unanswered: int) -> None:
    """Also with hardly any noise, with much of it, and with many questions that nothing answers."""
    asked = questions(noise=noise)
    asked += [Labelled(each.values, np.zeros(20, dtype=bool)) for each in questions(unanswered, seed=3)]
    model = fit(asked, NAMES)
    values = np.concatenate([each.values for each in asked])
    share = float(np.mean(np.concatenate([each.answers for each in asked])))
    assert float(probability(points_of(model, values)).mean()) == pytest.approx(share, rel=0.02)


def test_a_feature_that_never_differs_or_says_nothing_has_no_weight() -> None:
    asked = [Labelled(np.insert(each.values[:, :1], 1, 0.7, axis=1), each.answers) for each in questions()]
    assert set(fit(asked, ("meaning", "words")).weights) == {"meaning"}
    silent = [Labelled(np.full((20, 1), 0.5), each.answers) for each in questions()]
    model = fit(silent, ("meaning",))
    assert model.weights == {}
    assert float(probability(np.array([model.bias]))[0]) == pytest.approx(0.1, rel=0.01)


def test_without_an_answer_there_is_nothing_to_fit() -> None:
    silent = [Labelled(each.values, np.zeros(20, dtype=bool)) for each in questions(3)]
    for asked in ([], silent):
        with pytest.raises(ValueError, match="No question has an answer"):
            fit(asked, NAMES)


def test_what_is_written_is_read_again() -> None:
    fusion = Fusion(fit(questions(), NAMES), fit(questions(seed=2), NAMES), "planted")
    assert decode(msgspec.json.encode(fusion)) == fusion


def test_a_file_with_an_unknown_feature_or_of_another_form_is_refused() -> None:
    good, odd = Model(0.0, {"meaning": Weight(1.0, 0.0)}), Model(0.0, {"mood": Weight(1.0, 0.0)})
    for fusion in (Fusion(odd, good), Fusion(good, odd)):
        with pytest.raises(KeyError, match="mood"):
            decode(msgspec.json.encode(fusion))
    for data in (b"", b"[]", b'{"hybrid": {}}', b'{"hybrid": {"bias": "x", "weights": {}}}'):
        with pytest.raises(msgspec.DecodeError):
            decode(data)


def test_a_model_without_weights_of_its_own_gets_the_default_ones() -> None:
    assert shipped("no such model") == shipped(None) == shipped(DEFAULT)
    assert file_name("Org/Model:v1.5 (x)") == "org-model-v1.5--x-"
