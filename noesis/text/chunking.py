"""Cuts a text into overlapping chunks that an embedder can read, at the places where it hurts least."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from noesis.text.markdown_breaks import LONGEST_WORD, Block, Weight, find_breaks

Fits = Callable[[str], bool]

# A break counts for less the further it is before the limit; the least share a chunk may be filled to.
_LEAST_FILL = 0.4
_DISTANCE_PENALTY = 0.7
# Overlap never grows beyond this share of a chunk, so that small chunks still get on.
_MOST_OVERLAP = 0.25


class Chunk(msgspec.Struct, frozen=True):
    """A piece of a text: `text == source[start:end]`, offsets in characters."""

    text: str
    start: int
    end: int


def chunk_text(
    text: str, max_words: int = 512, overlap_words: int = 64, fits: Fits | None = None
) -> list[Chunk]:
    """Chunks of at most `max_words` words that together cover all of `text`, in order.

    A word is what stands between spaces; 24 characters of a longer run count as one, and so does
    each Chinese or Japanese character.  `fits` is the embedder's own limit; it should hold for a
    shorter piece where it holds for a longer one.  What does not fit is cut smaller, at worst into
    single characters; such a character is a chunk even if it does not fit.  Each chunk but the
    first starts about `overlap_words` before the end of the one before, at a sentence or word.
    Headings stay with what follows, and lists, tables and fences that fit stay whole.  A chunk
    depends only on the text up to its limit, or to the end of the block that crosses it: a change
    further down leaves it alone.  Cuts may fall inside a long blank stretch, so a chunk can be blank.
    """
    if not text:
        return []
    if _most_words(text) <= max_words and (fits is None or fits(text)):
        return [Chunk(text, 0, len(text))]
    return _Cutter(text, max_words, overlap_words, fits).chunks()


class _Cutter:
    """What is known of one text while it is cut.  All positions are offsets in characters."""

    def __init__(self, text: str, max_words: int, overlap_words: int, fits: Fits | None) -> None:
        breaks = find_breaks(text)
        self._text = text
        self._weights = breaks.weights
        self._units = breaks.units
        self._blocks = breaks.blocks
        self._block_starts = [block.start for block in breaks.blocks]
        self._firm = [block for block in breaks.blocks if block.kind != "list"]
        self._max_words = max(1, max_words)
        self._max_length = self._max_words * (LONGEST_WORD + 1)
        self._overlap_words = max(0, overlap_words)
        self._fits = fits or _always

    def chunks(self) -> list[Chunk]:
        found: list[Chunk] = []
        start = end = 0
        while end < len(self._text):
            cut = self._cut_after(start, end)
            if cut <= end:  # the overlap leaves no room
                start = end
                cut = self._cut_after(start, end)
            found.append(Chunk(self._text[start:cut], start, cut))
            start, end = self._overlap_start(start, cut), cut
        return found

    def _cut_after(self, start: int, covered: int) -> int:
        """Where the chunk from `start` ends; not after `covered` when it cannot reach beyond it."""
        limit = self._limit(start)
        if limit <= covered or limit == len(self._text):
            return limit
        ceiling = self._ceiling(limit, covered)
        if ceiling <= covered:
            return limit if start == covered else ceiling
        return self._best_cut(start, covered, ceiling)

    def _limit(self, start: int) -> int:
        """The furthest end that fits, to within a thirtieth; at least one cluster after `start`."""
        fitting, too_far = start, self._word_limit(start)
        if self._fits(self._text[start:too_far]):
            return too_far
        while too_far - fitting > max(1, (fitting - start) // 32):
            middle = (fitting + too_far) // 2
            if self._fits(self._text[start:middle]):
                fitting = middle
            else:
                too_far = middle
        return self._snapped(start, fitting)

    def _word_limit(self, start: int) -> int:
        first = int(self._units[start]) + self._text[start].isspace()
        limit = min(
            int(np.searchsorted(self._units, first + self._max_words)),
            start + self._max_length,
            len(self._text),
        )
        return self._snapped(start, limit)

    def _snapped(self, start: int, place: int) -> int:
        """The nearest place to cut at or before `place`, or the first one after `start`."""
        while place > start and not self._weights[place]:
            place -= 1
        if place > start:
            return place
        place = start + 1
        while not self._weights[place]:
            place += 1
        return place

    def _fit(self, start: int, end: int) -> bool:
        return end <= self._word_limit(start) and self._fits(self._text[start:end])

    def _ceiling(self, limit: int, covered: int) -> int:
        """`limit`, or the start of the outermost block around it that can be kept whole."""
        for block in self._blocks_from(covered, limit):
            if block.end > limit and self._fit(block.start, block.end):
                return block.start
        return limit

    def _best_cut(self, start: int, covered: int, ceiling: int) -> int:
        first = max(covered + 1, start + int((ceiling - start) * _LEAST_FILL))
        weights = self._weights[first : ceiling + 1].astype(np.float64)
        for block in self._blocks_from(start, ceiling):
            if block.end <= ceiling:
                weights[max(0, block.start + 1 - first) : max(0, block.end - first)] = 0
        if not weights.any():
            return ceiling
        distance = (ceiling - np.arange(first, ceiling + 1)) / max(1, ceiling - first)
        scores = weights * (1 - _DISTANCE_PENALTY * distance**2)
        return ceiling - int(np.argmax(scores[::-1]))

    def _overlap_start(self, start: int, cut: int) -> int:
        """Where the chunk after [start, cut) begins: `cut`, or some words before it."""
        if cut == len(self._text):
            return cut
        last = int(self._units[cut - 1])
        words = min(self._overlap_words, int((last - int(self._units[start])) * _MOST_OVERLAP))
        if words < 1:
            return cut
        earliest, target, latest = (
            max(start + 1, int(np.searchsorted(self._units, last + 1 - count)))
            for count in (words + words // 4, words, (words + 1) // 2)
        )
        begin = self._outside_blocks(self._best_start(earliest, target, latest), cut)
        following = next(self._blocks_from(cut, cut + 1), None)
        if following and not self._fit(begin, following.end) and self._fit(cut, following.end):
            return cut
        return begin

    def _best_start(self, earliest: int, target: int, latest: int) -> int:
        places = np.arange(earliest, latest + 1)
        weights = np.minimum(self._weights[earliest : latest + 1], Weight.PARAGRAPH).astype(np.float64)
        distance = np.abs(places - target) / max(1, latest - earliest)
        scores = weights * (1 - _DISTANCE_PENALTY * distance)
        return int(places[np.argmax(scores)])

    def _outside_blocks(self, begin: int, cut: int) -> int:
        """`begin`, or the end of the fence or table it would tear; a block cut at `cut` is torn already."""
        number = bisect_left(self._firm, begin, key=_start_of) - 1
        if number >= 0 and begin < (end := self._firm[number].end) <= cut:
            return end
        return begin

    def _blocks_from(self, first: int, end: int) -> Iterator[Block]:
        """The blocks that start in [first, end), in order."""
        for number in range(bisect_left(self._block_starts, first), len(self._blocks)):
            if self._block_starts[number] >= end:
                return
            yield self._blocks[number]


def _most_words(text: str) -> int:
    """At least as many as there are words; a look that tells for most texts that they need not be cut."""
    return len(text) if not text.isascii() else len(text.split()) + len(text) // LONGEST_WORD


def _always(_text: str) -> bool:
    return True


def _start_of(block: Block) -> int:
    return block.start
