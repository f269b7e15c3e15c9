"""The marks around the memories put into a prompt, and how such a block is taken out of a text again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import msgspec
import re2

MARKER = "noesis-memory"
"""The word that names the block; a text may speak of it freely."""

_ID = re2.compile(r' id="[A-Za-z0-9_-]{8,64}"')
_LONGEST_ATTRIBUTES = 120
# What may stand before an opening line: a quotation's marks.
_BEFORE_OPENING = " \t>"


def opening_line(block_id: str) -> str:
    """The line that opens a block; `block_id` is random, 8 to 64 of A-Z, a-z, 0-9, _ and -."""
    return f'<{MARKER} id="{block_id}">'


def closing_line(block_id: str) -> str:
    """The line that closes it, with the same id, which no stored text can know."""
    return f'</{MARKER} id="{block_id}">'


def cut_recalled(text: str) -> str:
    """`text` without its blocks of recalled memories, lines before and after kept.

    A block goes from a tag to the closing tag with the same id.  A tag that is a line of its own opens
    a block even without one: it ends at the next closing tag without an id, or with the text.  Any
    other mention of the marker stays.  Linear in the text.
    """
    if f"<{MARKER}" not in text:
        return text
    kept: list[str] = []
    done = 0
    for start, end in _blocks(text):
        kept.append(text[done:start])
        done = end
    kept.append(text[done:])
    return "".join(kept)


class _Tag(msgspec.Struct, frozen=True):
    """A tag at [start, end): whether it closes a block, and its attributes as written."""

    start: int
    end: int
    closes: bool
    attributes: str


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    tags = list(_tags(text))
    closings: dict[str, list[int]] = {}
    for tag in tags:
        if tag.closes:
            closings.setdefault(tag.attributes, []).append(tag.end)
    done = 0
    for tag in tags:
        if tag.start < done or tag.closes:
            continue
        end = _end_of(text, tag, closings)
        if end is not None:
            yield tag.start, end
            done = end


def _tags(text: str) -> Iterator[_Tag]:
    """Found by hand: in a long text, every match of a pattern costs as much as reading the text does."""
    place = text.find(MARKER)
    while place >= 0:
        inner = place + len(MARKER)
        end = text.find(">", inner, inner + _LONGEST_ATTRIBUTES)
        attributes = text[inner:end]
        before = text[max(0, place - 2) : place]
        if end >= 0 and before.endswith(("<", "</")) and "<" not in attributes and "\n" not in attributes:
            closes = before == "</"
            yield _Tag(place - 1 - closes, end + 1, closes, attributes)
        place = text.find(MARKER, inner)


def _end_of(text: str, tag: _Tag, closings: dict[str, list[int]]) -> int | None:
    """Where the block that `tag` opens ends; None when it opens none."""
    end = _first_after(tag.end, closings.get(tag.attributes, []))
    if end is not None and _ID.fullmatch(tag.attributes):
        return end
    if not _stands_alone(text, tag.start, tag.end):
        return None
    if end is not None:
        return end
    end = _first_after(tag.end, closings.get("", []))
    return len(text) if end is None else end


def _first_after(place: int, places: list[int]) -> int | None:
    found = bisect_left(places, place)
    return places[found] if found < len(places) else None


def _stands_alone(text: str, start: int, end: int) -> bool:
    line_end = text.find("\n", end, end + 80)
    rest = text[end : line_end if line_end >= 0 else end + 80]
    line_start = text.rfind("\n", max(0, start - 80), start) + 1
    before = text[line_start or max(0, start - 80) : start]
    return not rest.strip() and not before.strip(_BEFORE_OPENING)
