"""Whether a hit is worth its room in a prompt: thresholds by embedding model, in a readable file.

A search always has a best hit, also for a prompt that nothing in the memory has to do with, and its
scores compare within one answer only.  So this goes by two numbers that mean the same in every answer:
the similarity to the prompt, and how much of the prompt's rare words the hit holds.  The thresholds are
measured by `python -m bench.relevance`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

import msgspec

from noesis.ranking.fusion import DEFAULT, file_name

FILE = "relevance.json"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What the thresholds do on the labelled conversations, as shares (0..1).

    Kept of the evidence that a search brings, with vectors and by words alone; prompts that recall
    something: of those that have nothing to do with the memory, and of questions about matters that it
    knows without the answer, which no threshold can tell from the others.
    """

    questions: int
    evidence_kept: float
    evidence_kept_by_words: float
    foreign_recalled: float
    unanswered_recalled: float


class Relevance(msgspec.Struct, frozen=True, kw_only=True):
    """A hit is relevant when similarity (cosine) + `weight` x covered reaches `least`.

    `least_covered` is what it has to cover where there are no vectors, or where nobody `measured` what
    similarity means for the model: 0.5 is near for one and far for another.
    """

    weight: float
    least: float
    least_covered: float
    measured: Measured | None = None

    def holds(self, similarity: float | None, covered: float) -> bool:
        """Whether a hit with these two is relevant; `similarity` None when the search had no vectors."""
        if similarity is None or self.measured is None:
            return covered >= self.least_covered
        return similarity + self.weight * covered >= self.least


@functools.cache
def relevance_of(model: str | None) -> Relevance:
    """The thresholds for vectors of this model; one that was never measured goes by words."""
    known = decode(resources.files(__package__).joinpath("weights").joinpath(FILE).read_bytes())
    by_words = msgspec.structs.replace(known[DEFAULT], measured=None)
    return known.get(file_name(model), by_words) if model is not None else by_words


def decode(data: bytes) -> Mapping[str, Relevance]:
    """The file of thresholds by model.  Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=dict[str, Relevance])
