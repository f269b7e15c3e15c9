"""What is near enough to a prompt to be worth its room."""

from __future__ import annotations

from importlib import resources

from noesis.ranking.fusion import DEFAULT
from noesis.ranking.relevance import FILE, Measured, Relevance, decode, relevance_of

MEASURED = Measured(
    questions=1, evidence_kept=1, evidence_kept_by_words=1, foreign_recalled=0, unanswered_recalled=0
)


def test_similarity_and_words_add_up_where_there_are_vectors() -> None:
    relevance = Relevance(weight=0.5, least=0.6, least_covered=0.4, measured=MEASURED)
    assert relevance.holds(0.6, 0.0)
    assert relevance.holds(0.4, 0.4)
    assert not relevance.holds(0.4, 0.3)
    assert (relevance.holds(None, 0.4), relevance.holds(None, 0.39)) == (True, False)


def test_a_model_that_nobody_measured_goes_by_words() -> None:
    """The similarities of some models never fall below two thirds: a bound of another would let all in."""
    unknown = relevance_of("a-model/nobody:measured")
    assert unknown.measured is None
    assert not unknown.holds(0.99, 0.0)
    assert unknown.holds(0.0, 1.0)
    assert relevance_of(None) == unknown


def test_every_threshold_that_ships_was_measured() -> None:
    known = decode(resources.files("noesis.ranking").joinpath("weights").joinpath(FILE).read_bytes())
    assert DEFAULT in known
    assert [name for name, each in known.items() if each.measured is None] == []
    assert all(0 < each.least < 1 and 0 < each.least_covered < 1 for each in known.values())
    assert relevance_of("all-MiniLM-L6-v2-int8") == known["all-minilm-l6-v2-int8"]
