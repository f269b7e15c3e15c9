"""Finds the headings of a Markdown text."""

from __future__ import annotations

import msgspec

LONGEST_TITLE = 200
"""Characters of a heading that are kept as its title."""

_UNDERLINES = {"=": 1, "-": 2}
_NO_PARAGRAPH = frozenset(">|<")


class Heading(msgspec.Struct, frozen=True):
    """A heading whose lines stand at [start, end), offsets in characters; `level` is 1 to 6."""

    start: int
    end: int
    level: int
    title: str


def find_headings(text: str) -> list[Heading]:
    """All headings in order, `#` ones and underlined ones; what stands in a fence or is indented is none.

    As CommonMark 0.31 has it but for this: an underlined heading has one line, since notes often draw
    a rule right below a longer paragraph.  Takes time linear in the text.
    """
    scan = _Scan()
    place = 0
    for line in text.split("\n"):
        end = min(place + len(line) + 1, len(text))
        scan.read(line, place, end)
        place = end
    return scan.found


class _Scan:
    """Goes through the lines of one text, and knows whether a fence or a paragraph is open."""

    def __init__(self) -> None:
        self.found: list[Heading] = []
        self._fence = ""
        self._paragraph_lines = 0
        self._above = (0, "")  # start and words of the paragraph's first line

    def read(self, line: str, start: int, end: int) -> None:
        """Takes in the next line, which stands at [start, end)."""
        bare = line.strip(" \t\r")
        if self._fence:
            if bare.startswith(self._fence) and not bare.strip(self._fence[0]):
                self._fence = ""
        elif not bare:
            self._paragraph_lines = 0
        elif fence := _opened_fence(bare):
            self._fence, self._paragraph_lines = fence, 0
        elif line[:4].isspace() or line[:1] == "\t":
            self._paragraph_lines += 2
        else:
            self._read_text(bare, start, end)

    def _read_text(self, bare: str, start: int, end: int) -> None:
        level = _level(bare)
        if level:
            self._add(start, end, level, _title(bare))
        elif self._paragraph_lines == 1 and _is_underline(bare):
            above, title = self._above
            self._add(above, end, _UNDERLINES[bare[0]], title)
        elif _is_paragraph(bare):
            self._paragraph_lines += 1
            self._above = (start, bare)
        else:
            self._paragraph_lines = 2

    def _add(self, start: int, end: int, level: int, title: str) -> None:
        self.found.append(Heading(start, end, level, title[:LONGEST_TITLE]))
        self._paragraph_lines = 0


def _opened_fence(bare: str) -> str:
    """The mark that opens a fence; empty when the line opens none."""
    if bare[:3] not in ("```", "~~~"):
        return ""
    rest = bare.lstrip(bare[0])
    return "" if bare[0] == "`" and "`" in rest else bare[: len(bare) - len(rest)]


def _level(bare: str) -> int:
    """1 to 6 for a line that begins with so many `#`, 0 for any other."""
    level = len(bare) - len(bare.lstrip("#"))
    return level if level <= 6 and bare[level : level + 1] in ("", " ", "\t") else 0


def _title(bare: str) -> str:
    title = bare.lstrip("#").strip()
    before, _, last = title.rpartition(" ")
    return title if last.strip("#") else before.rstrip()


def _is_underline(bare: str) -> bool:
    return len(bare) > 1 and bare[0] in _UNDERLINES and not bare.strip(bare[0])


def _is_paragraph(bare: str) -> bool:
    """Whether the line can be words of a heading: no item, quote, table, tag or rule."""
    if bare[0] in _NO_PARAGRAPH or bare[:2] in ("- ", "* ", "+ "):
        return False
    number, mark, _ = bare[:10].partition(". ")
    return not (mark and number.isdecimal()) and bool(bare.strip("-*_= "))
