"""The passage of a text that answers a query best, with the query's words marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
import numpy as np

from noesis.text.characters import cluster_starts, codes_of
from noesis.text.words import fold, spans, stem, words

Fragment = tuple[str, bool]

_ELLIPSIS = "…"
# How far the edge of a passage moves to meet a word's edge.
_WORD_REACH = 24
# English words that say nothing; they are marked only when the query has no others.
_FUNCTION_WORDS = frozenset(
    """
    a an and are as at be by can did do does for from had has have how i in is it its of on or our
    that the their there this to was we were what when where which who why will with you your
    """.split()  # noqa: SIM905  a list of 50 literals would not be read
)


class _Hit(msgspec.Struct, frozen=True):
    start: int
    end: int
    term: str


def excerpt(text: str, query: str, width: int) -> list[Fragment]:
    """About `width` characters of `text` as (fragment, whether it matches the query), to be joined.

    Matching ignores case, accents and common English endings; in scripts without spaces, two
    neighbouring characters of the query match.  The passage is the one with most of the query's
    words, rare ones first, or the beginning when none occurs.  An ellipsis marks each end that is cut.
    """
    hits = list(_find_hits(text, _terms_of(query)))
    start, end = _passage(text, hits, max(1, width))
    return _fragments(text, hits, start, end)


def _terms_of(query: str) -> frozenset[str]:
    terms = {stem(word) for word in words(query)}
    return frozenset(terms - _FUNCTION_WORDS or terms)


def _find_hits(text: str, terms: frozenset[str]) -> Iterator[_Hit]:
    if not terms:
        return
    for span in spans(text):
        word = text[span.start : span.end]
        if span.is_run:
            yield from _hits_in_run(word, span.start, terms)
        elif (term := stem(fold(word))) in terms:
            yield _Hit(span.start, span.end, term)


def _hits_in_run(run: str, start: int, terms: frozenset[str]) -> Iterator[_Hit]:
    folded = [fold(char) for char in run]
    for place, char in enumerate(folded):
        pair = "".join(folded[place : place + 2])
        if char in terms:
            yield _Hit(start + place, start + place + 1, char)
        elif place + 1 < len(folded) and pair in terms:
            yield _Hit(start + place, start + place + 2, pair)


def _passage(text: str, hits: list[_Hit], width: int) -> tuple[int, int]:
    """The best [start, end) of at most `width` characters, moved to the edges of words."""
    if len(text) <= width:
        return 0, len(text)
    first, last = _best_window(hits, width)
    spare = width - (last - first)
    start = max(0, min(first - spare // 3, len(text) - width))
    return _at_word_edges(text, start, min(len(text), start + width), first, last)


def _best_window(hits: list[_Hit], width: int) -> tuple[int, int]:
    """The stretch of hits that is worth most and fits; [0, 0) without hits.

    A term is worth the less the oftener the text has it; every repetition adds a little.
    """
    frequency = Counter(hit.term for hit in hits)
    inside: Counter[str] = Counter()
    best, best_worth, worth, left = (0, 0), 0.0, 0.0, 0
    for hit in hits:
        worth += 0.01 if inside[hit.term] else 1 / frequency[hit.term]
        inside[hit.term] += 1
        while hit.end - hits[left].start > width and hits[left] is not hit:
            gone = hits[left].term
            inside[gone] -= 1
            worth -= 0.01 if inside[gone] else 1 / frequency[gone]
            left += 1
        if worth > best_worth + 1e-9:
            best, best_worth = (hits[left].start, min(hit.end, hits[left].start + width)), worth
    return best


def _at_word_edges(text: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """[start, end) made smaller so that no word and no cluster is cut, but never into [first, last)."""
    if start > 0:
        near = range(start, min(first, start + _WORD_REACH) + 1)
        start = next((place for place in near if text[place - 1].isspace()), _cluster_start(text, start))
    if end < len(text):
        near = range(end, max(last, start + 1, end - _WORD_REACH) - 1, -1)
        end = next((place for place in near if text[place].isspace()), _cluster_start(text, end))
    return start, max(end, start)


def _cluster_start(text: str, place: int) -> int:
    """The start of the cluster that `place` lies in."""
    begin = max(0, place - 64)
    starts = np.flatnonzero(cluster_starts(codes_of(text[begin : place + 1])))
    return begin + int(starts[-1])


def _fragments(text: str, hits: list[_Hit], start: int, end: int) -> list[Fragment]:
    found: list[Fragment] = [(_ELLIPSIS, False)] if start > 0 else []
    place = start
    for marked_start, marked_end in _merged(hits, start, end):
        found.append((text[place:marked_start], False))
        found.append((text[marked_start:marked_end], True))
        place = marked_end
    found.append((text[place:end], False))
    if end < len(text):
        found.append((_ELLIPSIS, False))
    return [fragment for fragment in found if fragment[0]]


def _merged(hits: list[_Hit], start: int, end: int) -> list[tuple[int, int]]:
    """The hits within [start, end), those that touch as one."""
    merged: list[tuple[int, int]] = []
    for hit in hits:
        if hit.end <= start or hit.start >= end:
            continue
        begin, finish = max(hit.start, start), min(hit.end, end)
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(finish, merged[-1][1]))
        else:
            merged.append((begin, finish))
    return merged
