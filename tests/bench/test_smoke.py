"""Both benchmarks once against the running product, on next to no data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from bench import candidates, retrieval, speed
from bench.verdicts import Found
from tests.bench.test_locomo import TALKS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]


def run(command: Any, *words: str) -> str:
    """What the command prints; it must succeed."""
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_retrieval_finds_the_turns_that_answer(tmp_path: Path) -> None:
    """Six and three turns: each question's evidence is among ten hits, so recall at 10 is whole."""
    explained, figures = tmp_path / "explained.ndjson", tmp_path / "figures.json"
    shown = run(retrieval.main, "--data", str(TALKS), "--explain-out", str(explained), "--json", str(figures))
    assert "| all | 5 |" in shown
    everything, first, second = msgspec.json.decode(figures.read_bytes())["quality"][:3]
    assert everything["measures"]["R@10"] == [1, 1, 1]
    assert (first["questions"], second["questions"]) == (3, 2)

    lines = [msgspec.json.decode(line) for line in explained.read_bytes().splitlines()]
    assert lines[1]["gold"] == ["D2:1", "D2:2"]
    assert lines[0]["hits"][0]["dia_id"] == "D1:2"
    assert lines[0]["hits"][0]["explanation"]["vector_rank"] == 1
    assert "| all | 5 | 100.0 |" in run(candidates.main, str(explained))


def test_retrieval_without_its_data_says_so_and_is_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOESIS_BENCH_LOCOMO", str(tmp_path / "absent.json"))
    assert "nothing was measured" in run(retrieval.main)


def test_speed_measures_searches_writes_and_memory(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    words = ("--rows", "200", "--questions", "8", "--seconds", "0.5", "--json", str(figures))
    assert "targets met" in run(speed.main, *words)
    found = msgspec.json.decode(figures.read_bytes(), type=Found)
    assert [latency.clients for latency in found.sizes[0].latencies] == [1, 8]
    assert all(latency.ratio > 0 for latency in found.sizes[0].latencies)
    assert [(rate.writers, rate.embedding) for rate in found.rates] == [
        (writers, embedding) for embedding in (True, False) for writers in (1, 8, 64)
    ]
    assert all(rate.acknowledged >= rate.commits > 0 for rate in found.rates)
