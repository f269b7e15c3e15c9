"""The best passage, its marks, and the words both are made of."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noesis.text.characters import cluster_starts, codes_of
from noesis.text.excerpt import excerpt
from noesis.text.words import fold, stem, words

FILLER = "Nothing much happened on that day. " * 30
TEXT = f"{FILLER}We decided to host the wiki on port 8085, déployé with Ansible. {FILLER}"


def marked(text: str, query: str, width: int = 120) -> list[str]:
    return [fragment for fragment, is_match in excerpt(text, query, width) if is_match]


def shown(text: str, query: str, width: int = 120) -> str:
    return "".join(fragment for fragment, _ in excerpt(text, query, width))


def test_the_passage_with_the_querys_words_is_shown() -> None:
    assert "host the wiki on port 8085" in shown(TEXT, "wiki port")
    assert marked(TEXT, "wiki port") == ["wiki", "port"]


def test_both_cut_ends_have_an_ellipsis_and_no_torn_word() -> None:
    passage = shown(TEXT, "wiki")
    assert passage[0] == passage[-1] == "…"
    assert set(passage.strip("…").split()) <= set(TEXT.split())


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("we deployed it", "deploy", ["deployed"]),
        ("we deploy it", "deploying", ["deploy"]),
        ("Deploys run", "DEPLOYED", ["Deploys"]),
        ("the caches are cached", "caching", ["caches", "cached"]),
        ("déployé", "deploye", ["déployé"]),
        ("Ärger in der Straße", "arger STRASSE", ["Ärger", "Straße"]),
        ("большой Пароль", "пароль", ["Пароль"]),
        ("ＦＵＬＬ width", "full", ["ＦＵＬＬ"]),
        ("我的密码是长的", "密码", ["密码"]),
        ("猫在这里", "猫", ["猫"]),
        ("数据库迁移", "数据库", ["数据库"]),
        ("the admin’s key", "admin", ["admin’s"]),
        ("snake_case_name", "case", ["case"]),
        ("หน้าต่าง", "ต่าง", ["ต่าง"]),
        ("report and port", "port", ["port"]),
    ],
)
def test_words_match_across_case_accents_endings_and_scripts(text: str, query: str, found: list[str]) -> None:
    assert marked(text, query) == found


def test_words_that_say_nothing_are_marked_only_when_alone() -> None:
    assert marked("the wiki is on the host", "where is the wiki") == ["wiki"]
    assert marked("to be or not", "to be") == ["to", "be"]


def test_a_rare_word_outweighs_a_common_one() -> None:
    text = "deploy deploy deploy deploy. " * 10 + FILLER + "The wiki is here. " + FILLER
    assert "wiki" in shown(text, "deploy wiki", 60)


@pytest.mark.parametrize("query", ["", "unknown", "…"])
def test_without_a_match_the_beginning_is_shown(query: str) -> None:
    assert marked(TEXT, query) == []
    assert shown(TEXT, query).startswith("Nothing much")


def test_a_short_text_is_shown_whole() -> None:
    assert excerpt("one two", "two", 100) == [("one ", False), ("two", True)]


def test_an_emoji_of_several_characters_is_not_torn() -> None:
    assert shown("👨‍👩‍👧" * 50, "x", 52).strip("…") == "👨‍👩‍👧" * 10


def longest_cluster(text: str) -> int:
    """The most characters that are one to a reader, and are not torn to keep to a width."""
    starts = [*np.flatnonzero(cluster_starts(codes_of(text))).tolist(), len(text)]
    return max((end - start for start, end in itertools.pairwise(starts)), default=1)


@settings(deadline=None)
@example("0\x1b\u0a010", "\u0a010", 1)
@given(st.text(), st.text(), st.integers(1, 80))
def test_an_excerpt_is_part_of_the_text_and_no_wider_than_asked(text: str, query: str, width: int) -> None:
    fragments = excerpt(text, query, width)
    passage = "".join(fragment for fragment, _ in fragments)
    assert all(fragment for fragment, _ in fragments)
    assert len(passage) <= width + 2 + longest_cluster(text) - 1
    assert passage in text or passage.removeprefix("…").removesuffix("…") in text


@settings(deadline=None)
@given(st.text(min_size=1))
def test_a_word_of_the_text_is_found_in_it(text: str) -> None:
    assert not words(text) or marked(text, text, len(text))


def test_words_are_folded_in_order() -> None:
    assert words("Café, DON’T! x_1 日本語 ok") == ["cafe", "don't", "x", "1", "日本", "本語", "ok"]
    assert words("") == []
    assert words(" -- ") == []


def test_marks_that_are_letters_stay() -> None:
    assert words("हिन्दी") == ["हिन्दी"]
    assert fold("が") == "が"
    assert fold("한국") == "한국"


@pytest.mark.parametrize(
    "family",
    [
        *("deploy deploys deployed deploying", "cache caches cached caching", "run runs running"),
        *(
            "try tries tried trying",
            "decide decides decided deciding",
            "memory memories",
            "miss missed missing",
        ),
        *(
            "setting settings",
            "index indexes indexed indexing",
            "agree agrees agreed",
            "box boxes",
            "stop stopped",
        ),
    ],
)
def test_a_family_of_words_has_one_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["status state", "port report", "bus bush", "thing this", "sing sin", "red reed"]
)
def test_different_words_keep_different_stems(pair: str) -> None:
    one, other = pair.split()
    assert stem(one) != stem(other)
