"""An explanation as a person reads it."""

from __future__ import annotations

from typing import Any

import pytest

from noesis.dashboard.explaining import Part, notes, parts
from noesis.memory import Explanation
from noesis.ranking.features import GROUPS


def explanation(**values: Any) -> Explanation:
    """Of a hit that both legs brought first, unless told otherwise."""
    usual: dict[str, Any] = {
        "vector_rank": 1,
        "vector_score": 0.8123,
        "keyword_rank": 1,
        "keyword_score": 3.456,
        "neighbour": False,
        "rank": 1,
        "likeness": 0.0,
        "contributions": {},
    }
    return Explanation(**usual | values)


def test_both_legs_come_first_and_the_start_last() -> None:
    added = {"start": -6.0, "words": 0.254, "priority": 0.0, "meaning": -1.5, "recency": 0.5}
    assert parts(explanation(contributions=added)) == (
        Part("meaning", "rank 1, similarity 0.81", "-1.50"),
        Part("words", "rank 1, BM25 3.46", "+0.25"),
        Part("priority", "how important it is", "+0.00"),
        Part("recency", "how new it is", "+0.50"),
        Part("start", "where every memory starts", "-6.00"),
    )


def test_the_lines_add_up_to_what_was_added() -> None:
    added = {name: 0.25 * number for number, name in enumerate([*GROUPS, "start", "priority", "own agent"])}
    lines = parts(explanation(contributions=added))
    assert sum(float(line.added) for line in lines) == pytest.approx(sum(added.values()))
    assert {line.name for line in lines} == set(added)


def test_every_group_of_the_learned_fusion_says_what_was_looked_at() -> None:
    lines = parts(explanation(contributions=dict.fromkeys(GROUPS, 0.0)))
    assert [line.name for line in lines if not line.seen] == []


@pytest.mark.parametrize(
    ("rank", "score", "seen"),
    [
        (3, 0.5, "rank 3, similarity 0.50"),
        (3, None, "rank 3, similarity 0.00"),
        (None, 0.5, "not among its first; similarity 0.50"),
        (None, -0.25, "not among its first; similarity -0.25"),
        (None, 0.0, "did not find it"),
        (None, None, "did not find it"),
    ],
)
def test_what_a_leg_saw_of_it(rank: int | None, score: float | None, seen: str) -> None:
    (meaning, _) = parts(explanation(vector_rank=rank, vector_score=score))
    assert (meaning.seen, meaning.added) == (seen, "+0.00")


def test_reading_an_explanation_leaves_it_as_it_is() -> None:
    given = explanation(contributions={"start": 1.0, "meaning": 2.0})
    assert parts(given) == parts(given)
    assert given.contributions == {"start": 1.0, "meaning": 2.0}


def test_how_it_came_in_and_what_held_it_back_are_noted() -> None:
    assert notes(explanation()) == ("Place 1 by score alone.",)
    assert notes(explanation(rank=7, neighbour=True, likeness=0.934)) == (
        "Place 7 by score alone.",
        "No leg brought it: it stands beside a memory that fits.",
        "Similarity 0.93 to a hit above, for which it was held back.",
    )
    assert len(notes(explanation(likeness=0.59))) == 1
    assert len(notes(explanation(likeness=0.6))) == 2
