"""Reading LoCoMo's format, its faults included."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.locomo import FILE_NAME, Conversation, evidence_ids, find, load

TALKS = Path(__file__).parents[1] / "data/bench/talks.json"


@pytest.fixture
def talks() -> list[Conversation]:
    return load(TALKS)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (["D1:3"], {"D1:3"}),
        (["D1:3", "D2:14"], {"D1:3", "D2:14"}),
        (["D8:6; D9:17"], {"D8:6", "D9:17"}),
        (["D9:1 D4:4 D4:6"], {"D9:1", "D4:4", "D4:6"}),
        (["D:11:26"], {"D11:26"}),
        (["D30:05"], {"D30:5"}),
        (["D1:18", "D", "D1:20"], {"D1:18", "D1:20"}),
        (["D1:3", "D1:3"], {"D1:3"}),
        ([], set()),
    ],
)
def test_evidence_is_read_however_it_is_written(evidence: list[str], expected: set[str]) -> None:
    assert evidence_ids(evidence) == expected


def test_questions_without_usable_evidence_are_left_out(talks: list[Conversation]) -> None:
    assert [len(talk.questions) for talk in talks] == [3, 2]
    assert [sorted(question.gold) for question in talks[0].questions] == [
        ["D1:2"],
        ["D2:1", "D2:2"],
        ["D2:3"],
    ]


def test_turns_come_in_order_with_their_place_and_time(talks: list[Conversation]) -> None:
    turns = talks[0].turns
    assert [turn.dia_id for turn in turns] == ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D2:3"]
    assert (turns[3].session, turns[3].number, turns[3].speaker) == (2, 1, "Ben")
    assert turns[3].session_began == datetime(2025, 4, 21, 22, 40, tzinfo=UTC)


def test_a_photo_is_told_by_its_caption(talks: list[Conversation]) -> None:
    assert talks[0].turns[5].text == "Look what I bought. [photo: a green bicycle leaning on a wall]"


def test_only_the_first_conversations_are_read_when_so_asked() -> None:
    assert [talk.name for talk in load(TALKS, 1)] == ["talk-1"]


def test_the_file_is_the_named_one(tmp_path: Path) -> None:
    named = tmp_path / "mine.json"
    named.touch()
    assert find({"NOESIS_BENCH_LOCOMO": str(named)}, tmp_path) == named
    assert find({"NOESIS_BENCH_LOCOMO": str(tmp_path / "absent.json")}, tmp_path) is None


def test_without_a_name_the_file_is_looked_for_here_and_next_door(tmp_path: Path) -> None:
    here, next_door = tmp_path / "here", tmp_path / "next_door"
    assert find({}, here) is None
    for place in (next_door, here):
        (place / "data").mkdir(parents=True)
        (place / "data" / FILE_NAME).touch()
        assert find({}, here) == place / "data" / FILE_NAME
