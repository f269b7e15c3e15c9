"""Reads the notes of basic-memory: Markdown with front matter, in which list items are observations.

`- [category] text #tag (context)` is an observation; its rules follow src/basic_memory/markdown/plugins.py.
Everything else, relations (`- part_of [[Note]]`) included, is the note's prose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import re2

from noesis.errors import InvalidInput, TooLarge
from noesis.memory import MemoryType, NewMemory
from noesis.sources.foreign.front_matter import FrontMatter, read_front_matter
from noesis.sources.foreign.records import Record, Unreadable
from noesis.sources.foreign.values import moment, tidy_name, tidy_tags, type_of
from noesis.text.normalise import is_blank, refuse_surrogates

MAX_NOTE_CHARS = 4 << 20
MAX_OBSERVATIONS = 10_000

_OBSERVATION = re2.compile(r"^[ \t]*[-*+][ \t]+\[([^\[\]()]{1,200})\][ \t]+(\S.*)$")
_TIMECODE = re2.compile(r"^[0-9]{1,3}:[0-9]{2}[-:.,0-9 ]*$")
_HASHTAG = re2.compile(r"(?:^|\s)#([^\s#]+)")
_HEADING = re2.compile(r"^ {0,3}(#{1,6})(?:[ \t]|$)")
_TITLE_SUFFIXES = (".md", ".markdown")


class _Observation(msgspec.Struct, frozen=True):
    category: str
    text: str


class _Line(msgspec.Struct, frozen=True):
    text: str
    level: int  # of the heading it is, 0 for any other


class _Note(msgspec.Struct, frozen=True):
    prose: list[_Line]
    observations: list[_Observation]


def read_basic_memory(notes: Iterable[tuple[str, str]]) -> Iterator[Record | Unreadable]:
    """One memory for each observation of each note, and one before them for its remaining prose.

    `notes` gives relative paths and whole texts.  Positions count within the note; the prose has 0.
    """
    for path, text in notes:
        try:
            yield from list(_records(path, text))
        except InvalidInput as error:
            yield Unreadable(path.encode(errors="replace").decode(), error.message)


def _records(path: str, text: str) -> Iterator[Record]:
    """All of one note or, when any of it cannot be stored, nothing: half a note would mislead."""
    if len(text) > MAX_NOTE_CHARS:
        raise TooLarge(f"It has more than {MAX_NOTE_CHARS:,} characters.")
    refuse_surrogates(text)
    front = read_front_matter(text)
    note = _split(text.splitlines()[front.lines :])
    title = front.one("title") or _title_from(path)
    prose = _without_empty_sections(note.prose)
    if prose and not is_blank(prose):
        yield _record(path, front, prose, position=0, kind=MemoryType.FACT, tags=())
    if len(note.observations) > MAX_OBSERVATIONS:
        raise TooLarge(f"It has more than {MAX_OBSERVATIONS:,} observations.")
    for number, observation in enumerate(note.observations, start=1):
        yield _record(
            path,
            front,
            # An observation stands alone from here on, so it has to say what it is about.
            f"{title}: {observation.text}",
            position=number,
            kind=type_of(observation.category, MemoryType.FACT),
            tags=(observation.category, *_HASHTAG.findall(observation.text)),
        )


def _record(
    path: str, front: FrontMatter, text: str, *, position: int, kind: MemoryType, tags: tuple[str, ...]
) -> Record:
    memory = NewMemory(
        text=text,
        memory_type=kind,
        tags=tidy_tags((*tags, *front.many("tags"))),
        source=tidy_name(path),
        position=position,
        created_at=moment(front.one("created", "date")),
    )
    return Record(
        memory=memory, id=front.one("permalink"), updated_at=moment(front.one("modified", "updated"))
    )


def _split(lines: list[str]) -> _Note:
    """Tell observations from prose; a fenced block is prose as a whole."""
    note = _Note([], [])
    fence = ""
    for line in lines:
        bare = line.strip()
        if fence:
            closes = len(bare) >= len(fence) and not bare.strip(fence[0])
            fence = "" if closes else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif observation := _observation(line):
            note.observations.append(observation)
            continue
        heading = None if fence else _HEADING.match(line)
        note.prose.append(_Line(line, len(heading[1]) if heading else 0))
    return note


def _observation(line: str) -> _Observation | None:
    found = _OBSERVATION.match(line)
    if found is None:
        return None
    category, text = found[1].strip(), found[2].strip()
    # A checkbox (`[x]`, `[/]`) and a transcript's time code have the same shape.
    marker = len(category) <= 1 and (category in "xX" or not category.isalnum())
    if marker or _TIMECODE.match(category):
        return None
    return _Observation(category, text)


def _without_empty_sections(lines: list[_Line]) -> str:
    """The prose without headings that have nothing left below them."""
    kept: list[str] = []
    below = 0  # the level of the heading that follows, when nothing but blank lines is between
    for line in reversed(lines):
        if line.level and (not kept or 0 < below <= line.level):
            continue
        blank = is_blank(line.text)
        if not blank:
            below = line.level
        if kept or not blank:
            kept.append(line.text)
    return "\n".join(reversed(kept)).strip("\n")


def _title_from(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    for suffix in _TITLE_SUFFIXES:
        name = name.removesuffix(suffix)
    return name
