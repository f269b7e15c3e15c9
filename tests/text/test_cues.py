"""Small signs in a text, in several languages."""

from __future__ import annotations

import pytest

from noesis.text.cues import asks, asks_for_number, asks_for_time, names_number, names_time, self_words
from noesis.text.terms import tokens

TIMES = """
we met yesterday|On MONDAY.|back in 1999|two years ago, last week|gestern am Montag|im März|nächstes Jahr
vamos mañana|el año pasado|el miércoles|en décembre|le 3 août|aujourd'hui|hier|1999年に|today我们
""".replace("\n", "|").split("|")

NO_TIMES = "the heron|Julián llegó|Maité|in 12345 steps|room 3019x|sundays|Augusté|yesterdays_news"

NUMBERS = "3 herons|a dozen|three|zwei Reiher|fünf|tres|dieciséis o dos|deux|sept hérons|v2|1999年|One."
NO_NUMBERS = "someone|none|dosé|the heron|often|Neunkirchen|tresor|onée"


@pytest.mark.parametrize("text", [text for text in TIMES if text])
def test_a_text_that_speaks_of_a_time(text: str) -> None:
    assert names_time(text)


@pytest.mark.parametrize("text", NO_TIMES.split("|"))
def test_a_text_that_speaks_of_none(text: str) -> None:
    """A word within another, also within one whose other letters have accents, is no time."""
    assert not names_time(text)


def test_a_text_that_holds_a_number() -> None:
    assert {text: names_number(text) for text in NUMBERS.split("|")} == dict.fromkeys(
        NUMBERS.split("|"), True
    )
    assert {text: names_number(text) for text in NO_NUMBERS.split("|")} == dict.fromkeys(
        NO_NUMBERS.split("|"), False
    )


WANTED = [
    ("When did it happen?", True, False),
    ("since when", True, False),
    ("What year was that", True, False),
    ("how long did it take", True, True),
    ("Wann war das?", True, False),
    ("An welchem Tag?", True, False),
    ("¿Cuándo fue?", True, False),
    ("¿Qué día era?", True, False),
    ("Quand ?", True, False),
    ("quel mois", True, False),
    ("How many herons?", False, True),
    ("how old is she", False, True),
    ("Wie viele Reiher?", False, True),
    ("Wieviel kostet das", False, True),
    ("Wie groß ist er?", False, True),
    ("wie gross", False, True),
    ("Wie groß", False, True),
    ("¿Cuántas garzas?", False, True),
    ("Combien ?", False, True),
    ("Where is it?", False, False),
    ("whenever you like", False, False),
    ("somehow many", False, False),
    ("Wie geht es", False, False),
]


@pytest.mark.parametrize(("question", "time", "number"), WANTED)
def test_what_a_question_wants(question: str, time: bool, number: bool) -> None:
    assert (asks_for_time(question), asks_for_number(question)) == (time, number)


def test_a_question_mark_of_any_script_asks() -> None:
    assert [asks(text) for text in ("really?", "真的？", "حقا؟", "¡no!", "")] == [
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("I took my heron to our pond", 3),
        ("I’ve been there, I'm sure", 2),
        ("Ich habe mein Boot", 2),
        ("mi perro y yo", 2),
        ("you and your mice", 0),
        ("", 0),
    ],
)
def test_the_words_for_oneself_are_counted(text: str, many: int) -> None:
    assert self_words(tokens(text)) == many
