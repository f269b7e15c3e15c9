"""Which vectors are near each other: pure numpy, in blocks of bounded size."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

BLOCK = 2048
"""Vectors of one side of a product: 16 MB of cosines at a time."""

NEIGHBOURS = 20
"""Of one memory so many near ones are looked at, the nearest; a crowd of look-alikes has millions of pairs."""


class Near(msgspec.Struct):
    """Pairs of rows (first below second) and their cosines, and how many more there were."""

    first: Places
    second: Places
    cosines: Floats
    left_out: int = 0


def near_rows(vectors: Floats, start: int, threshold: float) -> Near:
    """The pairs of the rows from `start` to `start + BLOCK` with rows behind them, cosine from `threshold` on.

    `vectors` are unit vectors, one a row.  Each row keeps its NEIGHBOURS nearest.
    """
    block = vectors[start : start + BLOCK]
    found = _none()
    for other in range(start, len(vectors), BLOCK):
        cosines = block @ vectors[other : other + BLOCK].T
        if other == start:
            cosines[np.tril_indices(len(block))] = -1.0
        first, second = np.nonzero(cosines >= threshold)
        new = Near(first + start, second + other, cosines[first, second])
        found = _nearest(_joined(found, new))
    return found


def _none() -> Near:
    return Near(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


def _joined(one: Near, other: Near) -> Near:
    return Near(
        np.concatenate((one.first, other.first)),
        np.concatenate((one.second, other.second)),
        np.concatenate((one.cosines, other.cosines)),
        one.left_out + other.left_out,
    )


def _nearest(near: Near) -> Near:
    """The NEIGHBOURS nearest of each first row."""
    order = np.lexsort((near.second, -near.cosines, near.first))
    first = near.first[order]
    if not first.size:
        return near
    starts = np.flatnonzero(np.r_[True, first[1:] != first[:-1]])
    rank = np.arange(first.size) - np.repeat(starts, np.diff(np.r_[starts, first.size]))
    kept = order[rank < NEIGHBOURS]
    return Near(
        near.first[kept],
        near.second[kept],
        near.cosines[kept],
        near.left_out + int(first.size - kept.size),
    )
