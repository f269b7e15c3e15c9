"""Whether two texts say the same: judged by their words, where nearness of vectors cannot tell.

"The port is 5432" and "the port is 5433" are as near to each other as any two phrasings of one thing.
So a pair passes only if neither has a number, a negation, a name or any other word of weight that the
other lacks a counterpart of.  It is strict on purpose: of two that are called the same one may be put away.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set

import msgspec

from noesis.text.marking_words import (
    ALIKE,
    CALENDAR,
    NARROWING,
    PASSIVE,
    PAST,
    PERSONS,
    QUALIFIERS,
    RELATIONS,
    UNCERTAIN,
)
from noesis.text.said import Said, led_by, negates
from noesis.text.terms import terms

ENOUGH_IN_COMMON = 0.6
"""Of a text that says less, so great a part of all the words of weight must stand in both."""

SAME_MATTER = 0.5
"""Two statements on one matter have so great a part of their words of weight in common."""

_FEWEST_IN_COMMON = 4
_LONG_WORD = 6

_Differ = Callable[[Said, Said], tuple[str, ...] | None]
"""What tells two texts apart in one respect, None when nothing does."""


class Likeness(enum.StrEnum):
    """How two texts stand to each other."""

    SAME = "same"
    NEAR = "near"
    OTHER = "other"


class Comparison(msgspec.Struct, frozen=True):
    """The verdict and its reason in words; `words` are what tells the texts apart, first of one, then of the other.

    `common` is the share of the words of weight that both have (0 to 1); `replaces` tells that the texts may
    state one thing at two times, as "the port is 5432" and "the port is 5433".
    """

    likeness: Likeness
    reason: str
    common: float
    words: tuple[str, ...] = ()
    replaces: bool = False


def compare(one: Said, other: Said) -> Comparison:
    """Whether two texts say the same, and if not, what tells them apart."""
    common = _common(one, other)
    if (one.tokens, one.signs, one.asks) == (other.tokens, other.signs, other.asks):
        return Comparison(Likeness.SAME, "The same words.", 1.0)
    for reason, differ, replaces in _CHECKS:
        words = differ(one, other)
        if words is not None:
            return Comparison(Likeness.OTHER, reason, common, words, replaces and common >= SAME_MATTER)
    likeness, reason, only = _by_weight(one, other, common)
    replaces = all(only) and common >= SAME_MATTER
    return Comparison(likeness, reason, common, _shown(*only) if any(only) else (), replaces)


def _by_weight(one: Said, other: Said, common: float) -> tuple[Likeness, str, tuple[list[str], list[str]]]:
    """The verdict on two texts that nothing marks as different: the words that only one of them has."""
    only = _unmatched(one, other), _unmatched(other, one)
    if all(only):
        return Likeness.OTHER, "Other words stand in the same place.", only
    if not any(only):
        return Likeness.NEAR, "The same words in another form or order.", only
    if common < ENOUGH_IN_COMMON or len({*one.content} & {*other.content}) < _FEWEST_IN_COMMON:
        return Likeness.OTHER, "One says much more.", only
    if _narrows(one, only[0]) or _narrows(other, only[1]):
        return Likeness.OTHER, "One holds for some alone.", only
    return Likeness.NEAR, "One says what the other says, and a little more.", only


def _common(one: Said, other: Said) -> float:
    union = {*one.content} | {*other.content}
    return len({*one.content} & {*other.content}) / len(union) if union else 0.0


def _asked(one: Said, other: Said) -> tuple[str, ...] | None:
    return None if one.asks == other.asks else ()


def _signs(one: Said, other: Said) -> tuple[str, ...] | None:
    return None if one.signs == other.signs else (one.signs, other.signs)


def _numbers(one: Said, other: Said) -> tuple[str, ...] | None:
    if one.numbers == other.numbers:
        return None
    return _shown(_beyond(one.numbers, other.numbers), _beyond(other.numbers, one.numbers))


def _beyond(these: Sequence[str], those: Sequence[str]) -> list[str]:
    return list((Counter(these) - Counter(those)).elements())


def _negated(one: Said, other: Said) -> tuple[str, ...] | None:
    if one.negations == other.negations:
        return None
    return _shown([*filter(negates, one.tokens)], [*filter(negates, other.tokens)])


def _named(one: Said, other: Said) -> tuple[str, ...] | None:
    lacking = sorted(one.names - {*other.tokens}), sorted(other.names - {*one.tokens})
    return _shown(*lacking) if any(lacking) else None


def _marked(words: Collection[str]) -> _Differ:
    """A check that both texts hold the same ones of these words, in the singular or the plural."""

    def held(by: Said) -> set[str]:
        singular = (word if word in words else word.removesuffix("s") for word in by.tokens)
        return {word for word in singular if word in words}

    def differ(one: Said, other: Said) -> tuple[str, ...] | None:
        first, second = held(one), held(other)
        return None if first == second else _shown(sorted(first - second), sorted(second - first))

    return differ


def _past(one: Said, other: Said) -> tuple[str, ...] | None:
    return None if _is_past(one.tokens) == _is_past(other.tokens) else ()


def _is_past(tokens: Sequence[str]) -> bool:
    followed = zip(tokens, (*tokens[1:], ""), strict=False)
    return any(word in PAST and (word != "used" or following == "to") for word, following in followed)


def _persons(one: Said, other: Said) -> tuple[str, ...] | None:
    first, second = ([token for token in each.tokens if token in PERSONS] for each in (one, other))
    meant, others = {PERSONS[token] for token in first}, {PERSONS[token] for token in second}
    return None if not meant or not others or meant & others else _shown(first, second)


def _ordered(one: Said, other: Said) -> tuple[str, ...] | None:
    """Two names that change places change who does what, and so does a passive in which they do not."""
    names = {name for name in one.names | other.names if name.removesuffix("s") not in CALENDAR}
    first, second = ([*dict.fromkeys(w for w in each.tokens if w in names)] for each in (one, other))
    if len(names) < 2 or (first == second) != (_is_passive(one) != _is_passive(other)):
        return None
    return _shown(first, second)


def _is_passive(text: Said) -> bool:
    return text.being and not PASSIVE.isdisjoint(text.tokens)


def _rearranged(one: Said, other: Said) -> tuple[str, ...] | None:
    """The shared words come in another order than one that moving a phrase, or a passive, explains."""
    shared = {*one.content} & {*other.content}
    first, second = ([word for word in each.content if word in shared] for each in (one, other))
    if first == second and _is_passive(one) != _is_passive(other):
        return _shown(first, second)
    if first == second or Counter(first) != Counter(second) or one.being != other.being:
        return None
    places = [place for place in range(len(first)) if first[place] != second[place]]
    middle = slice(places[0], places[-1] + 1)
    moved, there = first[middle], second[middle]
    if len(places) == 2 and not _is_genitive(one, other):
        return _shown(moved, there)
    turned = any(moved[cut:] + moved[:cut] == there for cut in range(1, len(moved)))
    return None if turned else _shown(moved, there)


def _is_genitive(one: Said, other: Said) -> bool:
    """One has an 's where the other has an `of`."""
    owned = [any(token.endswith("'s") for token in each.tokens) for each in (one, other)]
    return owned[0] != owned[1] and "of" in (other if owned[0] else one).tokens


def _related(one: Said, other: Said) -> tuple[str, ...] | None:
    """`from A to B` and `from B to A`, `under the mat` and `on the mat`."""
    first, second = led_by(one.tokens, RELATIONS), led_by(other.tokens, RELATIONS)
    for relation in sorted(first.keys() & second.keys()):
        if first[relation].isdisjoint(second[relation]):
            return _shown(sorted(first[relation]), sorted(second[relation]))
    before, behind = _turned(first), _turned(second)
    for word in sorted(before.keys() & behind.keys()):
        if before[word].isdisjoint(behind[word]) and not _are_alike(before[word] | behind[word]):
            return _shown(sorted(before[word]), sorted(behind[word]))
    return None


def _turned(led: Mapping[str, Set[str]]) -> dict[str, set[str]]:
    """The words of relation that stand before each word."""
    found: dict[str, set[str]] = {}
    for relation, words in led.items():
        for word in words:
            found.setdefault(word, set()).add(relation)
    return found


def _are_alike(relations: Set[str]) -> bool:
    return any(relations <= group for group in ALIKE)


def _narrows(text: Said, more: Collection[str]) -> bool:
    """Whether one of these words says for whom or when alone it holds."""
    return any(not words.isdisjoint(more) for words in led_by(text.tokens, NARROWING).values())


def _unmatched(one: Said, other: Said) -> list[str]:
    """The words of weight that only the first text has, those left out that the other only spells otherwise."""
    there = {*other.content} | _parts_joined(one, other) | _joined_of_parts(one, other)
    return [
        word
        for word in dict.fromkeys(one.content)
        if word not in there and not any(_is_slip(word, each) for each in other.content)
    ]


def _parts_joined(one: Said, other: Said) -> set[str]:
    """The parts of `data set` when the other text has `dataset`."""
    whole = {word for word in other.tokens if len(word) >= _LONG_WORD}
    pairs = zip(one.tokens, one.tokens[1:], strict=False)
    return {term for a, b in pairs if a + b in whole for part in (a, b) for term in terms(part)}


def _joined_of_parts(one: Said, other: Said) -> set[str]:
    """`dataset` when the other text has `data set`."""
    joined = {a + b for a, b in zip(other.tokens, other.tokens[1:], strict=False)}
    return {term for word in one.tokens if word in joined for term in terms(word)}


def _is_slip(one: str, other: str) -> bool:
    """Two neighbouring letters exchanged, or one doubled: `recieve`, `comittee`."""
    if min(len(one), len(other)) < _LONG_WORD or abs(len(one) - len(other)) > 1:
        return False
    if len(one) != len(other):
        short, long = sorted((one, other), key=len)
        doubled = (place for place in range(1, len(long)) if long[place] == long[place - 1])
        return any(long[:place] + long[place + 1 :] == short for place in doubled)
    places = [place for place in range(len(one)) if one[place] != other[place]]
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    return one[places[0]] == other[places[1]] and one[places[1]] == other[places[0]]


def _shown(first: Collection[str], second: Collection[str]) -> tuple[str, ...]:
    return (" ".join(first), " ".join(second))


_CHECKS: tuple[tuple[str, _Differ, bool], ...] = (
    ("One asks, the other states.", _asked, False),
    ("The numbers differ.", _numbers, True),
    ("The signs differ.", _signs, False),
    ("One denies what the other says.", _negated, True),
    ("The names differ.", _named, True),
    ("The days or times differ.", _marked(CALENDAR), True),
    ("One is less certain than the other.", _marked(UNCERTAIN), False),
    ("One speaks of the past.", _past, True),
    ("A word that narrows it differs.", _marked(QUALIFIERS), True),
    ("They speak of different people.", _persons, False),
    ("The names stand in another order.", _ordered, False),
    ("The words stand in another order.", _rearranged, False),
    ("The words stand in another relation.", _related, True),
)
"""In which respect texts can differ, and whether one of two such texts may have taken the other's place."""
