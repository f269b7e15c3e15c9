"""Where a Markdown text may be cut, how well each place suits, and which blocks belong together."""

from __future__ import annotations

from enum import IntEnum

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.text.characters import Codes, Mask, cluster_starts, codes_of, is_cjk, is_space, mask_of, run_index

# A run without a space counts one word for so many characters, so that dense text is cut as well.
LONGEST_WORD = 24


class Weight(IntEnum):
    """How well a text may be cut at a place."""

    NOWHERE = 0
    ANYWHERE = 1
    WORD = 3
    CLAUSE = 5
    LINE = 10
    SENTENCE = 14
    ITEM = 24
    PARAGRAPH = 40
    RULE = 50
    BLOCK = 60
    HEADING = 100  # less 10 for each level below the first


_SENTENCE_END = frozenset(".!?…")
_FULL_STOP = frozenset("。！？｡")
_PAUSE = frozenset(",;:")
_CLOSER = frozenset("\"'”’)]»*_`")


class Block(msgspec.Struct, frozen=True):
    """Lines that belong together, as offsets [start, end); `kind` is list, fence or table."""

    start: int
    end: int
    kind: str


class Breaks(msgspec.Struct, frozen=True):
    """What the chunker knows of a text of n characters.

    `weights` has n + 1 entries: how well the text may be cut before each character (0: not at all).
    `units` has n: the number of words begun up to and with each character, counted from 1.
    `blocks` are sorted by start; a fence or table may lie inside a list.
    """

    weights: npt.NDArray[np.uint8]
    units: npt.NDArray[np.int64]
    blocks: list[Block]


def find_breaks(text: str) -> Breaks:
    """Looks at the whole text once.  Takes time linear in its length."""
    codes = codes_of(text)
    spaces = mask_of(codes, is_space)
    weights = _weigh_characters(codes, spaces)
    lines = _Lines()
    lines.read(text)
    places = np.array(lines.places, dtype=np.int64)
    weighed = np.array(lines.weights, dtype=np.uint8)
    weights[places] = np.where(weights[places] == Weight.NOWHERE, Weight.NOWHERE, weighed)
    weights[0] = weights[-1] = Weight.BLOCK
    return Breaks(weights, _count_units(codes, spaces), sorted(lines.blocks, key=lambda block: block.start))


def _weigh_characters(codes: Codes, spaces: Mask) -> npt.NDArray[np.uint8]:
    """Weights for clusters, words, clauses, sentences and line ends."""
    weights = np.zeros(codes.size + 1, dtype=np.uint8)
    if codes.size < 2:
        return weights
    inner = weights[1:-1]  # inner[i] is the place before character i + 1
    inner[:] = Weight.ANYWHERE
    words = spaces[:-1] & ~spaces[1:]
    inner[words] = Weight.WORD
    last = np.maximum.accumulate(np.where(spaces, -1, np.arange(codes.size)))[:-1]  # last visible one before
    closers = mask_of(codes, _CLOSER.__contains__)
    last = np.where((last > 0) & closers[last], last - 1, last)
    inner[words & mask_of(codes, _PAUSE.__contains__)[last]] = Weight.CLAUSE
    inner[words & mask_of(codes, _SENTENCE_END.__contains__)[last]] = Weight.SENTENCE
    inner[mask_of(codes, _FULL_STOP.__contains__)[:-1] & ~spaces[1:]] = Weight.SENTENCE
    line_starts = (codes[:-1] == 0x0A) & (inner < Weight.LINE)
    inner[line_starts] = Weight.LINE
    inner[(codes[:-1] == 0x0A) & (codes[1:] == 0x0A)] = Weight.WORD  # a blank line stays with what it ends
    inner[~cluster_starts(codes)[1:]] = Weight.NOWHERE
    return weights


def _count_units(codes: Codes, spaces: Mask) -> npt.NDArray[np.int64]:
    cjk = mask_of(codes, is_cjk)
    units: npt.NDArray[np.int64] = np.cumsum(
        cjk | (run_index(~spaces & ~cjk) % LONGEST_WORD == 0), dtype=np.int64
    )
    return units


class _Lines:
    """Reads a text line by line, weighs the line starts that Markdown speaks of, and collects the blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.places: list[int] = []
        self.weights: list[int] = []
        self._fence = ""  # the mark that closes the open fence
        self._starts = {"fence": -1, "list": -1, "table": -1}
        self._content_end = 0  # where the last line that is not blank ended
        self._after = 0  # what the next line's start is worth if it says nothing itself
        self._keeps = False  # whether the line before wants this one with it

    def read(self, text: str) -> None:
        """Goes through all lines; a block still open at the end of the text ends there."""
        place = 0
        for line in text.split("\n"):
            end = min(place + len(line) + 1, len(text))
            self._read_line(line, place, end)
            place = end
        if self._fence:
            self._close("fence", place)
        self._close("table", self._content_end)
        self._close("list", self._content_end)

    def _read_line(self, line: str, place: int, end: int) -> None:
        bare = line.lstrip(" \t\r")
        if self._fence:
            self._read_fenced(bare, place, end)
        elif not bare:
            self._close("table", self._content_end)
            self._after = max(self._after, Weight.PARAGRAPH)
            return
        else:
            weight, keeps = self._judge(line, bare, place)
            self._weigh(place, Weight.ANYWHERE if self._keeps else weight)
            self._keeps, self._after = keeps, 0
        self._content_end = end

    def _read_fenced(self, bare: str, place: int, end: int) -> None:
        if bare.startswith(self._fence) and not bare.strip().strip(self._fence[0]):
            self._fence = ""
            self._weigh(place, Weight.ANYWHERE)
            self._close("fence", end)
            self._after = Weight.BLOCK
        else:
            self._weigh(place, Weight.LINE if bare else Weight.SENTENCE)

    def _judge(self, line: str, bare: str, place: int) -> tuple[int, bool]:
        """What the start of this line is worth (0: no more than any), and whether the next must stay with it."""
        first = bare[0]
        if first != "|":
            self._close("table", self._content_end)
        if first == "#" and (level := _heading_level(bare)):
            self._close("list", self._content_end)
            return Weight.HEADING - 10 * (level - 1), True
        if first in "`~" and (fence := _fence_of(bare)):
            self._close_list_before(line)
            self._fence = fence
            self._starts["fence"] = place
            return Weight.BLOCK, False
        if first in "-*_=" and _is_rule(bare):
            return self._judge_rule()
        return self._judge_text(line, bare, place)

    def _judge_rule(self) -> tuple[int, bool]:
        # Right below a paragraph it is the underline of a heading.
        if self._after < Weight.PARAGRAPH:
            return Weight.ANYWHERE, True
        self._close("list", self._content_end)
        return Weight.RULE, False

    def _judge_text(self, line: str, bare: str, place: int) -> tuple[int, bool]:
        if _is_item(bare):
            self._open("list", place)
            return (Weight.ITEM if line[:2].strip() else Weight.ITEM // 2), False
        self._close_list_before(line)
        if bare[0] == "|":
            return (Weight.PARAGRAPH if self._open("table", place) else Weight.LINE), False
        return self._after, False

    def _close_list_before(self, line: str) -> None:
        """A list goes on with items, indented lines, and lines that follow without a blank one."""
        if self._after >= Weight.PARAGRAPH and line[:2].strip():
            self._close("list", self._content_end)

    def _open(self, kind: str, place: int) -> bool:
        if self._starts[kind] >= 0:
            return False
        self._starts[kind] = place
        return True

    def _close(self, kind: str, end: int) -> None:
        if self._starts[kind] >= 0:
            self.blocks.append(Block(self._starts[kind], end, kind))
            self._starts[kind] = -1

    def _weigh(self, place: int, weight: int) -> None:
        if weight:
            self.places.append(place)
            self.weights.append(weight)


# Written out, as a pattern's call costs more than these, and a text may have a million lines.


def _heading_level(bare: str) -> int:
    """1 to 6 for a heading's line, 0 for any other."""
    level = len(bare) - len(bare.lstrip("#"))
    return level if level <= 6 and bare[level : level + 1] in ("", " ", "\t", "\r") else 0


def _fence_of(bare: str) -> str:
    """The mark that opens a fence; empty when the line opens none."""
    rest = bare.lstrip(bare[0])
    length = len(bare) - len(rest)
    return bare[:length] if length >= 3 and "`" not in rest else ""


def _is_rule(bare: str) -> bool:
    marks = bare.replace(" ", "").replace("\t", "").rstrip("\r")
    return len(marks) >= 3 and not marks.strip(marks[0])


def _is_item(bare: str) -> bool:
    if bare[0] in "-*+":
        return bare[1:2] in (" ", "\t")
    number = len(bare) - len(bare[:10].lstrip("0123456789")) - len(bare[10:])
    return (
        0 < number < 10
        and bare[number : number + 1] in (".", ")")
        and bare[number + 1 : number + 2] in (" ", "\t")
    )
