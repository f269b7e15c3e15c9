"""Conversations in one form, whichever data they come from."""

from __future__ import annotations

import msgspec

from bench import talks
from tests.bench.test_locomo import TALKS


def test_a_text_is_spoken_by_its_author() -> None:
    first = talks.from_locomo(TALKS, None)[0].entries[0]
    assert (first.id, first.spoken) == ("D1:1", "Ben: Morning! Did the garden survive the frost?")


def test_time_is_that_of_the_turn() -> None:
    entry = talks.from_locomo(TALKS, 1)[0].entries[1]
    assert entry.body["created_at"] == "2025-03-03T09:05:02+00:00"
    assert entry.created_at == 1740992702


def test_every_question_of_this_repository_is_answered_by_its_talk() -> None:
    for talk in talks.own(None):
        ids = {entry.id for entry in talk.entries}
        assert len(ids) == len(talk.entries), talk.name
        assert all(question.gold and question.gold <= ids for question in talk.questions), talk.name


def test_questions_that_nothing_answers_are_left_out() -> None:
    raw = [msgspec.json.decode(path.read_bytes()) for path in sorted(talks.OWN.glob("*.json"))]
    answered = [sum(asked["kind"] != "none" for asked in talk["questions"]) for talk in raw]
    assert [len(talk.questions) for talk in talks.own(None)] == answered
    assert sum(answered) < sum(len(talk["questions"]) for talk in raw)


def test_only_the_first_conversations_are_read_when_so_asked() -> None:
    assert talks.own(2) == talks.own(None)[:2]


def test_a_body_holds_what_the_memory_has() -> None:
    by_name = {talk.name: talk for talk in talks.own(None)}
    assert by_name["book-club"].entries[0].body | {"text": ""} == {
        "text": "",
        "ttl_days": 0,
        "memory_type": "session",
        "created_at": "2025-01-12T19:05:00+00:00",
        "position": 1,
        "author": "Odile",
        "author_role": "user",
        "session_id": "book-club-2025-01-12",
    }
    assert all(None not in entry.body.values() for talk in by_name.values() for entry in talk.entries)
