"""Reads the `conversations.json` of a ChatGPT or a Claude data export into turns, conversation by conversation.

Of ChatGPT's message tree the branch that was last shown is read (`current_node` and its ancestors).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec
import re2

from noesis.errors import InvalidInput
from noesis.sources.foreign.records import Unreadable
from noesis.sources.foreign.splitting import read_elements
from noesis.sources.foreign.values import decode, moment, tidy_name
from noesis.text.normalise import is_blank
from noesis.turns import Turn

MAX_CONVERSATION_BYTES = 16 << 20

_ROLES = frozenset(("user", "assistant", "tool", "system"))
_EVERYONE = (None, "", "all")
# Markers of a citation between private-use characters; the reader of the text sees a footnote there.
_CITATION = re2.compile(r"\x{e200}(?:cite|filecite|navlist)[^\x{e201}]*\x{e201}")


class Conversation(msgspec.Struct, frozen=True):
    """One conversation; its turns carry `id` as their session and are in the order they were said."""

    id: str
    title: str | None
    turns: tuple[Turn, ...]


class _Part(msgspec.Struct, frozen=True):
    text: str | None = None


class _Content(msgspec.Struct, frozen=True):
    parts: list[str | _Part | None] | None = None
    text: str | None = None


class _Author(msgspec.Struct, frozen=True):
    role: str | None = None


class _Metadata(msgspec.Struct, frozen=True):
    is_visually_hidden_from_conversation: bool | None = None
    is_user_system_message: bool | None = None


class _Message(msgspec.Struct, frozen=True):
    id: str | None = None
    author: _Author | None = None
    create_time: str | float | None = None
    content: _Content | None = None
    metadata: _Metadata | None = None
    recipient: str | None = None


class _Node(msgspec.Struct, frozen=True):
    parent: str | None = None
    message: _Message | None = None


class _Block(msgspec.Struct, frozen=True):
    type: str | None = None
    text: str | None = None


class _ChatMessage(msgspec.Struct, frozen=True):
    uuid: str | None = None
    sender: str | None = None
    text: str | None = None
    content: list[_Block] | None = None
    created_at: str | float | None = None


class _Exported(msgspec.Struct, frozen=True):
    id: str | None = None
    conversation_id: str | None = None
    title: str | None = None
    current_node: str | None = None
    mapping: dict[str, _Node] | None = None
    uuid: str | None = None
    name: str | None = None
    chat_messages: list[_ChatMessage] | None = None


def read_chat_export(file: BinaryIO) -> Iterator[Conversation | Unreadable]:
    """The conversations of an export, in the file's order; ChatGPT's and Claude's are told apart one by one.

    Holds one conversation at a time.  Raises InvalidInput when the file is no list of conversations.
    """
    return read_elements(file, _conversation, most=MAX_CONVERSATION_BYTES, keys=("conversations",))


def _conversation(element: bytes) -> Conversation:
    exported = decode(element, _Exported)
    session = tidy_name(exported.conversation_id or exported.id or exported.uuid)
    if session is None:
        raise InvalidInput("It has no id.")
    if exported.mapping is not None:
        turns = tuple(_shown(exported.mapping, exported.current_node, session))
    elif exported.chat_messages is not None:
        turns = tuple(_said(exported.chat_messages, session))
    else:
        raise InvalidInput("It is no conversation of ChatGPT or Claude.")
    return Conversation(session, tidy_name(exported.title or exported.name), turns)


def _shown(mapping: dict[str, _Node], leaf: str | None, session: str) -> Iterator[Turn]:
    for number, message in enumerate(_branch(mapping, leaf)):
        text = "" if message is None else _text_of(message.content)
        if message is None or is_blank(text):
            continue
        yield Turn(
            session_id=session,
            number=number,
            role=_role_of(message),
            text=text,
            entry_id=message.id,
            said_at=moment(message.create_time),
            internal=_is_internal(message.metadata),
        )


def _branch(mapping: dict[str, _Node], leaf: str | None) -> list[_Message | None]:
    """The messages from the root to the leaf; to the newest one when the leaf is not known."""
    key = leaf if leaf in mapping else max(mapping, key=lambda name: _time_of(mapping[name]), default=None)
    seen: dict[str, _Message | None] = {}
    # A damaged tree may run in a circle.
    while key is not None and key in mapping and key not in seen:
        seen[key] = mapping[key].message
        key = mapping[key].parent
    return list(reversed(seen.values()))


def _time_of(node: _Node) -> int:
    return -1 if node.message is None else (moment(node.message.create_time) or 0)


def _text_of(content: _Content | None) -> str:
    if content is None:
        return ""
    parts = [part.text if isinstance(part, _Part) else part for part in content.parts or ()]
    texts = [part for part in (*parts, content.text) if isinstance(part, str) and part]
    return str(_CITATION.sub("", "\n".join(texts)))


def _role_of(message: _Message) -> str:
    """Who speaks; what the assistant sends to a tool is the tool's business, not the user's."""
    role = (message.author or _Author()).role or ""
    if role not in _ROLES or (role == "assistant" and message.recipient not in _EVERYONE):
        return "tool"
    return role


def _is_internal(metadata: _Metadata | None) -> bool:
    return metadata is not None and bool(
        metadata.is_visually_hidden_from_conversation or metadata.is_user_system_message
    )


def _said(messages: list[_ChatMessage], session: str) -> Iterator[Turn]:
    for number, message in enumerate(messages):
        blocks = [block.text for block in message.content or () if block.type == "text" and block.text]
        # `text` repeats the blocks, with a filler where a tool was used; older exports have only `text`.
        text = "\n".join(blocks) or message.text or ""
        if is_blank(text):
            continue
        yield Turn(
            session_id=session,
            number=number,
            role="user" if message.sender == "human" else "assistant",
            text=text,
            entry_id=message.uuid,
            said_at=moment(message.created_at),
        )
