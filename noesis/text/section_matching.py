"""Tells which sections of an edited file are the memories that were made of it before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import msgspec

from noesis.text.documents import Section
from noesis.text.headings import find_headings
from noesis.text.normalise import content_hash
from noesis.text.words import words

LEAST_SIMILARITY = 0.5
"""Share of word trigrams (Jaccard 1912: common ones by all different ones) from which texts are one."""

# What bounds the work on a file of many sections that are alike.
_MOST_SHARERS = 20
_MOST_PAIRS = 2500

Trigrams = frozenset[tuple[str, ...]]
Pair = tuple[int, int]


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """A memory made of the file before; `heading_path` as in its section, None when it was not kept."""

    memory_id: str
    content_hash: str
    text: str
    position: int | None = None
    heading_path: tuple[str, ...] | None = None


class MatchedBy(StrEnum):
    """What showed that a section is a memory of before."""

    CONTENT = "content"
    HEADING = "heading"
    SIMILARITY = "similarity"


class Match(msgspec.Struct, frozen=True):
    """A memory of before and the section it is now."""

    known: Known
    section: Section
    by: MatchedBy

    @property
    def changed(self) -> bool:
        """Whether the text is another than before."""
        return self.by is not MatchedBy.CONTENT


class Matching(msgspec.Struct, frozen=True):
    """Every section is in `kept` or `new`, in the file's order; every memory in `kept` or `gone`."""

    kept: tuple[Match, ...]
    new: tuple[Section, ...]
    gone: tuple[Known, ...]


def match_sections(
    old: Sequence[Known], new: Sequence[Section], hash_of: Callable[[str], str] = content_hash
) -> Matching:
    """Which section of `new` is which memory of `old`, each used at most once; the same for the same input.

    First those of equal content, in order; then those below the same headings, the most similar first;
    then the most similar of the rest, from LEAST_SIMILARITY on.  `hash_of` makes a section's text
    comparable with `Known.content_hash`: pass what is done to a text before it is stored.
    """
    places = sorted(
        range(len(old)), key=lambda place: (old[place].position is None, old[place].position or 0)
    )
    return _Matcher([old[place] for place in places], new, hash_of).matching()


class _Matcher:
    """The memories and sections of one file that have not found each other yet, by their places."""

    def __init__(self, old: Sequence[Known], new: Sequence[Section], hash_of: Callable[[str], str]) -> None:
        self._old = old
        self._new = new
        self._hash_of = hash_of
        self._free_old = dict.fromkeys(range(len(old)))  # ordered, unlike a set
        self._free_new = dict.fromkeys(range(len(new)))
        self._matches: dict[int, Match] = {}
        self._trigrams: dict[str, Trigrams] = {}

    def matching(self) -> Matching:
        self._take(self._equal(), MatchedBy.CONTENT)
        self._take(self._of_one_heading(), MatchedBy.HEADING)
        self._take(self._similar(), MatchedBy.SIMILARITY)
        return Matching(
            kept=tuple(self._matches[place] for place in sorted(self._matches)),
            new=tuple(self._new[place] for place in self._free_new),
            gone=tuple(self._old[place] for place in self._free_old),
        )

    def _take(self, pairs: Iterable[Pair], by: MatchedBy) -> None:
        for before, now in pairs:
            if before in self._free_old and now in self._free_new:
                del self._free_old[before], self._free_new[now]
                self._matches[now] = Match(self._old[before], self._new[now], by)

    def _equal(self) -> list[Pair]:
        waiting: dict[str, list[int]] = defaultdict(list)
        for before in reversed(self._free_old):
            waiting[self._old[before].content_hash].append(before)
        hashes = [self._hash_of(section.text) for section in self._new]
        return [(waiting[digest].pop(), now) for now, digest in enumerate(hashes) if waiting.get(digest)]

    def _of_one_heading(self) -> list[Pair]:
        before_by_heading: dict[str, list[int]] = defaultdict(list)
        now_by_heading: dict[str, list[int]] = defaultdict(list)
        for before in self._free_old:
            before_by_heading[_heading_of(self._old[before].text)].append(before)
        for now in self._free_new:
            now_by_heading[self._new[now].heading].append(now)
        found: list[Pair] = []
        for heading, places in now_by_heading.items():
            candidates = before_by_heading.get(heading, [])
            if len(candidates) * len(places) > _MOST_PAIRS:
                found.extend(zip(candidates, places, strict=False))
            else:
                found.extend((before, now) for before in candidates for now in places)
        return self._best_first(pair for pair in found if self._below_same(*pair))

    def _below_same(self, before: int, now: int) -> bool:
        path = self._old[before].heading_path
        return path is None or path == self._new[now].heading_path

    def _similar(self) -> list[Pair]:
        """The pairs that are similar enough among those that share a trigram which not too many have."""
        if not self._free_old:
            return []
        having: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for before in self._free_old:
            for trigram in self._trigrams_of(self._old[before].text):
                having[trigram].append(before)
        sharers = {trigram: places for trigram, places in having.items() if len(places) <= _MOST_SHARERS}
        pairs = {
            (before, now)
            for now in self._free_new
            for trigram in self._trigrams_of(self._new[now].text)
            for before in sharers.get(trigram, ())
        }
        return self._best_first(pair for pair in pairs if self._similarity(*pair) >= LEAST_SIMILARITY)

    def _best_first(self, pairs: Iterable[Pair]) -> list[Pair]:
        return sorted(pairs, key=lambda pair: (-self._similarity(*pair), pair))

    def _similarity(self, before: int, now: int) -> float:
        first = self._trigrams_of(self._old[before].text)
        second = self._trigrams_of(self._new[now].text)
        common = len(first & second)
        return common / max(1, len(first) + len(second) - common)

    def _trigrams_of(self, text: str) -> Trigrams:
        if text not in self._trigrams:
            spoken = words(text)
            count = max(1, len(spoken) - 2) if spoken else 0
            self._trigrams[text] = frozenset(tuple(spoken[at : at + 3]) for at in range(count))
        return self._trigrams[text]


def _heading_of(text: str) -> str:
    """The title that a section's text begins with; empty when it begins with none."""
    first, _, rest = text.partition("\n")
    headings = find_headings(f"{first}\n{rest.partition(chr(10))[0]}")
    return headings[0].title if headings and not headings[0].start else ""
