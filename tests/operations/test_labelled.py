"""Labelled conversations: what is read, and that a mistake is told with its file and place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noesis.benchmark.labelled import SHIPPED, read
from noesis.errors import InvalidInput
from noesis.memory import MemoryType

TALK: dict[str, Any] = {
    "name": "garden",
    "memories": [
        {"id": "m1", "text": "The quince is ripe.", "created_at": "2025-01-12T19:05:00Z", "position": 1},
        {"id": "m2", "text": "The frost took the figs.", "created_at": "2025-01-13T08:00:00+01:00"},
    ],
    "questions": [
        {"question": "What took the figs?", "kind": "single", "evidence": ["m2"]},
        {"question": "Who dug the pond?", "evidence": []},
    ],
}

Edit = Callable[[dict[str, Any]], object]


def written(path: Path, *edits: Edit) -> Path:
    """A file of the conversation after these edits."""
    talk = copy.deepcopy(TALK)
    for edit in edits:
        edit(talk)
    path.write_text(json.dumps(talk), encoding="utf-8")
    return path


def test_a_file_is_one_conversation(tmp_path: Path) -> None:
    (talk,) = read(written(tmp_path / "a.json"))
    assert (talk.name, len(talk.memories), len(talk.questions)) == ("garden", 2, 2)
    assert talk.questions[0].evidence == ("m2",)
    new = talk.memories[1].new()
    assert (new.memory_type, new.ttl_days, new.created_at) == (MemoryType.FACT, 0, 1_736_751_600_000)


def test_a_folder_is_all_its_files_in_order(tmp_path: Path) -> None:
    written(tmp_path / "b.json", lambda talk: talk.update(name="second"))
    written(tmp_path / "a.json")
    assert [talk.name for talk in read(tmp_path)] == ["garden", "second"]


def test_the_shipped_set_is_valid_and_each_kind_has_many_questions() -> None:
    talks = read(SHIPPED)
    kinds = [question.kind for talk in talks for question in talk.questions if question.evidence]
    assert len(talks) >= 20
    assert all(kinds.count(kind) >= 50 for kind in set(kinds))


WRONG: dict[str, tuple[Edit, str]] = {
    "an id twice": (
        lambda t: t["memories"][1].update(id="m1"),
        "memories[1].id: memories[0] has the same id",
    ),
    "evidence there is not": (
        lambda t: t["questions"][0].update(evidence=["m2", "m9"]),
        "questions[0].evidence[1]: there is no memory 'm9'",
    ),
    "a time without a zone": (
        lambda t: t["memories"][0].update(created_at="2025-01-12T19:05:00"),
        "memories[0]: created_at needs a time zone",
    ),
    "no time at all": (lambda t: t["memories"][0].update(created_at="noon"), "memories[0]: Invalid RFC3339"),
    "a time of long ago": (
        lambda t: t["memories"][0].update(created_at="1920-01-12T19:05:00Z"),
        "memories[0]: created_at must lie between",
    ),
    "an unknown type": (lambda t: t["memories"][1].update(memory_type="rumour"), "memories[1]: Invalid enum"),
    "an unknown field": (
        lambda t: t["memories"][1].update(mood="good"),
        "memories[1]: Object contains unknown",
    ),
    "a missing field": (lambda t: t["questions"][1].pop("evidence"), "questions[1]: Object missing required"),
    "a blank text": (lambda t: t["memories"][0].update(text=" \n"), "memories[0]: text must not be"),
    "a blank question": (lambda t: t["questions"][1].update(question=""), "questions[1].question: must not"),
    "a negative position": (lambda t: t["memories"][0].update(position=-1), "memories[0]: position must"),
    "an unknown role": (
        lambda t: t["memories"][0].update(author_role="king"),
        "memories[0]: author_role must",
    ),
    "no questions": (lambda t: t.pop("questions"), "the file: Object missing required field `questions`"),
    "nothing to ask": (lambda t: t["questions"].pop(0), "no question names a memory"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_told_with_its_file_and_place(mistake: str, tmp_path: Path) -> None:
    edit, told = WRONG[mistake]
    file = written(tmp_path / "wrong.json", edit)
    with pytest.raises(InvalidInput) as error:
        read(file)
    assert error.value.message.startswith(f"{file}: {told}")
    assert "quince" not in error.value.message


def test_what_is_no_json_is_told(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    for content in (b'{"name": "garden",', b"\xff\xfe"):
        file.write_bytes(content)
        with pytest.raises(InvalidInput, match=r"wrong\.json: the file: "):
            read(file)


def test_two_conversations_of_one_name_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "a.json")
    written(tmp_path / "b.json")
    with pytest.raises(InvalidInput, match=r"b\.json: name: a\.json has the same"):
        read(tmp_path)


def test_nothing_to_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no \\*\\.json file"):
        read(tmp_path)
    with pytest.raises(InvalidInput, match=r"absent\.json: cannot be read"):
        read(tmp_path / "absent.json")
