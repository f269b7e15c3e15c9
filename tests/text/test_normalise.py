"""The one form of a text, of its hash and of an agent's name."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noesis.errors import InvalidInput
from noesis.text.normalise import agent_name, clean_text, content_hash, is_blank

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
BURNING_HEART = "\u2764\ufe0f\u200d\U0001f525"

TROUBLE = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(
            "\r\n\x1b[]\\;m\x07\x9b\u200b\u200c\u200d\ufe0f\u200e\u202e\u0301\u1100\u1161\u05d0\u0645\u0915\u094d"
        ),
        st.sampled_from("\u2764\U0001f468\U0001f525\U0001f3fd\U0001f1e6\U000e0067\U000e0100\u845b"),
    )
)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("e\u0301", "\u00e9"),
        ("\ufeffa\r\nb\rc\x0bd\x85e", "a\nb\nc\nd\ne"),
        ("a\0b\x08c\x7fd\x9fe", "abcde"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("zero\u200bwidth\u2060\u00ad", "zerowidth"),
        ("\u202edesrever\u202c \u2066x\u2069", "desrever x"),
        ("a\U000e0041\U000e0042", "a"),
        ("e\u200b\u0301", "\u00e9"),
        ("\x1b[31mred\x1b[0m and \x9b1mbold", "red and bold"),
        ("\x1b]8;;http://h\x07link\x1b]8;;\x07", "link"),
        ("a\x1b]0;title\x1b\\b", "ab"),
        ("a\u200d\u200db", "ab"),
        ("a\ufe0fb\u200cc", "abc"),
        ("left\u200eright", "leftright"),
    ],
)
def test_what_cannot_be_seen_goes(raw: str, clean: str) -> None:
    assert clean_text(raw) == clean


@pytest.mark.parametrize(
    "text",
    [
        FAMILY,
        BURNING_HEART,
        "1\ufe0f\u20e3",
        "\U0001f44d\U0001f3fd",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a joiner that is spelling
        "\u0915\u094d\u200d\u0937",  # Devanagari, likewise
        "\u05e9\u05dc\u05d5\u05dd\u200f!",
        "\u845b\U000e0100",  # an ideograph and its variant
        "a\u2028b",
        "日本語 и кириллица",
    ],
)
def test_what_emoji_and_scripts_need_stays(text: str) -> None:
    assert clean_text(text) == text


@settings(deadline=None)
@given(TROUBLE)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once


@settings(deadline=None)
@given(TROUBLE)
def test_clean_text_is_composed_and_without_controls(text: str) -> None:
    clean = clean_text(text)
    assert unicodedata.is_normalized("NFC", clean)
    assert not [char for char in clean if unicodedata.category(char) == "Cc" and char not in "\n\t"]
    assert not [char for char in clean if 0xE0000 <= ord(char) <= 0xE007F]


@settings(deadline=None)
@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"])))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize("function", [clean_text, content_hash])
def test_a_lone_surrogate_is_refused(function: type) -> None:
    with pytest.raises(InvalidInput) as error:
        function("secret \ud800 text")
    assert error.value.field == "text"
    assert "secret" not in error.value.message
    assert error.value.__cause__ is None


def test_texts_that_read_the_same_have_the_same_hash() -> None:
    assert content_hash(" caf\u00e9\n") == content_hash("cafe\u0301")
    assert content_hash("a") != content_hash("b")
    assert content_hash("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("raw", "name"), [("Alpha", "alpha"), ("a", "a"), ("0-b_C", "0-b_c"), ("x" * 64, "x" * 64)]
)
def test_an_agents_name_is_lower_case(raw: str, name: str) -> None:
    assert agent_name(raw) == name


@pytest.mark.parametrize(
    "raw",
    [
        *("", " a", "a ", "a\n", "_a", "-a", "a/b", "../x", "..%2f", "/etc", ".", "a.b", "a:b", "x" * 65),
        *(
            "alpha' OR '1'='1",
            "\u212aelvin",
            "\u0430lpha",
            "caf\u00e9",
            "cafe\u0301",
            "\uff41lpha",
            "a\u202eb",
            "a\0",
        ),
    ],
)
def test_anything_else_is_no_agents_name(raw: str) -> None:
    with pytest.raises(InvalidInput) as error:
        agent_name(raw)
    assert error.value.field == "agent"


@settings(deadline=None)
@given(st.text())
def test_an_agents_name_stays_itself(raw: str) -> None:
    try:
        name = agent_name(raw)
    except InvalidInput:
        return
    assert agent_name(name) == name
    assert name.isascii()


@pytest.mark.parametrize(("text", "blank"), [("", True), (" \n\t\u3000", True), (" a ", False)])
def test_blank_is_what_shows_nothing(text: str, blank: bool) -> None:
    assert is_blank(text) is blank
