"""The terms that ranking counts."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noesis.text.terms import terms, tokens
from noesis.text.words import words


@given(st.text(st.sampled_from("aZ09'’ .,-_\n\t\x1c\"?") | st.sampled_from(string.printable)))
@example("a''b")
@example("'a'''b'c'")
@example("'s 's's")
def test_the_quick_way_for_plain_letters_finds_the_same_words_as_the_general_one(text: str) -> None:
    assert tokens(text) == words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is the heron's nest?", ["heron", "nest"]),
        ("the heron’s nests", ["heron", "nest"]),
        ("It's what it was for", []),
        ("Deploying, deployed, deploys", ["deploy"] * 3),
        ("snake_case-name 8085", ["snake", "case", "name", "8085"]),
        ("Zoë déployé", ["zoe", "deploy"]),
        ("数据库", ["数据", "据库"]),
        ("", []),
    ],
)
def test_terms_are_stems_without_function_words(text: str, expected: list[str]) -> None:
    assert terms(text) == expected
