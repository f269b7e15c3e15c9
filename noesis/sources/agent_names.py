"""Gives every agent of a host a name of ours, and finds the host's id again from that name.

A host's id that is a valid name already stays as it is.  Any other is written in full behind `x--`:
lower-case letters, digits and hyphens stand for themselves, every other byte of its UTF-8 form is
`_` and two hex digits, and a profile comes first, parted by `__`, which no escaped text holds.
What would be longer than a name may be becomes `h--` and a SHA-256 instead: still one name per id,
but only a list of known ids leads back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import re2

_PLAIN = re2.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-")
_ESCAPED = re2.compile(r"(?:[a-z0-9-]|_[0-9a-f]{2})*")
_WRITTEN_OUT = "x--"
_HASHED = "h--"
_BETWEEN = "__"
_MAX_CHARS = 64

_HOST_INVALID = re2.compile(r"[^a-z0-9_-]+")
_HOST_DEFAULT = "main"


def agent_name(host_id: str, profile: str | None = None) -> str:
    """The agent that the host's `host_id` is in our words; two different (id, profile) never share one."""
    taken = host_id.startswith((_WRITTEN_OUT, _HASHED))
    if profile is None and not taken and _PLAIN.fullmatch(host_id):
        return host_id
    parts = (host_id,) if profile is None else (profile, host_id)
    written = _BETWEEN.join(map(_escape, parts))
    name = _WRITTEN_OUT + written
    return name if len(name) <= _MAX_CHARS else _HASHED + hashlib.sha256(written.encode()).hexdigest()[:60]


def host_id_of(name: str) -> tuple[str, str | None] | None:
    """The (id, profile) that `agent_name` made `name` of; None for a hashed name and for what is none."""
    if not name.startswith(_WRITTEN_OUT):
        return (name, None) if _PLAIN.fullmatch(name) and not name.startswith(_HASHED) else None
    parts = name.removeprefix(_WRITTEN_OUT).split(_BETWEEN)
    if len(parts) > 2 or not all(_ESCAPED.fullmatch(part) for part in parts):
        return None
    try:
        *profile, host_id = map(_unescape, parts)
    except UnicodeDecodeError:
        return None
    found = (host_id, profile[0] if profile else None)
    return found if agent_name(*found) == name else None


def find_host_id(name: str, known: Iterable[tuple[str, str | None]]) -> tuple[str, str | None] | None:
    """The (id, profile) of `name`, hashed names too, given the ones the host has; None when it is not there."""
    return host_id_of(name) or next((one for one in known if agent_name(*one) == name), None)


def id_in_config(written: str) -> str:
    """The id the host makes of one written in its configuration, which is what it names its folders by.

    OpenClaw ignores case, puts one hyphen in the place of characters an id cannot have, drops hyphens
    at both ends, keeps 64 characters and falls back to `main`.
    """
    lowered = written.strip().lower()
    if _PLAIN.fullmatch(lowered):
        return lowered
    return str(_HOST_INVALID.sub("-", lowered)).strip("-")[:_MAX_CHARS] or _HOST_DEFAULT


def _escape(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _KEPT else f"_{byte:02x}" for byte in data)


def _unescape(text: str) -> str:
    first, *others = text.split("_")
    data = first.encode() + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in others)
    return data.decode("utf-8", "surrogatepass")
