"""Passages and pools without a store, by hand and as hypothesis draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from noesis.ranking.bm25 import WordStatistics, statistics_of
from noesis.ranking.passages import Passage, Vector, facts_of, question_of
from noesis.ranking.pool import Pool

WIDTH = 4
NOTHING_KNOWN = WordStatistics(0, 0.0, {})


def unit(*values: float) -> Vector:
    """A unit vector in this direction."""
    vector = np.array(values, dtype=np.float32)
    length: Vector = vector / np.linalg.norm(vector)
    return length


EAST, NORTH, WEST = unit(1, 0, 0, 0), unit(0, 1, 0, 0), unit(-1, 0, 0, 0)


def passage(text: str = "", **values: Any) -> Passage:
    """A passage that stands alone, unless told otherwise."""
    facts = facts_of(text)
    usual: dict[str, Any] = {
        "row_id": "row",
        "memory_id": "memory",
        "agent": "alpha",
        "thread": None,
        "place": None,
        "author": None,
        "created_at": 0,
        "priority": 50,
        "keyword": facts.terms,
        "text": facts,
    }
    return Passage(**usual | values)


def turns(
    *texts: str, places: Sequence[int] | None = None, thread: str = "s", **values: Any
) -> list[Passage]:
    """The turns of a session, in a row or at these places."""
    numbers = places or range(len(texts))
    return [
        passage(text, thread=thread, place=(place, 0), **values)
        for text, place in zip(texts, numbers, strict=True)
    ]


def pool_of(
    query: str,
    passages: Sequence[Passage],
    vector: Vector | None = None,
    statistics: WordStatistics | None = None,
) -> Pool:
    """The pool of a question."""
    known = statistics or statistics_of([each.keyword for each in passages])
    return Pool(question_of(query, vector), passages, known)


_WORDS = st.sampled_from(["heron", "badger", "wiki", "Zoë's", "1999", "three", "yesterday", "the", "?", "鷺"])
_TEXTS = st.lists(_WORDS, max_size=8).map(" ".join)
vectors = (
    st.none()
    | st.sampled_from([EAST, NORTH, WEST])
    | st.builds(unit, st.floats(0.1, 1), st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
)
passages = st.builds(
    passage,
    _TEXTS,
    thread=st.sampled_from([None, "s", "t"]),
    place=st.none() | st.tuples(st.integers(0, 12), st.integers(0, 2)),
    author=st.sampled_from([None, "Zoë", "Max Frisch"]),
    created_at=st.integers(0, 10**12),
    priority=st.integers(0, 100),
    vector=vectors,
)
"""Some with a place but no thread, which no store has: the arithmetic has to bear them all the same."""

_QUESTIONS = st.lists(_WORDS | st.sampled_from(["when", "how many", "Max"]), max_size=6).map(" ".join)
pools = st.builds(
    pool_of,
    _QUESTIONS,
    st.lists(passages, max_size=9) | passages.map(lambda one: [one] * 4),
    vectors,
    st.sampled_from([None, NOTHING_KNOWN]),
)
