"""What was said in one entry of a session."""

import json
import time
from typing import Any

import pytest

from noesis.sources.entries import MALFORMED, TOO_DEEP, UNEXPECTED, Entry, Talk, follow, read_entry
from noesis.turns import Turn
from tests.sources.writing import header, message, text

TALK = Talk("s1")


def entry(event: Any) -> Entry:
    found = read_entry(json.dumps(event).encode())
    assert isinstance(found, Entry)
    return found


def turn(event: Any, talk: Talk = TALK) -> Turn | None:
    return follow(entry(event), 7, talk)[0]


def said(event: Any, talk: Talk = TALK) -> Turn:
    found = turn(event, talk)
    assert found is not None
    return found


def test_a_users_text_is_a_turn_with_the_hosts_ids() -> None:
    event = message(3, "user", "Where do we deploy?", timestamp=1795976398799)
    assert said(event) == Turn(
        session_id="s1",
        number=7,
        role="user",
        text="Where do we deploy?",
        entry_id="e3",
        said_at=1795976398799,
    )


def test_text_blocks_are_joined_and_all_others_left_out() -> None:
    blocks = [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "thinking", "thinking": "hm", "text": "secret"},
        {"type": "toolCall", "id": "c", "name": "n", "arguments": {"text": "no"}},
        "two",
        {"type": "text", "text": None},
    ]
    assert said(message(1, "assistant", blocks)).text == "one\ntwo"


@pytest.mark.parametrize("content", ["", "  \n", [], None, [{"type": "toolCall", "id": "c", "name": "n"}]])
def test_nothing_said_is_no_turn(content: Any) -> None:
    assert turn(message(1, "assistant", content)) is None


def test_a_tools_result_has_the_role_tool() -> None:
    event = message(
        1, "toolResult", text("found"), toolName="memory_search", isError=False, details={"count": 1}
    )
    assert said(event).role == "tool"


def test_a_compactions_summary_is_told_by_the_system() -> None:
    event = {
        "type": "compaction",
        "id": "c1",
        "timestamp": "2026-11-29T18:23:12.054Z",
        "summary": "We deploy to x.",
    }
    found = said(event)
    assert (found.role, found.text, found.entry_id) == ("system", "We deploy to x.", "c1")
    assert found.said_at == 1795976592054


@pytest.mark.parametrize(
    "event",
    [
        {"type": "model_change", "provider": "p", "modelId": "m"},
        {"type": "thinking_level_change", "thinkingLevel": "off"},
        {"type": "custom", "customType": "model-snapshot", "data": {"summary": "x"}},
        {"type": "custom_message", "content": "x", "message": {"role": "user", "content": "x"}},
        {"type": "reset", "id": "r", "reason": "reset"},
        {"type": "compaction", "id": "c", "summary": None},
        {"type": "something_new", "summary": "x", "text": "x"},
        message(1, "bashExecution", "ls"),
        {},
    ],
)
def test_other_events_are_ignored(event: Any) -> None:
    assert turn(event) is None


def test_messages_of_the_oldest_versions_have_no_type() -> None:
    assert said({"message": {"role": "user", "content": "hello"}}).text == "hello"


def test_the_session_event_names_the_session() -> None:
    assert follow(entry(header("s9")), 0, TALK) == (None, Talk("s9"))


@pytest.mark.parametrize("id_", ["", None, 5, "x" * 513])
def test_a_session_event_without_a_usable_id_changes_nothing(id_: Any) -> None:
    assert follow(entry(header() | {"id": id_}), 0, TALK) == (None, TALK)


@pytest.mark.parametrize(
    "more",
    [{"provenance": {"kind": "internal_system", "sourceTool": "heartbeat"}}, {}],
)
def test_a_heartbeat_and_what_answers_it_is_internal_until_the_user_speaks(more: dict[str, Any]) -> None:
    talk, internal = TALK, []
    for event in (
        message(1, "user", "hello"),
        message(2, "user", "[OpenClaw heartbeat poll]", **more),
        message(3, "toolResult", text("checked")),
        message(4, "assistant", text("All is well.")),
        message(5, "user", "thanks"),
        message(6, "assistant", text("You are welcome.")),
    ):
        found, talk = follow(entry(event), 0, talk)
        assert found is not None
        internal.append(found.internal)
    assert internal == [False, True, True, True, False, False]


@pytest.mark.parametrize("kind", ["internal_system", "inter_session"])
def test_what_the_host_or_another_session_put_in_is_internal_and_its_answer_is_not(kind: str) -> None:
    asked, talk = follow(entry(message(1, "user", "Reminder", provenance={"kind": kind})), 0, TALK)
    answered, _ = follow(entry(message(2, "assistant", text("Call your mother!"))), 1, talk)
    assert asked is not None
    assert answered is not None
    assert (asked.internal, answered.internal) == (True, False)


def test_what_a_user_said_from_outside_is_not_internal() -> None:
    assert not said(message(1, "user", "hi", provenance={"kind": "external_user"})).internal


@pytest.mark.parametrize(
    ("more", "author"),
    [
        ({}, None),
        ({"senderName": "Alice"}, "Alice"),
        ({"sender": "Alice"}, "Alice"),
        ({"sender": {"displayName": "Alice", "id": 5}}, "Alice"),
        ({"sender": {"id": 5}}, "5"),
        ({"sender": [1], "provenance": {"senderName": "Alice"}}, "Alice"),
        ({"provenance": {"kind": "external_user", "sender": {"name": "Alice"}}}, "Alice"),
        ({"__openclaw": {"senderIsOwner": True, "senderName": "Alice"}}, "Alice"),
        ({"provenance": {"kind": "inter_session", "sourceSessionKey": "agent:ops:main"}}, "agent:ops:main"),
        ({"senderName": "   "}, None),
        ({"senderName": {"name": 7}}, None),
    ],
)
def test_the_author_is_the_sender_where_one_is_named(more: dict[str, Any], author: str | None) -> None:
    assert said(message(1, "user", "hi", **more)).author == author


@pytest.mark.parametrize(
    ("timestamp", "said_at"),
    [
        ("2026-11-29T18:20:13.703Z", 1795976413703),
        ("2026-11-29T19:20:13+01:00", 1795976413000),
        ("2026-11-29T18:20:13", 1795976413000),
        (1795976413703, 1795976413703),
        (1795976413703.4, 1795976413703),
        (1795976413, 1795976413000),
        ("yesterday", None),
        (-5, None),
        (1e300, None),
        ("0001-01-01T00:00:00+14:00", None),
        (None, None),
    ],
)
def test_times_are_iso_seconds_or_milliseconds(timestamp: Any, said_at: int | None) -> None:
    event = message(1, "user", "hi") | {"timestamp": None}
    event["message"]["timestamp"] = timestamp
    assert said(event).said_at == said_at


def test_the_entrys_time_stands_in_for_the_messages() -> None:
    assert said(message(1, "user", "hi")).said_at == 1795976413703


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"type":"message","x":' + b"[" * 200_000 + b"]" * 200_000 + b"}", TOO_DEEP),
        (b"[" * 200_000, UNEXPECTED),
        (b'{"a":' * 200_000, TOO_DEEP),
        (b'{"message":{"content":' + b"[" * 200_000, UNEXPECTED),
        (b'{"timestamp":NaN}', MALFORMED),
        (b'{"timestamp":1e999}', UNEXPECTED),
        (b'{"timestamp":' + b"9" * 5000 + b"}", UNEXPECTED),
        (b'{"message":{"content":"\\ud800"}}', MALFORMED),
        (b'{"message":{"content":{"a":1}}}', UNEXPECTED),
        (b'{"message":{"role":5}}', UNEXPECTED),
        (b'{"type":"mess\x00age"}', MALFORMED),
        (b"\xff{}", MALFORMED),
        (b'{"type":"a"', MALFORMED),
        (b"null", UNEXPECTED),
        (b"not json", MALFORMED),
    ],
)
def test_hostile_json_is_no_entry_and_the_reason_is_told(data: bytes, reason: str) -> None:
    began = time.monotonic()
    assert read_entry(data) == reason
    assert time.monotonic() - began < 2


def test_a_million_keys_nobody_asked_for_are_passed_over() -> None:
    keys = b",".join(b'"k%d":%d' % (number, number) for number in range(1_000_000))
    found = read_entry(b'{"type":"message",' + keys + b',"message":{"role":"user","content":"hi"}}')
    assert isinstance(found, Entry)
    assert follow(found, 0, TALK)[0] is not None


def test_invalid_utf_8_is_replaced_inside_strings() -> None:
    found = read_entry(b'{"message":{"role":"user","content":"caf\xe9 \xf0\x9f\x98 ok"}}')
    assert isinstance(found, Entry)
    turn_, _ = follow(found, 0, TALK)
    assert turn_ is not None
    assert turn_.text == "caf\ufffd \ufffd ok"
