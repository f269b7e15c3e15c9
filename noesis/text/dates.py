"""The dates that a question names, and how well a day fits them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import re2

_MONTHS = """
    january february march april may june july august september october november december
    januar februar märz april mai juni juli august september oktober november dezember
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    janvier février mars avril mai juin juillet août septembre octobre novembre décembre
"""
_SEASONS = """
    spring frühling frühjahr primavera printemps
    summer sommer verano été
    autumn fall herbst otoño automne
    winter invierno hiver
"""

_MONTH_OF = {word: 1 + number % 12 for number, word in enumerate(_MONTHS.split())}
_SEASON_OF = {
    word: {(3 * season + first) % 12 + 1 for first in (2, 3, 4)}
    for season, line in enumerate(_SEASONS.strip().splitlines())
    for word in line.split()
}
_ALSO_WORDS = frozenset({"may", "march", "mars", "fall", "été"})
"""They are other words too, and name a date only beside a number or behind a word that stands before dates."""

_WORD = re2.compile(r"\pL+|\d+")
_LEADS = """
    in on of since by until during last this next early mid late en de
"""
_BEFORE = frozenset(_LEADS.split())
_ORDINALS = frozenset({"st", "nd", "rd", "th", "of", "de"})
_DAY_IS_NEAR = 1
"""So many days beside the one named still fit: people tell of a day on the next one."""


class Dates(msgspec.Struct, frozen=True):
    """The years, months and days that a text names; a season is its three months."""

    years: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        """Whether any date is named; a day alone is only a number."""
        return bool(self.years or self.months)


def dates_named(text: str) -> Dates:
    """The dates in a text; a number is a day only beside a month."""
    words = _WORD.findall(text)
    years: set[int] = set()
    months: set[int] = set()
    days: set[int] = set()
    for place, word in enumerate(words):
        if word.isdecimal():
            if len(word) == 4 and word[:2] in ("19", "20"):
                years.add(int(word))
        elif found := _months_at(words, place):
            months |= found
            if len(found) == 1:
                days |= _days_beside(words, place)
    return Dates(frozenset(years), frozenset(months), frozenset(days))


def fit(dates: Dates, moment_ms: int) -> float:
    """The share (0..1) of what is named that holds for the UTC day of a moment (ms since 1970)."""
    day = datetime.fromtimestamp(moment_ms / 1000, UTC)
    held: list[bool] = []
    if dates.years:
        held.append(day.year in dates.years)
    if dates.months:
        held.append(day.month in dates.months)
    if dates.days:
        held.append(any(abs(day.day - named) <= _DAY_IS_NEAR for named in dates.days))
    return sum(held) / max(len(held), 1)


def _months_at(words: list[str], place: int) -> set[int]:
    word = words[place].lower()
    if word in _ALSO_WORDS and not _dated(words, place):
        return set()
    return {_MONTH_OF[word]} if word in _MONTH_OF else _SEASON_OF.get(word, set())


def _dated(words: list[str], place: int) -> bool:
    before = words[place - 1].lower() if place else ""
    after = words[place + 1] if place + 1 < len(words) else ""
    return before in _BEFORE or before.isdecimal() or after.isdecimal()


def _days_beside(words: list[str], place: int) -> set[int]:
    """The day beside a month: `7 May`, `7th of May`, `May 7`."""
    before = [word for word in words[max(place - 3, 0) : place] if word.lower() not in _ORDINALS][-1:]
    beside = before + words[place + 1 : place + 2]
    return {int(word) for word in beside if word.isdecimal() and len(word) < 3 and 1 <= int(word) <= 31}
