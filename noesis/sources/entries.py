"""Turns one entry of an OpenClaw session, a line of JSON, into what was said in it.

One shape serves versions 1 to 4: a user's `content` is a string or blocks, ids are short or UUIDs,
and keys nobody asked for are passed over without being kept.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from noesis.memory import EARLIEST_MS, LATEST_MS, MAX_NAME_CHARS
from noesis.sources.lines import decode_text
from noesis.turns import Turn

MALFORMED = "the entry is not valid JSON"
TOO_DEEP = "the entry is nested too deeply"
UNEXPECTED = "the entry does not have the shape of one"

_ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool", "tool": "tool", "system": "system"}
_SUMMARIES = ("compaction", "branch_summary")
_POLLS = ("[OpenClaw heartbeat poll]", "Read HEARTBEAT.md if it exists")
_NOTHING_TO_SAY = "HEARTBEAT_OK"
_NOT_THE_USER = ("internal_system", "inter_session")
# A time below this (1973 in ms) is in seconds.
_FIRST_MS = 100_000_000_000

_Time = int | float | str | None


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Named(msgspec.Struct):
    name: str | None = None
    display_name: str | None = msgspec.field(name="displayName", default=None)
    username: str | None = None
    id: str | int | None = None


class _Provenance(msgspec.Struct, rename="camel"):
    kind: str | None = None
    source_tool: str | None = None
    source_session_key: str | None = None
    sender: msgspec.Raw = msgspec.Raw()
    sender_name: msgspec.Raw = msgspec.Raw()


class _Host(msgspec.Struct, rename="camel"):
    sender: msgspec.Raw = msgspec.Raw()
    sender_name: msgspec.Raw = msgspec.Raw()


class _Message(msgspec.Struct, rename="camel"):
    role: str = ""
    content: str | list[_Block | str] | None = None
    timestamp: _Time = None
    provenance: _Provenance | None = None
    sender: msgspec.Raw = msgspec.Raw()
    sender_name: msgspec.Raw = msgspec.Raw()
    host: _Host | None = msgspec.field(name="__openclaw", default=None)


class Entry(msgspec.Struct):
    """One entry as far as it matters here."""

    type: str = ""
    id: str | int | None = None
    timestamp: _Time = None
    message: _Message | None = None
    summary: str | None = None


class Talk(msgspec.Struct, frozen=True):
    """What is known of a session so far: its id, and whether its last user message was a heartbeat's."""

    session_id: str
    polled: bool = False


_ENTRIES = msgspec.json.Decoder(Entry)
_NAMES = msgspec.json.Decoder(str | _Named)


def read_entry(data: bytes) -> Entry | str:
    """The entry that the JSON `data` (UTF-8) is, or why it is none.

    Bytes that are not UTF-8 are replaced inside strings and make the entry malformed elsewhere.
    """
    try:
        return _decode(data)
    except RecursionError:
        return TOO_DEEP
    except msgspec.ValidationError:
        return UNEXPECTED
    except msgspec.DecodeError:
        return MALFORMED


def follow(entry: Entry, number: int, talk: Talk) -> tuple[Turn | None, Talk]:
    """The turn that `entry` is, None when nothing was said in it, and what is known of the session after it.

    Text blocks are joined by line breaks; pictures, tool calls and thinking are left out.  A heartbeat
    and all that answers it is internal, and so is what the host or another session put in.
    """
    if entry.type == "session":
        named = isinstance(entry.id, str) and 0 < len(entry.id) <= MAX_NAME_CHARS
        return None, Talk(str(entry.id)) if named else talk
    if entry.type in _SUMMARIES and (entry.summary or "").strip():
        return _turn(entry, number, talk, role="system", text=entry.summary or ""), talk
    if entry.message is None or entry.type not in ("message", ""):
        return None, talk
    return _said(entry, entry.message, number, talk)


def _said(entry: Entry, message: _Message, number: int, talk: Talk) -> tuple[Turn | None, Talk]:
    role, text = _ROLES.get(message.role), _text(message)
    if role == "user":
        talk = msgspec.structs.replace(talk, polled=_is_heartbeat(message, text))
    if role is None or not text.strip():
        return None, talk
    turn = _turn(
        entry,
        number,
        talk,
        role=role,
        text=text,
        author=_author(message) if role == "user" else None,
        said_at=_milliseconds(message.timestamp),
        internal=talk.polled or _put_in(message) or text.strip() == _NOTHING_TO_SAY,
    )
    return turn, talk


def _turn(
    entry: Entry,
    number: int,
    talk: Talk,
    *,
    role: str,
    text: str,
    author: str | None = None,
    said_at: int | None = None,
    internal: bool = False,
) -> Turn:
    entry_id = None if entry.id is None else str(entry.id)
    return Turn(
        session_id=talk.session_id,
        number=number,
        role=role,
        text=text,
        entry_id=entry_id if entry_id and len(entry_id) <= MAX_NAME_CHARS else None,
        author=author,
        said_at=_milliseconds(entry.timestamp) if said_at is None else said_at,
        internal=internal,
    )


def _decode(data: bytes) -> Entry:
    try:
        return _ENTRIES.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        text = decode_text(data)
        if "\ufffd" not in text:
            raise
        return _ENTRIES.decode(text)


def _text(message: _Message) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    blocks = (_Block("text", block) if isinstance(block, str) else block for block in message.content)
    return "\n".join(block.text for block in blocks if block.type == "text" and block.text)


def _is_heartbeat(message: _Message, text: str) -> bool:
    tool = message.provenance.source_tool if message.provenance else None
    return text.lstrip().startswith(_POLLS) or (tool == "heartbeat" and _put_in(message))


def _put_in(message: _Message) -> bool:
    return message.provenance is not None and message.provenance.kind in _NOT_THE_USER


def _author(message: _Message) -> str | None:
    """The sender's name, from wherever it stands; of a message from another session, that session's key."""
    places: tuple[_Message | _Provenance | _Host | None, ...] = (message, message.provenance, message.host)
    names = (_name(raw) for place in places if place for raw in (place.sender_name, place.sender))
    other = message.provenance.source_session_key if message.provenance else None
    return next((name[:MAX_NAME_CHARS] for name in (*names, other) if name and name.strip()), None)


def _name(raw: msgspec.Raw) -> str | None:
    try:
        sender = _NAMES.decode(raw) if bytes(raw) else ""
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(sender, str):
        return sender
    return sender.name or sender.display_name or sender.username or (str(sender.id) if sender.id else None)


def _milliseconds(time: _Time) -> int | None:
    """A time as ms since 1970, from ISO 8601 (UTC when it says no zone), seconds or ms; None for a mistake."""
    if isinstance(time, str):
        try:
            when = datetime.fromisoformat(time)
        except ValueError:
            return None
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        milliseconds = (aware - datetime.fromtimestamp(0, UTC)).total_seconds() * 1000
    elif time is None:
        return None
    else:
        milliseconds = time * 1000 if abs(time) < _FIRST_MS else time
    return round(milliseconds) if EARLIEST_MS < milliseconds <= LATEST_MS else None
