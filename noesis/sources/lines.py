"""Reads the lines of a file that may still grow, holding no more than one line's cap at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

PIECE_BYTES = 65_536
MAX_LINE_BYTES = 1_048_576
"""The longest line that is read, without its end; longer ones are skipped."""

TOO_LONG = "the line is too long"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Source(Protocol):
    """What lines are read from: a binary file, or a stream that is inflated."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class Place(msgspec.Struct, frozen=True):
    """Where reading goes on: the byte, and the number of the line that starts or goes on there.

    `inside` says that this line has been dealt with and what is left of it is passed over.
    """

    offset: int = 0
    number: int = 0
    inside: bool = False


class Line(msgspec.Struct, frozen=True):
    """One line without its end; `torn` when the file ends before the line does."""

    number: int
    offset: int
    data: bytes
    torn: bool = False


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that was not read, and why; `offset` is None where entries are rows of a database."""

    reason: str
    number: int
    offset: int | None = None
    session_id: str | None = None


def read_lines(
    source: Source, place: Place | None = None, *, most: int = MAX_LINE_BYTES, finished: bool = False
) -> Iterator[tuple[Place, Line | Skipped]]:
    r"""The lines of `source`, which stands at `place.offset`, each with the place behind it.

    Lines end with \n, \r\n or \r.  Empty ones count but are not given; a byte order mark at the start
    of the file is dropped.  A line longer than `most` bytes is a Skipped, given as soon as that is
    known.  A last line without an end is left for the next time, unless the file is `finished`; so is a
    \r at the end, whose \n may be still to come.  However a file's growth is cut into passes, each of
    which starts at the place the one before reached, the lines and their numbers are the same.
    """
    place, rest = place or Place(), b""
    while piece := source.read(PIECE_BYTES):
        ended, rest = _cut(rest + piece)
        for raw in ended:
            place, item = _take(place, raw, most)
            if item is not None:
                yield place, item
        body = rest.removesuffix(b"\r")
        if len(body) > most:
            known, number = place.inside, place.number
            skipped = Skipped(reason=TOO_LONG, number=number, offset=place.offset)
            place, rest = Place(place.offset + len(body), number, inside=True), rest[len(body) :]
            if not known:
                yield place, skipped
    if finished and not place.inside and rest.strip():
        yield _take_torn(place, rest)


def decode_text(data: bytes) -> str:
    """The text of a line; bytes that are not UTF-8 become U+FFFD and leave those around them alone."""
    return data.decode("utf-8", errors="replace")


def _cut(data: bytes) -> tuple[list[bytes], bytes]:
    r"""The lines whose end is certain, ends included, and what follows; a last \r may be half an end."""
    lines = data.splitlines(keepends=True)
    rest = b"" if not lines or lines[-1].endswith(b"\n") else lines.pop()
    return lines, rest


def _take(place: Place, raw: bytes, most: int) -> tuple[Place, Line | Skipped | None]:
    behind = Place(place.offset + len(raw), place.number + 1)
    if place.inside:
        return behind, None
    line = _line(place, raw.rstrip(b"\r\n"))
    if len(line.data) > most:
        return behind, Skipped(reason=TOO_LONG, number=line.number, offset=line.offset)
    return behind, line if line.data.strip() else None


def _take_torn(place: Place, rest: bytes) -> tuple[Place, Line]:
    r"""A last line; its number is not used up, so that an end which comes after all does not count twice."""
    body = rest.removesuffix(b"\r")
    behind = Place(place.offset + len(body), place.number, inside=True)
    return behind, _line(place, body, torn=body == rest)


def _line(place: Place, body: bytes, *, torn: bool = False) -> Line:
    data = body if place.offset else body.removeprefix(_BYTE_ORDER_MARK)
    return Line(place.number, place.offset + len(body) - len(data), data, torn)
