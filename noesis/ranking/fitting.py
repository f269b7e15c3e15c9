"""Fit the learned fusion on labelled questions: a listwise softmax (Cao et al. 2007), then a calibration."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.ranking.bm25 import Floats
from noesis.ranking.fusion import Model, Weight

RIDGE = 0.05
"""Pull of the weights towards zero, on standardised features; found by cross-validation."""

_STEPS = 30
_ENOUGH = 1e-6
_SMALLEST = 0.02
"""A feature that moves the points by less than this per standard deviation is left out."""

_HARDEST = 40
"""So many of a question's candidates decide what is shown: telling apart the many that a first fit puts
far behind took weight from what tells these apart.
"""


class Labelled(msgspec.Struct, frozen=True):
    """One question: the features of its candidates (candidates, names) and which of them answer it."""

    values: Floats
    answers: npt.NDArray[np.bool_]


def fit(questions: Sequence[Labelled], names: Sequence[str], ridge: float = RIDGE) -> Model:
    """The model that ranks the answers of these questions best, its points calibrated as log odds.

    Raises ValueError when no question has an answer among its candidates.
    """
    answered = [each for each in questions if each.answers.any()]
    if not answered:
        raise ValueError("No question has an answer among its candidates.")
    every = np.concatenate([each.values for each in answered])
    mean, spread = every.mean(axis=0), every.std(axis=0)
    spread = np.where(spread < 1e-9, np.inf, spread)
    standard = [Labelled((each.values - mean) / spread, each.answers) for each in answered]
    first = _listwise(standard, ridge)
    weights = _telling([_hardest(each, first) for each in standard], ridge)
    scale, bias = _calibration(questions, mean, spread, weights)
    return Model(
        bias=round(bias, 4),
        weights={
            name: Weight(round(float(scale * weight / width), 4), round(float(middle), 4))
            for name, weight, width, middle in zip(names, weights, spread, mean, strict=True)
            if weight
        },
    )


def _hardest(question: Labelled, weights: Floats) -> Labelled:
    """The answers and the candidates that are best by these weights."""
    kept = question.answers.copy()
    kept[np.argsort(-(question.values @ weights), kind="stable")[:_HARDEST]] = True
    return Labelled(question.values[kept], question.answers[kept])


def _telling(questions: Sequence[Labelled], ridge: float) -> Floats:
    """The weights without the smallest ones; the others are fitted again, to do without those."""
    weights = _listwise(questions, ridge)
    kept = np.abs(weights) >= _SMALLEST
    weights[~kept] = 0.0
    if kept.any():
        weights[kept] = _listwise([Labelled(each.values[:, kept], each.answers) for each in questions], ridge)
    return weights


def _listwise(questions: Sequence[Labelled], ridge: float) -> Floats:
    """Newton's method on the mean cross entropy between the answers and a softmax over the candidates."""
    width = questions[0].values.shape[1]
    weights = np.zeros(width)
    loss, slope, curve = _loss(questions, weights, ridge)
    for _ in range(_STEPS):
        step = np.linalg.solve(curve, slope)
        size = 1.0
        while True:
            tried = _loss(questions, weights - size * step, ridge)
            if tried[0] <= loss or size < 1e-4:
                break
            size /= 2
        weights = weights - size * step
        gained = loss - tried[0]
        loss, slope, curve = tried
        if gained < _ENOUGH:
            break
    return weights


def _loss(questions: Sequence[Labelled], weights: Floats, ridge: float) -> tuple[float, Floats, Floats]:
    """The loss, its gradient and its Hessian."""
    loss = ridge * float(weights @ weights)
    slope = 2 * ridge * weights
    curve = 2 * ridge * np.eye(len(weights))
    for each in questions:
        wanted = each.answers / each.answers.sum()
        points = each.values @ weights
        points -= points.max()
        chances = np.exp(points)
        total = chances.sum()
        chances /= total
        loss -= float(wanted @ (points - np.log(total))) / len(questions)
        slope += each.values.T @ (chances - wanted) / len(questions)
        mean = chances @ each.values
        curve += ((each.values * chances[:, None]).T @ each.values - np.outer(mean, mean)) / len(questions)
    return loss, slope, curve


def _calibration(
    questions: Sequence[Labelled], mean: Floats, spread: Floats, weights: Floats
) -> tuple[float, float]:
    """Scale and offset that turn points into log odds (Platt 1999); unanswered questions count as well."""
    points = np.concatenate([((each.values - mean) / spread) @ weights for each in questions])
    answers = np.concatenate([each.answers for each in questions]).astype(float)
    inputs = np.stack([points, np.ones(len(points))], axis=1)
    found = np.array([1.0, -3.0])
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-np.clip(inputs @ found, -40, 40)))
        slope = inputs.T @ (chances - answers)
        curve = (inputs * (chances * (1 - chances))[:, None]).T @ inputs + 1e-6 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < _ENOUGH:
            break
    return float(found[0]), float(found[1])
