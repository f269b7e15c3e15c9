"""Small signs in a text: does it ask, does it name a time or a number, and what does a question want."""

from __future__ import annotations

from collections.abc import Iterable

import re2

_TIMES = """
    yesterday today tonight tomorrow last next ago week weekend month year since recently morning evening
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august
    september october november december
    gestern heute morgen woche monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag
    januar februar märz mai juni juli oktober dezember
    ayer hoy mañana semana mes año lunes martes miércoles jueves viernes enero febrero marzo abril mayo
    junio julio agosto septiembre octubre noviembre diciembre
    hier aujourd'hui demain semaine mois année lundi mardi mercredi jeudi vendredi samedi dimanche janvier
    février mars avril juin juillet août septembre octobre novembre décembre
"""
_NUMBERS = """
    one two three four five six seven eight nine ten eleven twelve dozen hundred thousand couple
    eins zwei drei vier fünf sechs sieben acht neun zehn
    dos tres cuatro cinco seis siete ocho nueve diez
    deux trois quatre cinq sept huit neuf dix
"""
_SELVES = """
    i i'm i've i'll i'd my me mine myself we we're we've our us ich mein meine mich mir wir unser unsere
    yo mi mis me nosotros nuestro nuestra je j'ai mon ma mes nous notre
"""
_SELF = frozenset(_SELVES.split())


_OUTSIDE = r"[^\p{Latin}\pM\pN_]"
"""What stands beside a word; re2's own boundary also lies between a plain letter and an accented one."""


def _any_of(phrases: str) -> str:
    return rf"(?i)(?:^|{_OUTSIDE})(?:{phrases})(?:$|{_OUTSIDE})"


def _any_word(words: str) -> str:
    return _any_of("|".join(sorted(set(words.split()))))


_TIME = re2.compile(_any_word(_TIMES) + r"|\b(?:19|20)\d\d\b")
_NUMBER = re2.compile(_any_word(_NUMBERS) + r"|\d")
_ASKS_TIME = re2.compile(
    _any_of(
        r"when|since when|how long|(?:what|which) (?:day|date|month|year|time|week)"
        r"|wann|seit wann|wie lange|welche[mrs]? (?:tag|monat|jahr|datum)"
        r"|cuándo|qué (?:día|mes|año|fecha)|quand|quel (?:jour|mois)"
    )
)
_ASKS_NUMBER = re2.compile(
    _any_of(
        r"how (?:many|much|old|long|far|big|large|tall|often)|number of|price|cost"
        r"|wie ?viele?|wie (?:alt|lang|weit|gro(?:ß|ss)|oft)|cuánt[oa]s?|combien"
    )
)
_QUESTION_MARKS = frozenset("?？؟")


def _holds(pattern: re2._Regexp, text: str) -> bool:
    # Of bytes re2 gives the place as it is; in a string it would count the characters before it.
    return pattern.search(text.encode()) is not None


def asks(text: str) -> bool:
    """Whether the text holds a question."""
    return not _QUESTION_MARKS.isdisjoint(text)


def names_time(text: str) -> bool:
    """Whether the text speaks of a time: a day, a month, a year, "last", "ago"."""
    return _holds(_TIME, text)


def names_number(text: str) -> bool:
    """Whether the text holds a number, in digits or in words."""
    return _holds(_NUMBER, text)


def self_words(words: Iterable[str]) -> int:
    """How many of the folded words of a text stand for who says it: "I", "my", "we"."""
    return sum(map(_SELF.__contains__, words))


def asks_for_time(question: str) -> bool:
    """Whether a question asks when something was."""
    return _holds(_ASKS_TIME, question)


def asks_for_number(question: str) -> bool:
    """Whether a question asks how much or how many."""
    return _holds(_ASKS_NUMBER, question)
