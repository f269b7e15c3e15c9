"""The policy of the vector index: which kind, with what parameters, when it is built, rebuilt or dropped.

Below a number of vectors search is exact; from there on an index picks candidates, which search
scores exactly.  `rq` (IVF_RQ, three bits a dimension) is built in seconds and is the default; `pq`
(IVF_PQ) and `hnsw` (IVF_HNSW_SQ) take minutes for what it does in seconds.  All of them keep
LanceDB's own number of partitions: folding new rows in merges and splits partitions towards it.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec
from lancedb.index import HnswSq, IndexConfig, IvfPq, IvfRq

Kind = Literal["rq", "pq", "hnsw"]
Step = Literal["build", "drop"]

_GROWTH = 4
"""Partitions and code books are trained anew once there are this many times the vectors they learnt from."""
_GROWTH_UNCOVERED = 2
"""The same, when the index covers less than half of the rows: then a build costs little more than a fold."""
_MAX_SEGMENTS: dict[Kind, int] = {"rq": 16, "pq": 64, "hnsw": 64}
"""Each fold may leave a segment of its own, and a search reads them all; only `rq` is cheap to rebuild."""
_WIDTHS = range(2, 17)
"""Dimensions that one code of `pq` stands for, where the wanted number of sub-vectors is not possible."""
_KIND_OF: dict[str, Kind] = {"IvfRq": "rq", "IvfPq": "pq", "IvfHnswSq": "hnsw"}


_RQ_BITS = 3
"""Bits a dimension; with one, 500 candidates had to be scored exactly for what 120 bring with three.  With two
180 found 97 % of the nearest of questions that lie far from all, where three find 99.9 (100,000 vectors)."""


class Depth(msgspec.Struct, frozen=True):
    """How deep a query reads an index: how many partitions, and how many candidates it scores exactly.

    That is `per_hit` times the limit, and `candidates` at least: where topics are smaller than a short list,
    too few candidates miss some of the nearest.
    """

    nprobes: int = 16
    candidates: int = 120
    per_hit: int = 2

    def refine(self, limit: int) -> int:
        """By what factor more candidates are scored than a query brings."""
        return max(self.per_hit, -(-self.candidates // limit))


DEFAULT_DEPTH = Depth()


class IndexPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say: the kind, from how many vectors on, `pq`'s sub-vectors, partitions to read."""

    kind: Kind = "rq"
    min_rows: int = 5000
    sub_vectors: int = 96
    nprobes: int = 16

    @property
    def depth(self) -> Depth:
        """How deep its index is read; the codes of `pq` and `hnsw` are coarser than those of `rq`."""
        return Depth(self.nprobes) if self.kind == "rq" else Depth(self.nprobes, 500, 10)


class Design(msgspec.Struct, frozen=True):
    """An index to build: its kind, for `pq` the number of sub-vectors, for `rq` the bits a dimension."""

    kind: Kind
    sub_vectors: int | None = None
    bits: int | None = None

    def config(self) -> IvfRq | IvfPq | HnswSq:
        """The same in LanceDB's words."""
        if self.kind == "rq":
            return IvfRq(distance_type="cosine", num_bits=_RQ_BITS)
        if self.kind == "pq":
            return IvfPq(distance_type="cosine", num_sub_vectors=self.sub_vectors)
        return HnswSq(distance_type="cosine")


class VectorIndex(msgspec.Struct, frozen=True):
    """An index as it lies in a table; its rows count those without a vector too."""

    kind: str
    sub_vectors: int | None
    bits: int | None
    covered: int
    uncovered: int
    segments: int

    @property
    def is_fragmented(self) -> bool:
        """Whether folding in has left more segments than a search should read."""
        return self.kind in get_args(Kind) and self.segments > _MAX_SEGMENTS[self.kind]  # type: ignore[index]

    def follows(self, design: Design) -> bool:
        """Whether it is what would be built now."""
        mine = Design(self.kind, self.sub_vectors, self.bits)  # type: ignore[arg-type]
        return mine == design


def described(index: IndexConfig) -> VectorIndex:
    """A vector index of LanceDB's list; a kind that is none of ours keeps LanceDB's name."""
    details: dict[str, Any] = index.index_details or {}
    kind = _KIND_OF.get(index.index_type, index.index_type)
    compression: dict[str, Any] = details.get("compression", {})
    return VectorIndex(
        kind=kind,
        sub_vectors=compression.get("num_sub_vectors") if kind == "pq" else None,
        bits=compression.get("num_bits") if kind == "rq" else None,
        covered=index.num_indexed_rows or 0,
        uncovered=index.num_unindexed_rows or 0,
        segments=index.num_segments or 1,
    )


def design_for(policy: IndexPolicy, dimension: int) -> Design:
    """The index to build for vectors of this width (dimensions).

    `rq` packs eight dimensions into a byte and `pq` cuts a vector into equal parts; a width that does
    not allow that gets `hnsw`, which takes any.
    """
    if policy.kind == "rq" and dimension % 8 == 0:
        return Design("rq", bits=_RQ_BITS)
    if policy.kind == "pq" and (parts := sub_vectors_for(dimension, policy.sub_vectors)):
        return Design("pq", parts)
    return Design("hnsw")


def sub_vectors_for(dimension: int, wanted: int) -> int | None:
    """The number of sub-vectors nearest to the wanted one that divides the width, the larger of two.

    Where the wanted one itself does not divide it, parts have 2 to 16 dimensions: shorter ones compress
    nothing, longer ones tell too little.  None if the width has no such divisor.
    """
    if dimension % wanted == 0:
        return wanted
    possible = [dimension // width for width in _WIDTHS if dimension % width == 0]
    return min(possible, key=lambda parts: (abs(parts - wanted), -parts), default=None)


def is_too_few(policy: IndexPolicy, vectors: int) -> bool:
    """Whether an index that exists goes: at half the threshold, so that a table near it keeps what it has."""
    return vectors < policy.min_rows / 2


def has_outgrown(index: VectorIndex, trained: int, vectors: int) -> bool:
    """Whether an index that learnt from `trained` vectors should learn again from so many."""
    if vectors >= _GROWTH * trained:
        return True
    return index.uncovered > index.covered and vectors >= _GROWTH_UNCOVERED * trained
