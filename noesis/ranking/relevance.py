"""Whether a hit is worth its room in a prompt: thresholds by embedding model, in a readable file.

A search always has a best hit, also for a prompt that nothing in the memory has to do with.  Its
scores compare within one answer only, so this goes by two numbers that mean the same in every answer.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

import msgspec

from noesis.ranking.fusion import DEFAULT, file_name

FILE = "relevance.json"


class Relevance(msgspec.Struct, frozen=True, kw_only=True):
    """The least similarity (cosine) and the least keyword score (BM25) of a hit that is relevant.

    One of the two is enough.  `keyword_alone` is the least keyword score where there are no vectors.
    """

    similarity: float
    keyword: float
    keyword_alone: float

    def holds(self, similarity: float | None, keyword: float | None) -> bool:
        """Whether a hit with these two is relevant; `similarity` None when the search had no vectors."""
        words = keyword or 0.0
        if similarity is None:
            return words >= self.keyword_alone
        return similarity >= self.similarity or words >= self.keyword


@functools.cache
def relevance_of(model: str | None) -> Relevance:
    """The thresholds for vectors of this model; for one that was never measured the default ones."""
    known = decode(resources.files(__package__).joinpath("weights").joinpath(FILE).read_bytes())
    return known.get(file_name(model or DEFAULT), known[DEFAULT])


def decode(data: bytes) -> Mapping[str, Relevance]:
    """The file of thresholds by model.  Raises msgspec.DecodeError."""
    return msgspec.json.decode(data, type=dict[str, Relevance])
