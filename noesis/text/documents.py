"""Cuts a Markdown file into sections, each of which can be a memory of its own."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from datetime import date

import msgspec
import numpy as np
import re2

from noesis.memory import MemoryType
from noesis.text.characters import codes_of, is_cjk, mask_of
from noesis.text.front_matter import FrontMatter, read_day, split_front_matter
from noesis.text.headings import Heading, find_headings

LEAST_WORDS = 25
MOST_WORDS = 400
"""A section of fewer words is merged where it may be; so many words are merged into one at most."""

# What a heading says of the text below it, by its words in lower case.
_DECISIONS = """
    decision decisions decided entscheidung entscheidungen entschieden beschluss beschlüsse
"""
_PREFERENCES = """
    preference preferences likes dislikes präferenz präferenzen vorliebe vorlieben abneigung abneigungen
"""
# "Open decisions" are none yet.
_UNSETTLED = """
    no not open pending undecided todo upcoming
    kein keine nicht offen offene offener offenen ausstehend ausstehende
"""
_TYPES = {
    **dict.fromkeys(_DECISIONS.split(), MemoryType.DECISION),
    **dict.fromkeys(_PREFERENCES.split(), MemoryType.PREFERENCE),
}
_SILENCING = frozenset(_UNSETTLED.split())
_LONGEST_GUESSED = 6

_DAILY = re2.compile(r"(?is)(?:.*[/\\])?(\d{4}-\d{2}-\d{2})(?:[-_ ][^/\\]*)?\.(?:md|markdown)")
_RULES = "-*_="


class Section(msgspec.Struct, frozen=True):
    """A part of a file: `text == file[start:start + len(text)]`, offset in characters of the whole file.

    `heading` is the title that its text begins with, empty for text before the first heading;
    `heading_path` are the titles above it, outermost first; `number` counts from 0.
    """

    heading_path: tuple[str, ...]
    heading: str
    text: str
    start: int
    number: int


class Document(msgspec.Struct, frozen=True):
    """A file as it was read; `day` is the day its front matter or its name speaks of."""

    sections: tuple[Section, ...]
    front: FrontMatter
    day: date | None


def read_document(
    name: str, text: str, least_words: int = LEAST_WORDS, most_words: int = MOST_WORDS
) -> Document:
    """The sections of a file called `name`, in order.

    A section is a heading with what follows until the next heading.  One of under `least_words` words
    joins the heading above it, until `most_words` have joined; a small introduction takes in the first
    heading below it; small neighbours of one level join until they are big enough.  What is a decision
    by its heading joins only decisions, and so on.  Text before the first heading is a section; a
    heading with nothing but rules below it is none.
    """
    front, body = split_front_matter(text)
    pieces = _pieces(text, body)
    sections: list[Section] = []
    for group in _groups(pieces, least_words, most_words):
        if group.filled:
            sections.append(_section(text, group.pieces, len(sections)))
    return Document(tuple(sections), front, front.day or day_of_name(name))


def day_of_name(name: str) -> date | None:
    """The day of a daily note: `2026-03-02.md` or `2026-03-02-slug.md`, in any folder; None for others."""
    match = _DAILY.fullmatch(name)
    return read_day(match.group(1)) if match else None


def memory_type_of(section: Section, name: str, front: FrontMatter | None = None) -> MemoryType:
    """What kind of memory a section of the file `name` is; a guess unless the front matter says it.

    ============================================================ ==========
    the heading, or else the nearest above it, has the word      type
    ============================================================ ==========
    decision(s), decided, Entscheidung(en), Beschluss            decision
    preference(s), likes, dislikes, Vorliebe(n), Präferenz(en)   preference
    none, and the file is a daily note                           context
    none, and it is any other (MEMORY.md, USER.md)               fact
    ============================================================ ==========

    A heading says nothing when it speaks of what is open or pending, or is longer than 6 words and
    does not begin with the word.
    """
    if front is not None and front.memory_type is not None:
        return front.memory_type
    for title in (section.heading, *reversed(section.heading_path)):
        if guess := _type_of_title(title):
            return guess
    return MemoryType.FACT if day_of_name(name) is None else MemoryType.CONTEXT


def _type_of_title(title: str) -> MemoryType | None:
    composed = unicodedata.normalize("NFC", title).casefold()
    spoken = "".join(char if char.isalnum() else " " for char in composed).split()
    if not _SILENCING.isdisjoint(spoken):
        return None
    if len(spoken) > _LONGEST_GUESSED:
        spoken = spoken[:1]
    return next((_TYPES[word] for word in spoken if word in _TYPES), None)


class _Piece(msgspec.Struct):
    """A heading with what follows until the next one; `whole` counts the words of what is nested, too."""

    start: int
    end: int
    level: int  # 0 for the text before the first heading
    title: str
    path: tuple[str, ...]
    guess: MemoryType | None
    filled: bool
    words: int
    whole: int = 0


def _pieces(text: str, body: int) -> list[_Piece]:
    measure = _Measure(text)
    headings = find_headings(text[body:])
    first = body + headings[0].start if headings else len(text)
    pieces = [_preamble(text, body, first, measure)]
    above: list[_Piece] = []
    for number, heading in enumerate(headings):
        last = number + 1 == len(headings)
        end = len(text) if last else body + headings[number + 1].start
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(_piece(body, heading, end, above[-1] if above else None, measure))
        pieces.append(above[-1])
    _sum_words(pieces)
    return pieces


def _preamble(text: str, start: int, end: int, measure: _Measure) -> _Piece:
    blank = end - start - len(text[start:end].lstrip())
    start = max(start, text.rfind("\n", start, start + blank) + 1)
    count, filled = measure.of(start, end)
    return _Piece(start, end, 0, "", (), None, filled, count)


def _piece(body: int, heading: Heading, end: int, parent: _Piece | None, measure: _Measure) -> _Piece:
    guess = _type_of_title(heading.title)
    count, filled = measure.of(body + heading.end, end)
    return _Piece(
        start=body + heading.start,
        end=end,
        level=heading.level,
        title=heading.title,
        path=(*parent.path, parent.title) if parent else (),
        guess=guess or (parent.guess if parent else None),
        filled=filled,
        words=count,
    )


class _Measure:
    """Counts words as the chunker does: what stands between spaces, and each Chinese or Japanese character."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Counted once for the whole text, as a text may have very many small parts.
        self._cjk = None if text.isascii() else np.cumsum(mask_of(codes_of(text), is_cjk), dtype=np.int64)

    def of(self, start: int, end: int) -> tuple[int, bool]:
        """The words of [start, end), and whether there is anything but blanks and rules."""
        found = self._text[start:end].split()
        filled = any(word.strip(_RULES) for word in found)
        if self._cjk is None or not found:
            return len(found), filled
        before = int(self._cjk[start - 1]) if start else 0
        return len(found) + int(self._cjk[end - 1]) - before, filled


def _sum_words(pieces: list[_Piece]) -> None:
    sums = [0] * 8  # of the pieces after this one, by level, until one that is not below it
    for piece in reversed(pieces):
        piece.whole = piece.words + sum(sums[piece.level + 1 :])
        sums[piece.level + 1 :] = [0] * (7 - piece.level)
        sums[piece.level] += piece.whole


def _groups(pieces: list[_Piece], least: int, most: int) -> Iterator[_Group]:
    """The pieces in order, those that become one section together."""
    group = _Group(pieces[0])
    for piece in pieces[1:]:
        if not group.takes(piece, least, most):
            yield group
            group = _Group(piece)
    yield group


class _Group:
    """Pieces that become one section."""

    def __init__(self, first: _Piece) -> None:
        self.pieces = [first]
        self.filled = first.filled
        self._level = first.level
        self._words = first.words
        self._nested = 0  # words that came with small pieces below the first

    def takes(self, piece: _Piece, least: int, most: int) -> bool:
        """Whether `piece`, the next one, joins; if so it has joined."""
        if not self._level or piece.guess is not self.pieces[0].guess or piece.level < self._level:
            return False
        small = piece.whole < least
        wanting = self.filled and self._words < least
        if piece.level == self._level:
            joins = small and wanting
        elif small:
            joins = wanting or self._nested + piece.words <= most
            self._nested += piece.words
        else:
            joins = wanting and len(self.pieces) == 1
        if joins:
            self.pieces.append(piece)
            self.filled = self.filled or piece.filled
            self._words += piece.words
        return joins


def _section(text: str, group: list[_Piece], number: int) -> Section:
    first = group[0]
    content = text[first.start : group[-1].end].rstrip()
    return Section(first.path, first.title, content, first.start, number)
