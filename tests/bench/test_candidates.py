"""Where evidence is lost: what counts as brought by which leg."""

from __future__ import annotations

from typing import Any

import pytest

from bench import candidates


def hit(dia_id: str, vector_rank: int | None, keyword_rank: int | None) -> dict[str, Any]:
    return {"dia_id": dia_id, "explanation": {"vector_rank": vector_rank, "keyword_rank": keyword_rank}}


@pytest.fixture
def question() -> dict[str, Any]:
    others = [hit(f"D9:{number}", number, None) for number in range(3, 12)]
    hits = [hit("D1:5", 1, 2), *others, hit("D2:8", None, 1)]
    return {"category": 1, "gold": ["D1:5", "D1:6", "D2:8", "D7:1"], "hits": hits}


def test_each_stage_holds_what_it_brings(question: dict[str, Any]) -> None:
    shares = {name: candidates.share([question], found) for name, found in candidates.COLUMNS.items()}
    assert shares == {
        "first 10": 0.25,
        "vector leg": 0.25,
        "keyword leg": 0.5,
        "both legs": 0.5,
        "and neighbours": 0.75,
    }


def test_neighbours_are_the_turns_before_and_after() -> None:
    assert candidates.neighbours("D12:9") == ("D12:8", "D12:10")


def test_the_table_shows_only_categories_that_were_asked(question: dict[str, Any]) -> None:
    lines = candidates.table([question]).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["all", "1 several turns"]
