"""What ranking knows of a stored text and of a question."""

from __future__ import annotations

import functools

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.text.cues import asks, asks_for_number, asks_for_time, names_number, names_time, self_words
from noesis.text.dates import Dates, dates_named
from noesis.text.terms import terms, terms_of, tokens

Vector = npt.NDArray[np.float32]

_REMEMBERED_TEXTS = 4096


class TextFacts(msgspec.Struct, frozen=True, gc=False):
    """What is read from a text once: its terms, its length in words, and the signs in it.

    `self_words` is how many of the words stand for who says it.
    """

    terms: tuple[str, ...]
    words: int
    self_words: int
    asks: bool
    names_time: bool
    names_number: bool


class Passage(msgspec.Struct, kw_only=True, gc=False):
    """A stored chunk of a memory as a candidate.

    `thread` and `place` say where it stands among its neighbours: the source or session, and the
    number in it with the number of the chunk; None when it stands alone.  `keyword` are the terms the
    keyword index reads (date and speaker among them).  `vector` is a unit vector or None.
    """

    row_id: str
    memory_id: str
    agent: str
    thread: str | None
    place: tuple[int, int] | None
    author: str | None
    created_at: int
    priority: int
    keyword: tuple[str, ...]
    text: TextFacts
    vector: Vector | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What ranking reads from a question; `terms` in order, `vector` None when there is none."""

    terms: tuple[str, ...]
    words: frozenset[str]
    asks_for_time: bool
    asks_for_number: bool
    dates: Dates = Dates()
    vector: Vector | None = None


@functools.lru_cache(maxsize=_REMEMBERED_TEXTS)
def facts_of(text: str) -> TextFacts:
    """Read a text."""
    words = tokens(text)
    return TextFacts(
        terms=tuple(terms_of(words)),
        words=len(words),
        self_words=self_words(words),
        asks=asks(text),
        names_time=names_time(text),
        names_number=names_number(text),
    )


def question_of(text: str, vector: Vector | None) -> Question:
    """Read a question."""
    return Question(
        terms=tuple(terms(text)),
        words=frozenset(word.removesuffix("'s") for word in tokens(text)),
        asks_for_time=asks_for_time(text),
        asks_for_number=asks_for_number(text),
        dates=dates_named(text),
        vector=vector,
    )
