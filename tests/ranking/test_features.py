"""What the features say of a pool: their bounds, and what each sign is taken for."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noesis.ranking.features import FEATURES, GROUPS, features
from noesis.ranking.passages import Vector
from noesis.ranking.pool import NEAR_PLACES, Pool
from tests.ranking.pools import EAST, NORTH, WEST, passage, pool_of, pools, turns, unit

BESIDE = GROUPS["neighbours"] + GROUPS["session"]


def values_of(pool: Pool, name: str) -> list[float]:
    """One feature of every passage, to three places."""
    return [round(float(value), 3) for value in features(pool, (name,))[:, 0]]


@settings(max_examples=60)
@given(pools)
@example(pool_of("", []))
@example(pool_of("heron", [passage("heron")]))
@example(pool_of("", [passage("heron", vector=EAST)], EAST))
@example(pool_of("heron", [passage("heron"), passage("", vector=WEST)], EAST))
@example(pool_of("heron", [passage("heron", vector=NORTH)] * 3, EAST))
def test_every_feature_is_a_share(pool: Pool) -> None:
    values = features(pool)
    assert values.shape == (len(pool), len(FEATURES))
    assert np.isfinite(values).all()
    assert (values >= 0).all()
    assert (values <= 1 + 1e-9).all()


@settings(max_examples=20)
@given(pools)
def test_without_a_vector_the_meaning_is_that_of_the_words(pool: Pool) -> None:
    without = pool_of(" ".join(pool.question.terms), pool.passages)
    assert values_of(without, "meaning") == values_of(without, "words")
    assert values_of(without, "expansion_meaning") == values_of(without, "words")


def test_each_feature_belongs_to_one_group() -> None:
    assert Counter(name for names in GROUPS.values() for name in names) == Counter(FEATURES.keys())


directions = st.builds(unit, st.floats(-1, 0.5), st.floats(0.6, 1), st.just(0.0), st.just(0.0))


@settings(max_examples=40)
@given(
    meaning=directions,
    before=st.integers(1, 5),
    after=st.integers(1, 5),
    words=st.integers(0, 3),
)
def test_a_fact_alone_is_never_behind_an_equal_turn_among_turns_that_do_not_fit(
    meaning: Vector, before: int, after: int, words: int
) -> None:
    """No part of neighbours or session is larger for the turn, whose neighbours share no word with the
    question, ask nothing, and are all alike and no nearer to it than the turn itself.
    """
    said = "the heron fishes in the harbour"
    around = " ".join(["nothing", "else"] * words)
    thread = [
        passage(around, thread="s", place=(place, 0), vector=meaning)
        if place != before
        else passage(said, thread="s", place=(place, 0), vector=EAST)
        for place in range(before + 1 + after)
    ]
    pool = pool_of("heron harbour", [*thread, passage(said, vector=EAST)], EAST)
    values = features(pool, BESIDE)
    assert (values[-1] >= values[before] - 1e-9).all(), dict(
        zip(BESIDE, values[-1] - values[before], strict=True)
    )


def test_who_has_no_neighbour_is_lent_what_neighbours_are_worth_on_average() -> None:
    pool = pool_of("heron", [*turns("heron", "badger", "heron heron"), passage("wiki")])
    worth = pool.words
    assert values_of(pool, "before_words") == pytest.approx(
        [(worth[0] + worth[1]) / 2, worth[0], worth[1], (worth[0] + worth[1]) / 2], abs=0.001
    )
    alone = pool_of("heron", [passage("heron"), passage("heron badger")])
    assert values_of(alone, "before_words") == values_of(alone, "after_words") == [0, 0]


def test_equals_share_the_better_rank() -> None:
    pool = pool_of("heron", [passage("heron"), passage("wiki"), passage("heron"), passage("badger")])
    assert values_of(pool, "words_rank") == [1, 0.333, 1, 0.333]


def test_a_neighbour_may_stand_a_few_places_away_but_no_more() -> None:
    near = turns("one", "two", places=[4, 4 + NEAR_PLACES])
    far = turns("one", "two", places=[4, 5 + NEAR_PLACES])
    assert (pool_of("", near).before.tolist(), pool_of("", near).after.tolist()) == ([-1, 0], [1, -1])
    assert (pool_of("", far).before.tolist(), pool_of("", far).after.tolist()) == ([-1, -1], [-1, -1])


def test_the_nearest_stored_turn_is_the_neighbour_in_whatever_order_they_come() -> None:
    pool = pool_of("", turns("c", "a", "b", places=[3, 0, 1]))
    assert (pool.before.tolist(), pool.after.tolist()) == ([2, -1, 1], [-1, 2, 0])


def test_chunks_of_a_turn_stand_in_their_order_between_the_turns_around_it() -> None:
    whole = [passage(place=place, thread="s") for place in [(1, 0), (2, 0), (2, 1), (3, 0)]]
    assert pool_of("", whole).before.tolist() == [-1, 0, 1, 2]


def test_turns_of_two_sessions_are_no_neighbours() -> None:
    pool = pool_of("", [*turns("a", places=[1]), *turns("b", places=[2], thread="t")])
    assert pool.before.tolist() == pool.after.tolist() == [-1, -1]


def test_what_has_a_session_and_no_place_counts_for_the_session_only() -> None:
    pool = pool_of("heron", [passage("heron", thread="s"), passage("wiki", thread="s"), passage("wiki")])
    assert pool.before.tolist() == [-1, -1, -1]
    assert values_of(pool, "session_best") == [1, 1, 0]


def test_the_answer_to_a_question_and_what_stands_before_one_are_told() -> None:
    pool = pool_of("", turns("where is it?", "in the shed", "fine"))
    assert values_of(pool, "asks") == [1, 0, 0]
    assert values_of(pool, "answers")[1:] == [1, 0]
    assert values_of(pool, "before_question")[:2] == [0, 0]


SPEAKERS = ("Caroline", "Zoë", "Ana Maria", "José", "小林")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is Caroline's plan?", "caroline"),
        ("What is Caroline’s plan?", "caroline"),
        ("CAROLINE?", "caroline"),
        ("where was Zoë", "zoe"),
        ("Zoë's heron", "zoe"),
        ("zoe s heron", "zoe"),
        ("did ana call", "ana maria"),
        ("the plan of José", "jose"),
        ("小林 说", "小林"),
        ("Caroline and Zoë", None),
        ("nobody", None),
        ("carolines", None),
    ],
)
def test_a_speaker_counts_when_the_question_names_exactly_one(question: str, named: str | None) -> None:
    spoken = [passage("words", author=author) for author in (*SPEAKERS, None)]
    pool = pool_of(question, spoken)
    assert pool.named == named
    by_named, by_other = values_of(pool, "named_author"), values_of(pool, "other_author")
    assert (sum(by_named), sum(by_other)) == ((0, 0) if named is None else (1, len(SPEAKERS) - 1))
    assert by_named[-1] == by_other[-1] == 0


def test_of_two_speakers_with_the_same_first_name_the_first_name_names_none() -> None:
    spoken = [passage("words", author=author) for author in ("Ana Maria", "Ana Lucia")]
    assert pool_of("what did Ana say", spoken).named is None


@pytest.mark.parametrize(
    ("question", "counts"),
    [("when was it", ["names_time"]), ("how many were there", ["names_number"]), ("where was it", [])],
)
def test_times_and_numbers_count_for_who_asks_for_them(question: str, counts: list[str]) -> None:
    pool = pool_of(question, [passage("yesterday"), passage("three herons"), passage("in the shed")])
    assert values_of(pool, "names_time") == [1, 0, 0]
    assert values_of(pool, "names_number") == [0, 1, 0]
    assert values_of(pool, "time_for_when") == ([1, 0, 0] if "names_time" in counts else [0, 0, 0])
    assert values_of(pool, "number_for_how_many") == ([0, 1, 0] if "names_number" in counts else [0, 0, 0])


def test_shares_of_the_questions_terms_its_rarest_term_and_its_phrases_are_told() -> None:
    common = [passage("heron") for _ in range(6)]
    pool = pool_of(
        "grey heron fishes", [passage("heron fishes"), passage("fishes heron"), passage("grey"), *common]
    )
    assert values_of(pool, "matched_share")[:4] == [0.667, 0.667, 0.333, 0.333]
    assert values_of(pool, "phrase")[:4] == [1, 0, 0, 0]
    assert values_of(pool, "rarest_term")[:4] == [0, 0, 1, 0]
    shares = values_of(pool, "rare_share")
    assert shares[2] > shares[3]
    assert shares[0] == shares[1]


def test_what_shares_the_words_of_the_best_is_worth_more_than_what_does_not() -> None:
    texts = ["heron lantern", "heron lantern copper", "lantern copper", "badger digs"]
    words = values_of(pool_of("heron", [passage(text) for text in texts]), "expansion_words")
    assert words[2] > words[3]


def test_a_long_text_counts_as_one_of_ninety_words() -> None:
    pool = pool_of("", [passage(""), passage("word " * 20), passage("word " * 90), passage("word " * 900)])
    lengths = values_of(pool, "length")
    assert lengths[0] == 0 < lengths[1] < lengths[2]
    assert lengths[2:] == [1, 1]


def test_a_text_that_says_more_beside_the_question_is_richer_up_to_a_bound() -> None:
    rich = "grey badger digs copper lantern"
    long = " ".join(f"word{number}" for number in range(40))
    pool = pool_of("heron", [passage(text) for text in ("heron", "heron grey", rich, long, long + " more")])
    values = values_of(pool, "news")
    assert values[0] == 0 < values[1] < values[2] < values[3]
    assert values[3:] == [1, 1]


def test_what_answers_is_worth_what_was_asked() -> None:
    pool = pool_of("heron", turns("a heron?", "in the shed", "a heron", "fine", "a badger?", "no"))
    words = values_of(pool, "answered_words")
    assert words[1] > 0 == words[3] == words[5]


def test_the_day_of_a_memory_counts_when_the_question_names_a_date() -> None:
    days = [datetime(2023, month, 7, tzinfo=UTC) for month in (4, 5)]
    spoken = [passage("heron", created_at=int(day.timestamp() * 1000)) for day in days]
    assert values_of(pool_of("the heron on 7 May 2023", spoken), "fitting_date") == [0.667, 1]
    assert values_of(pool_of("where is the heron", spoken), "fitting_date") == [0, 0]


def test_what_the_named_one_says_of_oneself_is_told() -> None:
    texts = {"I took my heron to our pond": "Zoë", "the heron": "Zoë", "I saw it": "Max"}
    pool = pool_of("where was Zoë", [passage(text, author=author) for text, author in texts.items()])
    assert values_of(pool, "named_author_of_self") == [1, 0, 0]


@pytest.mark.parametrize(
    ("product", "factors"),
    [
        ("rare_share_meaning", ("rare_share", "meaning")),
        ("length_words", ("length", "words")),
        ("news_meaning", ("news", "meaning")),
        ("named_author_words", ("named_author", "words")),
    ],
)
def test_a_product_is_large_only_where_both_are(product: str, factors: tuple[str, str]) -> None:
    spoken = [passage("a heron by the sea", author="Zoë", vector=EAST), passage("heron", vector=NORTH)]
    pool = pool_of("where was Zoë's heron", spoken, EAST)
    one, other = (features(pool, (name,))[:, 0] for name in factors)
    assert features(pool, (product,))[:, 0] == pytest.approx(one * other)
