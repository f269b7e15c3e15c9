"""Single values of foreign formats, brought into the form the domain takes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TypeVar

import msgspec
import re2

from noesis.errors import InvalidInput
from noesis.memory import EARLIEST_MS, LATEST_MS, MAX_NAME_CHARS, MAX_TAG_CHARS, MAX_TAGS, MemoryType
from noesis.text.normalise import agent_name, clean_text, is_blank

T = TypeVar("T")

_DEPTH = "It is nested too deeply."
_NOT_JSON = "It is not valid JSON, or has a number out of range."
_FIELD = re2.compile(r" - at `\$\.([a-z_]+)[^`]*`$")
_INVISIBLE = re2.compile(r"[\x00-\x1f\x7f-\x{9f}]+")
_DATE = re2.compile(r"(?:^|[^0-9])([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[^0-9]|$)")
_LONGEST_VALUE = 4096
# Later than this in seconds would be the year 5138; such a number counts milliseconds.
_FIRST_MS = 1e11

_TYPES = {
    **{kind.value: kind for kind in MemoryType},
    "decisions": MemoryType.DECISION,
    "preferences": MemoryType.PREFERENCE,
    "facts": MemoryType.FACT,
    "note": MemoryType.FACT,
}


def decode(data: bytes, kind: type[T]) -> T:
    """`data` as JSON of that shape.  Raises InvalidInput, whose message holds nothing of the data.

    Takes no more memory than the fields of `kind` need: what it does not name is skipped.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise InvalidInput(_DEPTH) from None
    except msgspec.ValidationError as error:
        field = _FIELD.search(str(error))
        if field is None:
            raise InvalidInput(_NOT_JSON) from None
        raise InvalidInput(f"{field[1]} has a value of the wrong kind.", field=field[1]) from None
    except msgspec.DecodeError:
        raise InvalidInput(_NOT_JSON) from None


def short_text(raw: msgspec.Raw) -> str | None:
    """The string that an optional field holds; None when it holds anything else or a very long one."""
    data = bytes(raw)
    if not 2 < len(data) <= _LONGEST_VALUE:
        return None
    try:
        return msgspec.json.decode(data, type=str)
    except msgspec.DecodeError:
        return None


def moment(value: str | float | None) -> int | None:
    """Ms since 1970 of ISO 8601 (UTC where no zone is given), seconds or ms; None for what is no such time."""
    ms = _written(value) if isinstance(value, str) else _counted(value)
    return round(ms) if ms is not None and EARLIEST_MS <= ms < LATEST_MS else None


def _written(value: str) -> float | None:
    try:
        time = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000


def _counted(value: float | None) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    return value if value >= _FIRST_MS else value * 1000


def date_in(name: str) -> int | None:
    """The day a file's name starts from (`2026-03-02-plan.md`), as ms since 1970 at 0:00 UTC."""
    found = _DATE.search(name)
    return moment(found[1]) if found else None


def tidy_name(value: str | None) -> str | None:
    """A source, session or author that will pass: one visible line of at most 512 characters; None when empty."""
    if value is None:
        return None
    name = _INVISIBLE.sub(" ", clean_text(value)).strip()
    return name[:MAX_NAME_CHARS].strip() or None


def tidy_tags(values: Iterable[str | None]) -> tuple[str, ...]:
    """Tags that will pass: an odd one must not cost the memory, so each is trimmed or left out."""
    tags: dict[str, None] = {}
    for value in values:
        tag = _INVISIBLE.sub(" ", clean_text((value or "")[:_LONGEST_VALUE])).strip()[:MAX_TAG_CHARS].strip()
        if tag:
            tags[tag] = None
        if len(tags) == MAX_TAGS:
            break
    return tuple(tags)


def agent_of(raw: str | None) -> str | None:
    """The agent of that name; None when Noesis has no such names."""
    try:
        return None if raw is None else agent_name(raw.strip())
    except InvalidInput:
        return None


def type_of(raw: str | None, otherwise: MemoryType) -> MemoryType:
    """The memory type that another program's word for it means."""
    return _TYPES.get((raw or "").strip().lower(), otherwise)


def clamp_priority(value: int | None) -> int | None:
    """The nearest priority there is."""
    return None if value is None else min(max(value, 0), 100)


def require_text(value: str | None, field: str) -> str:
    """The value, or InvalidInput when there is nothing to remember in it."""
    if value is None or is_blank(value):
        raise InvalidInput(f"{field} is missing or blank.", field=field)
    return value
