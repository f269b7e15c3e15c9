"""The benchmark of many languages: its data, its means, and one small run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from bench import multilingual
from bench.multilingual import Figures, Row, load


def test_the_data_holds_many_languages_and_both_kinds_of_question() -> None:
    """Eight languages and more; 24 memories and ten questions each, half of them in other words."""
    languages = load()
    assert len({one.language for one in languages} - {"code", "accents"}) >= 8
    for one in languages:
        ids = {memory.id for memory in one.memories}
        assert len(ids) == len({memory.text for memory in one.memories}) == 24, one.name
        assert Counter(item.kind for item in one.questions) == {"exact": 5, "paraphrase": 5}, one.name
        assert len({item.question for item in one.questions}) == 10, one.name
        assert all(item.evidence and item.evidence <= ids for item in one.questions), one.name


def test_the_last_lines_are_means_over_all_questions() -> None:
    rows = [
        Row("local", name, kind, 5, {"R@1": share, "R@5": 1.0, "MRR": share})
        for name, share in (("Greek", 0.2), ("Thai", 0.6))
        for kind in multilingual.KINDS
    ]
    shown = multilingual.text(Figures("here", "hybrid", rows)).splitlines()
    assert "| Thai | local | 10 | 60 | 100 | 60 | 60 | 100 | 60 |" in shown
    assert "| all | local | 20 | 40 | 100 | 40 | 40 | 100 | 40 |" in shown


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_two_languages_are_measured_over_http(tmp_path: Path) -> None:
    """Among 24 memories, a question in a memory's own words finds it."""
    out = tmp_path / "figures.json"
    words = ["--language", "fr", "--language", "code", "--json", str(out)]
    result = CliRunner().invoke(multilingual.main, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "| all | local | 20 |" in result.stdout
    figures = msgspec.json.decode(out.read_bytes(), type=Figures)
    assert [(row.language, row.kind) for row in figures.rows] == [
        (name, kind) for name in ("French", "Code and identifiers") for kind in multilingual.KINDS
    ]
    assert all(row.measures["R@5"] >= 0.8 for row in figures.rows if row.kind == "exact")
    assert all(0 <= value <= 1 for row in figures.rows for value in row.measures.values())


def test_a_language_that_is_not_there_is_refused() -> None:
    result = CliRunner().invoke(multilingual.main, ["--language", "tlh"])
    assert result.exit_code == 2
    assert "none of these" in result.output
