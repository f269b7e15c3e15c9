"""The terms of a text as ranking counts them: folded, stemmed, without function words."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from noesis.text.stop_words import STOP_WORDS
from noesis.text.words import fold, stem, words

_BLANKS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
_STOPPED = frozenset(STOP_WORDS)


def tokens(text: str) -> list[str]:
    """The words of a text in order, folded, function words among them."""
    if not text.isascii():
        return words(text)
    # A tenth of the time of the general way, which counts with hundreds of candidates a question.
    spaced = text.lower().translate(_BLANKS).replace("''", "  ")
    found = spaced.split()
    return found if "'" not in spaced else [word for each in found if (word := each.strip("'"))]


def terms(text: str) -> list[str]:
    """The stems of the words of a text that say something, in order."""
    return terms_of(tokens(text))


def terms_of(words: Iterable[str]) -> list[str]:
    """The stems of those of a text's `tokens` that say something, in order."""
    return list(filter(None, map(_term, words)))


@functools.lru_cache(maxsize=65_536)
def _term(word: str) -> str:
    """The stem of a word, or nothing for a function word."""
    plain = word.removesuffix("'s")
    return "" if word in _STOPPED or plain in _STOPPED else stem(fold(plain))
