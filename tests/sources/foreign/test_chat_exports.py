"""ChatGPT's and Claude's exports become turns."""

from __future__ import annotations

import io
import json

import pytest

from noesis.errors import InvalidInput
from noesis.sources.foreign.chat_exports import MAX_CONVERSATION_BYTES, Conversation, read_chat_export
from noesis.sources.foreign.records import Unreadable
from noesis.turns import Turn
from tests.sources.foreign.samples import CANARY, HOSTILE, SAMPLES


def read(name: str) -> list[Conversation | Unreadable]:
    with (SAMPLES / name).open("rb") as file:
        return list(read_chat_export(file))


def test_chatgpt_the_branch_that_was_shown_is_read() -> None:
    first, _ = read("chatgpt-conversations.json")
    assert isinstance(first, Conversation)
    assert (first.id, first.title) == ("conv-1", 'Rye bread "plan"')
    assert [(turn.number, turn.role, turn.text) for turn in first.turns] == [
        (2, "user", "About me: I bake."),
        (3, "user", "How much rye for 40 loaves?"),
        (4, "tool", "print(40 * 0.6)"),
        (5, "tool", "24.0"),
        (6, "assistant", "24 kg of rye flour."),
    ]
    assert first.turns[1] == Turn(
        session_id="conv-1",
        number=3,
        role="user",
        text="How much rye for 40 loaves?",
        entry_id="n1",
        said_at=1_735_689_601_000,
    )
    assert [turn.internal for turn in first.turns] == [True, False, False, False, False]


def test_chatgpt_a_tree_that_runs_in_a_circle_ends() -> None:
    _, second = read("chatgpt-conversations.json")
    assert isinstance(second, Conversation)
    assert second.title is None
    assert [turn.text for turn in second.turns] == ["first", "second"]


def test_chatgpt_a_turn_keeps_its_number_when_the_conversation_grows() -> None:
    nodes = {f"n{i}": {"parent": f"n{i - 1}", "message": message(f"text {i}")} for i in range(6)}
    numbers = []
    for length in (3, 6):
        shown = {"id": "c", "current_node": f"n{length - 1}", "mapping": dict(list(nodes.items())[:length])}
        (conversation,) = read_chat_export(io.BytesIO(json.dumps([shown]).encode()))
        assert isinstance(conversation, Conversation)
        numbers.append([(turn.number, turn.text) for turn in conversation.turns])
    assert numbers[1][:3] == numbers[0]


def test_chatgpt_a_long_conversation_is_no_recursion() -> None:
    nodes = {f"n{i}": {"parent": f"n{i - 1}", "message": message("hm")} for i in range(5_000)}
    data = json.dumps([{"id": "c", "current_node": "n4999", "mapping": nodes}]).encode()
    (conversation,) = read_chat_export(io.BytesIO(data))
    assert isinstance(conversation, Conversation)
    assert len(conversation.turns) == 5_000


def message(text: str) -> dict[str, object]:
    return {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}


def test_claude_blocks_are_read_and_tools_are_not() -> None:
    (conversation,) = read("claude-conversations.json")
    assert isinstance(conversation, Conversation)
    assert (conversation.id, conversation.title) == ("cl-1", "Oven repair")
    assert [(turn.number, turn.role, turn.text) for turn in conversation.turns] == [
        (0, "user", "The oven stops at 180 °C."),
        (1, "assistant", "Replace the sensor,\nthen calibrate."),
        (3, "user", "Thanks, done."),
    ]
    assert conversation.turns[0].said_at == 1_769_932_801_500
    assert conversation.turns[0].entry_id == "m1"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_conversation_fails_alone(name: str) -> None:
    good = json.dumps({"uuid": "u", "chat_messages": [{"sender": "human", "text": "hello"}]}).encode()
    before, bad, after = read_chat_export(io.BytesIO(b"[" + b",".join((good, HOSTILE[name], good)) + b"]"))
    assert (
        before
        == after
        == Conversation("u", None, (Turn(session_id="u", number=0, role="user", text="hello"),))
    )
    assert isinstance(bad, Unreadable)
    assert CANARY not in bad.reason


def test_a_conversation_over_the_limit_fails_alone() -> None:
    long = b'{"uuid": "u", "name": "' + b"a" * MAX_CONVERSATION_BYTES + b'"}'
    bad, good = read_chat_export(io.BytesIO(b"[" + long + b', {"uuid": "v", "chat_messages": []}]'))
    assert bad == Unreadable("entry 1", "It has more than 16,777,216 bytes.")
    assert good == Conversation("v", None, ())


def test_another_list_is_unreadable_entry_by_entry() -> None:
    assert list(read_chat_export(io.BytesIO(b'[{"id": "x"}, {"mapping": {}}]'))) == [
        Unreadable("entry 1", "It is no conversation of ChatGPT or Claude."),
        Unreadable("entry 2", "It has no id."),
    ]


def test_no_list_is_refused() -> None:
    with pytest.raises(InvalidInput):
        list(read_chat_export(io.BytesIO(b'{"user": {"id": 1}}')))
