"""Configuration written by hand."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noesis.sources.json5 import BadJson, parse_json5

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc\"'/,{}[]:\\", max_size=5), inner)
    ),
    max_leaves=12,
)


@given(json_values)
def test_json_with_a_comment_and_trailing_commas_is_the_same_value(value: object) -> None:
    plain = json.dumps(value, indent=1)
    loose = "// why\n" + plain.replace("\n", " /* , } */\n")
    if plain[-1] in "]}" and len(plain) > 2:
        loose = loose[:-1].rstrip() + "," + plain[-1]
    assert parse_json5(loose.encode()) == value


def test_bare_keys_single_quotes_and_numbers_of_json5_are_read() -> None:
    text = "\ufeff{a: 'it\\'s', $b_1: [0x1F, +2, .5, -1e3, true, null,], 'c': \"//no\\\nt\", d: '\\ud83d\\ude00\\x41'}"
    assert parse_json5(text.encode()) == {
        "a": "it's",
        "$b_1": [31, 2, 0.5, -1000.0, True, None],
        "c": "//not",
        "d": "😀A",
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1",
        "{a}",
        "{a:}",
        "{a:1 b:2}",
        "[1 2]",
        "{} x",
        "nope",
        "'",
        "/",
        "[,]",
        "{,}",
        "{a:1}}",
        "/*",
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(BadJson):
        parse_json5(text.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 4_000_000,
        b"{a:" * 1_000_000,
        b"[" + b"1," * 2_000_000,
        b"/**/" * 1_000_000,
        b'"' + b"\\" * 3_999_999,
    ],
    ids=["depth", "objects", "items", "comments", "string"],
)
def test_hostile_text_is_refused_soon(data: bytes) -> None:
    began = time.monotonic()
    with pytest.raises(BadJson):
        parse_json5(data)
    assert time.monotonic() - began < 10
