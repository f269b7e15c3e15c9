"""Texts that say the same are told from those that only look alike, by a list of labelled pairs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noesis.text.said import plain, said
from noesis.text.sameness import Comparison, Likeness, compare

PAIRS = json.loads((Path(__file__).parents[1] / "data" / "sameness" / "pairs.json").read_text("utf-8"))
"""Hand-written: `same` says one thing twice, `different` has one word, number, name or order of its own."""


def compared(one: str, other: str) -> Comparison:
    return compare(said(one), said(other))


def passed(label: str) -> list[tuple[str, str]]:
    """The pairs of a label that are taken for one thing."""
    return [
        (one, other) for one, other in PAIRS[label] if compared(one, other).likeness is not Likeness.OTHER
    ]


def test_the_list_is_long_and_mostly_traps() -> None:
    assert (len(PAIRS["same"]), len(PAIRS["different"])) >= (50, 100)


def test_what_is_called_the_same_is_the_same() -> None:
    """The floor on precision: with two traps to each true pair, hardly one gets through."""
    right, wrong = passed("same"), passed("different")
    assert len(right) / (len(right) + len(wrong)) >= 0.97, wrong


def test_most_of_what_is_the_same_is_found() -> None:
    assert len(passed("same")) / len(PAIRS["same"]) >= 0.85


@pytest.mark.parametrize("label", ["same", "different"])
def test_the_order_of_a_pair_does_not_matter(label: str) -> None:
    for one, other in PAIRS[label]:
        assert compared(one, other).likeness is compared(other, one).likeness


@pytest.mark.parametrize(
    ("one", "other", "reason", "words"),
    [
        ("It listens on port 5432.", "It listens on port 5433.", "The numbers differ.", ("5432", "5433")),
        ("Deploy on Fridays.", "Never deploy on Fridays.", "One denies what the other says.", ("", "never")),
        ("The key is with Anna.", "The key is with Ben.", "The names differ.", ("anna", "ben")),
        ("Is the van red?", "The van is red.", "One asks, the other states.", ()),
        ("The lamp is red.", "The lamp is blue.", "Other words stand in the same place.", ("red", "blue")),
        ("It might rain in Bern.", "It rains in Bern.", "One is less certain than the other.", ("might", "")),
        ("the api calls the worker", "the worker calls the api", "The words stand in another order.", None),
    ],
)
def test_the_reason_names_what_tells_them_apart(
    one: str, other: str, reason: str, words: tuple[str, ...] | None
) -> None:
    verdict = compared(one, other)
    assert (verdict.likeness, verdict.reason) == (Likeness.OTHER, reason)
    assert words is None or verdict.words == words


def test_blank_and_wordless_texts_can_be_compared() -> None:
    assert compared("", "").likeness is Likeness.SAME
    assert compared("…", "a word").likeness is Likeness.OTHER


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("We deploy on  Fridays.", "we deploy on fridays!", True),
        ("(We deploy: on Fridays)", "We deploy on Fridays", True),
        ("a == b", "a != b", False),
        ("load < 80", "load > 80", False),
        ("It is 2.5", "It is 25", False),
        ("Is it so?", "It is so", False),
        ("C++", "C", False),
        ("用户喜欢绿茶", "用户喜欢绿茶 ", True),
    ],
)
def test_plain_texts_are_equal_for_the_same_words(one: str, other: str, equal: bool) -> None:
    assert (plain(one) == plain(other)) is equal
