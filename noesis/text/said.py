"""What comparing reads of a text: its words of weight, and all that marks what is said of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from noesis.text.marking_words import (
    ARTICLES,
    BEING,
    FILLERS,
    JOINING,
    NEGATING_CHARACTERS,
    NEGATING_ENDINGS,
    NEGATIONS,
    NUMBERS,
    REVERSING,
    SAME_VERB,
)
from noesis.text.terms import terms
from noesis.text.words import Span, fold, pairs, spans, stem

_SIGNS = "<>=%&|^~$€£¥+"
_EDGES = ".,;:…\"'“”„«»()[]"
_SENTENCE_ENDS = ".!?:;\n•*-–—\"'“”„«»()[]"


class Said(msgspec.Struct, frozen=True):
    """A text's folded words in order, those of weight as stems, and its names, numbers and negations.

    `signs` are characters that mean something between words, as in `a < b`; `being` tells that it holds a
    form of `be`, as passives do; `asks` that it is a question.
    """

    tokens: tuple[str, ...]
    content: tuple[str, ...]
    names: frozenset[str]
    numbers: tuple[str, ...]
    negations: int
    signs: str
    being: bool
    asks: bool


def said(text: str) -> Said:
    """The features of a text."""
    found = [(span, fold(text[span.start : span.end])) for span in spans(text)]
    names = frozenset(word for span, word in found if _is_name(text, span))
    raw = [token for span, word in found for token in (pairs(word) if span.is_run else [word])]
    tokens = tuple(_in_one_order(raw, names))
    return Said(
        tokens=tokens,
        content=tuple(_of_weight(tokens)),
        names=names,
        numbers=tuple(NUMBERS.get(token, token) for token in tokens if is_number(token)),
        negations=sum(map(negates, tokens)) + _negations_of_runs(text),
        signs=_signs(text),
        being=not BEING.isdisjoint(tokens),
        asks=text.rstrip().endswith(("?", "？")),
    )


def plain(text: str) -> str:
    """A text in small letters, its blanks and the marks around its words left out: equal for the same words.

    It costs a hundredth of what `said` does, and keeps every sign within and between words.
    """
    words = (_without_marks(word) for word in text.casefold().split())
    return " ".join(word for word in words if word)


def _without_marks(word: str) -> str:
    return word.strip(_EDGES).rstrip("!" + _EDGES) if any(map(str.isalnum, word)) else word.strip(_EDGES)


def _signs(text: str) -> str:
    """The signs of a text in order; one that begins a line is markup, a minus belongs to a number."""
    found = []
    for before, char, after in zip(f"\n{text}", text, f"{text[1:]} ", strict=False):
        if (
            (char in _SIGNS and before != "\n")
            or (char == "#" and before.isalnum())
            or (char == "-" and before.isspace() and after.isdigit())
            or (char == "!" and after == "=")
        ):
            found.append(char)
    return "".join(found)


def is_number(token: str) -> bool:
    """Whether a folded word is a number, in digits or in letters, or an identifier with digits."""
    return token in NUMBERS or any(map(str.isdigit, token))


def negates(token: str) -> bool:
    """Whether a folded word turns round what is said."""
    return _is_negation(token) or stem(token) in REVERSING


def basic(token: str) -> str:
    """One form for all forms of a word."""
    if token in NUMBERS:
        return NUMBERS[token]
    stemmed = stem(token)
    return SAME_VERB.get(stemmed, stemmed)


def led_by(tokens: Sequence[str], leading: Collection[str]) -> dict[str, set[str]]:
    """The words that follow each of some words, in their basic forms, articles left out."""
    found: dict[str, set[str]] = {}
    pending: str | None = None
    for token in tokens:
        if token in leading:
            pending = token
        elif token not in ARTICLES and pending is not None:
            found.setdefault(pending, set()).add(basic(token))
            pending = None
    return found


def _is_negation(token: str) -> bool:
    return token in NEGATIONS or token.endswith("n't")


def _negations_of_runs(text: str) -> int:
    return sum(map(text.count, NEGATING_CHARACTERS)) + sum(map(text.count, NEGATING_ENDINGS))


def _of_weight(tokens: Iterable[str]) -> Iterator[str]:
    for token in tokens:
        # Numbers and negations are compared by themselves.
        if is_number(token) or _is_negation(token):
            continue
        for term in terms(token):
            if term not in FILLERS:
                yield SAME_VERB.get(term, term)


def _in_one_order(tokens: Sequence[str], names: Collection[str]) -> list[str]:
    """The words with `Ben and Anna` as `Anna and Ben`."""
    ordered = list(tokens)
    for place in range(1, len(ordered) - 1):
        before, after = ordered[place - 1], ordered[place + 1]
        if ordered[place] in JOINING and before in names and after in names and before > after:
            ordered[place - 1], ordered[place + 1] = after, before
    return ordered


def _is_name(text: str, span: Span) -> bool:
    """A capital inside a sentence, or within a word; what begins a sentence may be any word."""
    word = text[span.start : span.end]
    if any(map(str.isupper, word[1:])):
        return True
    before = text[: span.start].rstrip(" \t")
    return word[:1].isupper() and word != "I" and bool(before) and before[-1] not in _SENTENCE_ENDS
