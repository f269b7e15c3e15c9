"""What an excerpt shows of a Markdown text: its words, without the marks around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noesis.text.unmarked import unmarked

CASES = [
    ("## Boats\n\nThe **red** one", "Boats\n\nThe red one"),
    ("say `noesis verify` first", "say noesis verify first"),
    ("see [the plan](docs/plan.md) and ![a map](map.png)", "see the plan and a map"),
    ("**two words** and **one**", "two words and one"),
    ("# `code` of **all**", "code of all"),
    ("__init__ and snake_case", "__init__ and snake_case"),
    ("2 ** 3 ** 4", "2 ** 3 ** 4"),
    ("#hashtag, C# and issue #4", "#hashtag, C# and issue #4"),
    ("a ` b and ** c", "a ` b and ** c"),
    ("- first\n- second", "- first\n- second"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_marks_go_and_words_stay(text: str, expected: str) -> None:
    assert unmarked(text) == expected


@given(st.text())
def test_a_text_without_marks_is_left_alone(text: str) -> None:
    plain = text.translate({ord(mark): None for mark in "#*`["})
    assert unmarked(plain) == plain
