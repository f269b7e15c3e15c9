"""Reads the YAML block that a Markdown file may begin with, believing nothing it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from typing import TypeVar

import msgspec
import re2
import yaml

from noesis.errors import InvalidInput
from noesis.memory import (
    EARLIEST_MS,
    LATEST_MS,
    MAX_TAGS,
    MemoryType,
    check_priority,
    check_tags,
    check_ttl,
    to_datetime,
)

MAX_BLOCK_CHARS = 8192
MAX_DEPTH = 4
MAX_NODES = 200
"""Limits of a block; what goes beyond them is read as text."""

Value = str | list[str] | None
"""A scalar, a list with its scalars, or anything that no key here can mean."""

T = TypeVar("T")

_FIRST_YEAR, _END_YEAR = to_datetime(EARLIEST_MS).year, to_datetime(LATEST_MS).year
_MARK = "---"
_DAY = re2.compile(r"(\d{4}-\d{2}-\d{2})(?:[Tt ].*)?")
_TTL = re2.compile(r"(\d{1,6}(?:\.\d{1,6})?) *(?:d|days?)?")
_PRIORITY = re2.compile(r"\d{1,3}")
_NOTHING = frozenset({"", "~", "null"})


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """What a block said of its file; None where it said nothing that could be used.

    `ttl_days` may be a fraction, 0 is never.  `warnings` say what was ignored and why; they quote
    nothing of the file.
    """

    tags: tuple[str, ...] = ()
    memory_type: MemoryType | None = None
    priority: int | None = None
    ttl_days: float | None = None
    day: date | None = None
    warnings: tuple[str, ...] = ()


class _Unreadable(Exception):
    """The block is not the plain YAML that is honoured; the message says why."""


def split_front_matter(text: str) -> tuple[FrontMatter, int]:
    """What the block at the start of `text` says, and the offset (characters) at which the body begins.

    A block is YAML between two lines `---`, the first of them the first line; aliases, anchors, tags,
    more than MAX_DEPTH levels and MAX_NODES values are refused.  Without a block, or with one that
    cannot be read, the body is the whole text and begins at 0.
    """
    if text[: len(_MARK)] != _MARK or text[:MAX_BLOCK_CHARS].partition("\n")[0].rstrip() != _MARK:
        return FrontMatter(), 0
    try:
        block, body = _find_block(text)
        entries = _read_entries(block)
    except _Unreadable as reason:
        return FrontMatter(warnings=(f"front matter: {reason}; read as text",)), 0
    return _judge(entries), body


def read_day(value: str) -> date | None:
    """The day that begins an ISO date or time such as 2026-03-02; None unless it is a day of 1970 to 2099."""
    match = _DAY.fullmatch(value.strip())
    if match is None:
        return None
    try:
        day = date.fromisoformat(match.group(1))
    except ValueError:
        return None
    return day if _FIRST_YEAR <= day.year < _END_YEAR else None


def _find_block(text: str) -> tuple[str, int]:
    """The lines between the marks, and where the text after them begins."""
    start = text.index("\n") + 1 if "\n" in text else len(text)
    place = start
    while 0 < place < min(len(text), MAX_BLOCK_CHARS):
        end = text.find("\n", place, place + MAX_BLOCK_CHARS)
        after = end + 1 if end >= 0 else min(len(text), place + MAX_BLOCK_CHARS)
        if text[place:after].rstrip() == _MARK:
            return text[start:place], after
        place = after
    raise _Unreadable(f"no closing line --- within {MAX_BLOCK_CHARS} characters")


def _read_entries(block: str) -> dict[str, Value]:
    """The block's own keys, in lower case, with their values."""
    try:
        return _entries(_checked_events(block))
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise _Unreadable(f"not valid YAML{line}") from None
    except (yaml.YAMLError, UnicodeEncodeError):
        raise _Unreadable("holds a character that YAML does not allow") from None


def _checked_events(block: str) -> Iterator[tuple[yaml.Event, int]]:
    """Each event of the block's one document with the depth at which it stands, from 0."""
    depth = nodes = 0
    for event in yaml.parse(block, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            nodes += 1
            _refuse_references(event)
            if nodes > MAX_NODES:
                raise _Unreadable(f"more than {MAX_NODES} values")
            if depth == 0 and (nodes > 1 or not isinstance(event, yaml.MappingStartEvent)):
                raise _Unreadable("not one list of keys")
        else:
            continue
        yield event, depth
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _Unreadable(f"nested more than {MAX_DEPTH} deep")


def _refuse_references(event: yaml.NodeEvent) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise _Unreadable("anchors and aliases are not allowed")
    if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
        raise _Unreadable("YAML tags are not allowed")


def _entries(events: Iterator[tuple[yaml.Event, int]]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    key: str | None = None
    awaits_value = False
    items: list[str] | None = None  # of the list that is being read for `key`
    for event, depth in events:
        if isinstance(event, yaml.CollectionEndEvent):
            continue
        scalar = event.value.strip() if isinstance(event, yaml.ScalarEvent) else None
        if depth == 1 and not awaits_value:
            key, awaits_value, items = (None if scalar is None else scalar.casefold()), True, None
        elif depth == 1:
            awaits_value = False
            items = [] if isinstance(event, yaml.SequenceStartEvent) else None
            if key is not None:
                found[key] = scalar if items is None else items
        elif depth == 2 and items is not None:
            items.append(scalar or "")
    return found


def _judge(entries: dict[str, Value]) -> FrontMatter:
    """The honoured keys as values; each that is out of its limits leaves a warning instead."""
    warnings: list[str] = []
    return FrontMatter(
        tags=_tags(entries.get("tags"), warnings),
        memory_type=_honoured(entries, ("memory_type", "type"), _memory_type, warnings),
        priority=_honoured(entries, ("priority",), _priority, warnings),
        ttl_days=_honoured(entries, ("ttl_days", "ttl"), _ttl_days, warnings),
        day=_honoured(entries, ("date",), _date, warnings),
        warnings=tuple(warnings),
    )


def _honoured(
    entries: dict[str, Value], keys: tuple[str, ...], read: Callable[[str], T], warnings: list[str]
) -> T | None:
    """The value of the first of `keys` that has a usable one."""
    for key in keys:
        value = entries.get(key, "")
        if isinstance(value, str) and value.casefold() in _NOTHING:
            continue
        try:
            if isinstance(value, str):
                return read(value)
            warnings.append(f"{key}: ignored, not a single value")
        except InvalidInput as error:
            warnings.append(f"{key}: ignored, {error.message}")
    return None


def _memory_type(value: str) -> MemoryType:
    try:
        return MemoryType(value.casefold())
    except ValueError:
        raise InvalidInput(f"it must be one of {', '.join(MemoryType)}.") from None


def _priority(value: str) -> int:
    if _PRIORITY.fullmatch(value) is None:
        raise InvalidInput("it must be a whole number from 0 to 100.")
    return check_priority(int(value))


def _ttl_days(value: str) -> float:
    match = _TTL.fullmatch(value.casefold())
    if match is None:
        raise InvalidInput("it must be a number of days, such as 30 or 30d.")
    return check_ttl(float(match.group(1)))


def _date(value: str) -> date:
    day = read_day(value)
    if day is None:
        raise InvalidInput("it must be a day such as 2026-03-02.")
    return day


def _tags(value: Value, warnings: list[str]) -> tuple[str, ...]:
    """The tags of a list or of a text with commas; a # before one is how some editors write it."""
    if value is None or (isinstance(value, str) and value.casefold() in _NOTHING):
        return ()
    written = value.split(",") if isinstance(value, str) else value
    tags: list[str] = []
    for number, tag in enumerate(written, 1):
        try:
            tags.extend(check_tags([tag.strip().removeprefix("#")]))
        except InvalidInput as error:
            warnings.append(f"tags: number {number} ignored, {error.message}")
    different = tuple(dict.fromkeys(tags))
    if len(different) > MAX_TAGS:
        warnings.append(f"tags: only the first {MAX_TAGS} are taken")
    return different[:MAX_TAGS]
