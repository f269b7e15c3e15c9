"""The learned fusion: a linear model whose weights are a readable file."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

import msgspec
import numpy as np

from noesis.ranking.bm25 import Floats
from noesis.ranking.features import FEATURES, features
from noesis.ranking.pool import Pool

DEFAULT = "default"
"""The weights that were fitted with the built-in embedder."""


class Weight(msgspec.Struct, frozen=True):
    """What a feature counts: points per unit above `mean`, its mean over the candidates it was fitted on."""

    weight: float
    mean: float


class Model(msgspec.Struct, frozen=True):
    """A fitted fusion: points of a candidate are `bias` + the sum of weight x (feature - mean)."""

    bias: float
    weights: Mapping[str, Weight]

    def points(self, pool: Pool) -> dict[str, Floats]:
        """What each feature adds to each candidate."""
        names = tuple(self.weights)
        values = features(pool, names)
        return {
            name: self.weights[name].weight * (values[:, index] - self.weights[name].mean)
            for index, name in enumerate(names)
        }


class Fusion(msgspec.Struct, frozen=True):
    """The models of one embedder: with vectors, and for a search that has none."""

    hybrid: Model
    keyword: Model
    fitted_on: str = ""


def decode(data: bytes) -> Fusion:
    """A weights file.  Raises msgspec.DecodeError, and KeyError for a feature there is not."""
    fusion = msgspec.json.decode(data, type=Fusion)
    for model in (fusion.hybrid, fusion.keyword):
        for name in model.weights:
            FEATURES[name]
    return fusion


@functools.cache
def shipped(model: str | None = None) -> Fusion:
    """The weights that come with the product for vectors of this model; for any other the default ones."""
    folder = resources.files(__package__).joinpath("weights")
    own = folder.joinpath(f"{file_name(model)}.json") if model is not None else None
    found = own if own is not None and own.is_file() else folder.joinpath(f"{DEFAULT}.json")
    return decode(found.read_bytes())


def file_name(model: str) -> str:
    """What the weights of a model are called: its name, with a dash for what a file's name should not hold."""
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in model.lower())


def probability(points: Floats) -> Floats:
    """Points as the model's estimate (0..1) that a memory helps to answer."""
    return 1 / (1 + np.exp(-np.clip(points, -40, 40)))
