"""Puts overlapping chunks of one file together again and cuts the text at its headings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from noesis.memory import MAX_TEXT_CHARS
from noesis.text.normalise import is_blank

_MOST_OVERLAP_LINES = 200


class Chunk(msgspec.Struct, frozen=True):
    """A stretch of a file: its first and last line, counted from 1, and what they say.

    A line too long for one chunk is cut: then `text` has more lines than the span, or several chunks
    have the same one.  An overlap may start with the end of a line only.
    """

    start: int
    end: int
    text: str


def sections(chunks: Iterable[Chunk]) -> Iterator[str]:
    """The text of a file in sections; `chunks` come in the order of their lines.

    A section ends before a heading of level 1 or 2 outside fences, where lines are missing, and at
    the length a memory can have.
    """
    for stretch in _stretches(chunks):
        yield from _cut(stretch)


def _stretches(chunks: Iterable[Chunk]) -> Iterator[str]:
    """The text between gaps, each line once.  A stretch is cut off once it is far too long."""
    text, last = "", 0
    for chunk in chunks:
        if text and (chunk.start > last + 1 or len(text) > 4 * MAX_TEXT_CHARS):
            yield text
            text = chunk.text
        elif text:
            text += _continuation(text, last, chunk)
        else:
            text = chunk.text
        last = max(last, chunk.end)
    if text:
        yield text


def _continuation(text: str, last: int, chunk: Chunk) -> str:
    """What the chunk adds to the text so far, which ends with line `last`."""
    if chunk.start > last:
        return "\n" + chunk.text
    lines = chunk.text.split("\n")
    known = _known_lines(text, lines, last - chunk.start + 1)
    rest = lines[known:]
    if not rest:
        return ""
    # More lines than the span has left: the first of them goes on with the line the text ends with.
    goes_on = len(rest) > max(chunk.end - last, 0)
    return ("" if goes_on else "\n") + "\n".join(rest)


def _known_lines(text: str, lines: list[str], expected: int) -> int:
    """How many lines at the start of a chunk the text ends with; `expected` after the line numbers."""
    candidates: list[int] = [expected, *range(min(len(lines), _MOST_OVERLAP_LINES), 0, -1)]
    for count in candidates:
        start = "\n".join(lines[:count])
        # Every text ends with nothing: a blank line is only known where the numbers say so.
        if count <= len(lines) and text.endswith(start) and (start or count == expected):
            return count
    return 0


def _cut(text: str) -> Iterator[str]:
    section: list[str] = []
    length = 0
    for line, starts in _lines(text):
        if section and (starts or length + len(line) >= MAX_TEXT_CHARS):
            yield from _whole(section)
            section, length = [], 0
        section.append(line)
        length += len(line) + 1
    yield from _whole(section)


def _whole(lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines).strip("\n")
    if not is_blank(text):
        yield text


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether a section starts with each."""
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        starts = not fence and line.startswith(("# ", "## "))
        if fence:
            fence = "" if bare == fence else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        yield line, starts
