"""Each benchmark once against the running product, on next to no data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from bench import candidates, crowding, retrieval, scale, speed
from bench.growth import Growth
from bench.peers.__main__ import main as peers
from bench.peers.report import Comparison
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
    words = ("--rows", "200", "--questions", "8", "--seconds", "0.3", "--files", "20", "--json", str(figures))
    assert "targets met" in run(speed.main, *words)
    found = msgspec.json.decode(figures.read_bytes(), type=Found)
    assert [latency.clients for latency in found.sizes[0].latencies] == [1, 8]
    assert all(latency.ratio > 0 for latency in found.sizes[0].latencies)
    assert {"/", "/stats", "/memories/{id}", "/?q="} < {page.page for page in found.sizes[0].pages}
    assert [(rate.writers, rate.embedding) for rate in found.rates] == [
        (writers, embedding) for embedding in (True, False) for writers in (1, 8, 64)
    ]
    assert all(rate.acknowledged >= rate.commits > 0 for rate in found.rates)
    assert found.inflow is not None
    assert (found.inflow.files, found.inflow.chunks) == (20, 40)
    assert found.inflow.slowdown > 0 < found.inflow.felt


def test_scale_measures_searches_beside_bare_queries(tmp_path: Path) -> None:
    figures, curves = tmp_path / "figures.json", tmp_path / "curves.svg"
    words = ("--rows", "150,300", "--clients", "1,2", "--questions", "8")
    shown = run(scale.main, *words, "--json", str(figures), "--plot", str(curves))
    assert "| 300 | 2 |" in shown
    found = msgspec.json.decode(figures.read_bytes(), type=Growth)
    assert [step.memories for step in found.steps] == [150, 300]
    assert all(item.bare[0] > 0 < item.apart[0] < item.whole[0] for item in found.steps[0].searches)
    # So few are searched without an index, which finds what an exact search finds.
    assert found.steps[0].recall.as_searched == 1
    assert curves.read_text().startswith("<svg")


def test_the_product_stands_among_its_peers(tmp_path: Path) -> None:
    """Alone here: the peers would have to be installed first."""
    figures = tmp_path / "figures.json"
    places = ("--cache", str(tmp_path), "--json", str(figures))
    assert "| noesis " in run(peers, "--data", str(TALKS), "--only", "noesis", *places)
    found = msgspec.json.decode(figures.read_bytes(), type=Comparison)
    assert (found.data, found.conversations, found.questions) == ("LoCoMo", 2, 5)
    assert found.lines[0].quality is not None
    assert found.lines[0].quality.measures["R@10"] == (1, 1, 1)


def test_crowding_measures_one_agents_searches_beside_anothers_writes() -> None:
    shown = run(crowding.main, "--rows", "100", "--questions", "8")
    assert "| no limit |" in shown
    assert "| 600 writes a minute |" in shown
