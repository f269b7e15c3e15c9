"""The words of a text as they are compared: lower case, without accents, in any script."""

from __future__ import annotations

import functools
import unicodedata

import msgspec
import numpy as np
import numpy.typing as npt
import re2
import Stemmer

from noesis.text.characters import Codes, codes_of, is_cjk, mask_of

# Accents of Latin, Greek and Cyrillic letters; the marks of other scripts are letters to their readers.
_ACCENTS = re2.compile(r"[\x{300}-\x{36f}]+")
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))  # Thai, Lao, Myanmar, Khmer
_SPELLED, _RUNNING = 1, 2


class Span(msgspec.Struct, frozen=True):
    """A word at [start, end) of a text, or a run of a script without spaces (`is_run`)."""

    start: int
    end: int
    is_run: bool


def words(text: str) -> list[str]:
    """The words of `text` in order, folded; Chinese, Japanese, Thai and the like as pairs of characters."""
    found: list[str] = []
    for span in spans(text):
        folded = fold(text[span.start : span.end])
        if span.is_run:
            found.extend(pairs(folded))
        else:
            found.append(folded)
    return found


def spans(text: str) -> list[Span]:
    """Where the words of `text` stand.  Letters, digits, their marks and inner apostrophes make words."""
    kinds = _kinds_of(codes_of(text))
    if not kinds.size:
        return []
    changes = np.flatnonzero(np.diff(kinds)) + 1
    starts = np.concatenate(([0], changes))
    ends = np.concatenate((changes, [kinds.size]))
    of_words = kinds[starts] > 0
    runs = kinds[starts] == _RUNNING
    return [
        Span(start, end, is_run)
        for start, end, is_run in zip(
            starts[of_words].tolist(), ends[of_words].tolist(), runs[of_words].tolist(), strict=True
        )
    ]


@functools.lru_cache(maxsize=8192)
def fold(word: str) -> str:
    """`word` in lower case, in compatibility form, without accents and typographic apostrophes."""
    folded = word.casefold()
    if folded.isascii():
        return folded
    folded = unicodedata.normalize("NFKD", folded).casefold().replace("’", "'")
    return unicodedata.normalize("NFC", _ACCENTS.sub("", folded))


def pairs(run: str) -> list[str]:
    """Every two neighbouring characters of `run`; the run itself when it is one character."""
    if len(run) < 2:
        return [run] if run else []
    return [run[place : place + 2] for place in range(len(run) - 1)]


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The English stem of a folded word: `deployed`, `deploying`, `deploys` give `deploy`.

    The Snowball stemmer (Porter 2001), which the keyword index uses too; words in other scripts stay
    as they are.
    """
    word = word.removesuffix("'s")
    if not (word.isascii() and word.isalpha()):
        return word
    # One stemmer must not serve two threads; a new one costs 2 microseconds.
    stemmed: str = Stemmer.Stemmer("english", 0).stemWord(word)
    return stemmed


def _kinds_of(codes: Codes) -> npt.NDArray[np.int8]:
    """0 between words, 1 in a word, 2 in a run of a script without spaces."""
    parts = mask_of(codes, _is_word_part)
    kinds = np.where(parts, _SPELLED, 0).astype(np.int8)
    kinds[parts & mask_of(codes, _is_unspaced)] = _RUNNING
    if codes.size > 2:
        apostrophes = (codes[1:-1] == 0x27) | (codes[1:-1] == 0x2019)
        inner = apostrophes & (kinds[:-2] == _SPELLED) & (kinds[2:] == _SPELLED)
        kinds[1:-1][inner] = _SPELLED
    return kinds


def _is_word_part(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


def _is_unspaced(char: str) -> bool:
    return is_cjk(char) or any(first <= ord(char) <= last for first, last in _UNSPACED)
