"""The messages of a turn as a host hands them over, and the turns they are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.memory import MAX_NAME_CHARS
from noesis.sources.entries import Talk, follow, read_entry
from noesis.turns import Turn

LARGEST_NUMBER = 2**52


class Block(msgspec.Struct, frozen=True):
    """One part of a message's content; only what is of the type `text` is read."""

    type: str = ""
    text: str | None = None


class Provenance(msgspec.Struct, frozen=True, rename="camel"):
    """Where a message comes from when no person wrote it: the host, or another session."""

    kind: str | None = None
    source_tool: str | None = None
    source_session_key: str | None = None


class Message(msgspec.Struct, frozen=True):
    """A message in the host's own shape; keys that are not named here are passed over.

    `role` is user, assistant, toolResult, tool or system; `timestamp` is in ms or ISO 8601.  `entry_id`
    and `seq` are the id and the number of the transcript's entry, where the host knows them.
    """

    role: str
    content: str | list[Block | str] | None = None
    timestamp: int | float | str | None = None
    entry_id: str | None = None
    seq: int | None = None
    author: str | None = None
    provenance: Provenance | None = None


def turns_of(
    session_id: str, messages: Sequence[Message], *, first: int, is_heartbeat: bool = False
) -> list[Turn]:
    """What was said in these messages, in order; tool calls, pictures and thinking are left out.

    A message without a `seq` is numbered after the one before it, the first one with `first`.
    """
    talk = Talk(session_id)
    number = first - 1
    turns = []
    for message in messages:
        given = message.seq is not None and 0 <= message.seq <= LARGEST_NUMBER
        number = int(message.seq or 0) if given else number + 1
        turn, talk = _turn(message, number, talk)
        if turn is not None:
            turns.append(msgspec.structs.replace(turn, internal=turn.internal or is_heartbeat))
    return turns


def _turn(message: Message, number: int, talk: Talk) -> tuple[Turn | None, Talk]:
    """Read by the rules for the transcripts' entries, so that both ways give the same turn."""
    content = {
        "role": message.role,
        "content": message.content,
        "timestamp": message.timestamp,
        "provenance": message.provenance,
        "senderName": (message.author or "")[:MAX_NAME_CHARS],
    }
    entry = read_entry(
        msgspec.json.encode({"type": "message", "id": message.entry_id or None, "message": content})
    )
    return (None, talk) if isinstance(entry, str) else follow(entry, number, talk)
