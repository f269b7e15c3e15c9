"""The peers' protocol, tried with a tiny peer, and what is told of those that fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from bench.locomo import Question
from bench.peers import report
from bench.peers.adapters.fusion import fused
from bench.peers.adapters.protocol import conversation, is_here
from bench.peers.environments import interpreter
from bench.peers.process import PeerFailed, PeerProcess, environment, started
from bench.peers.report import Comparison
from bench.peers.roster import PEERS, Peer
from bench.peers.trial import through
from bench.peers.vectors import Vectors
from bench.talks import Entry, Talk
from tests.bench.tiny_peer import Tiny

COMMAND = [sys.executable, "-m", "tests.bench.tiny_peer"]
TEXTS = [
    {"id": "a", "text": "apples", "vector": [1.0, 0.0], "created_at": 0.0},
    {"id": "b", "text": "pears", "vector": [0.0, 1.0], "created_at": 0.0},
]


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[PeerProcess]:
    with started(COMMAND, tmp_path, within_s=30) as process:
        yield process


def talk(name: str, *texts: str) -> Talk:
    """Entries e1, e2 and so on; one question, which the last of them answers."""
    entries = tuple(
        Entry(f"e{number}", {"text": text, "author": "Ada", "created_at": "2025-03-03T09:05:00Z"})
        for number, text in enumerate(texts, 1)
    )
    return Talk(name, entries, (Question("What?", 0, frozenset({f"e{len(texts)}"})),))


def test_texts_that_were_added_are_found_best_first(peer: PeerProcess, tmp_path: Path) -> None:
    peer.begin("one")
    assert peer.add(TEXTS) >= 0
    ids, took = peer.query("fruit", [0.2, 0.8], 10)
    assert (ids, took >= 0) == (("b", "a"), True)
    assert peer.query("fruit", [0.2, 0.8], 1)[0] == ("b",)
    assert (tmp_path / "started").is_file()


def test_a_new_collection_is_empty(peer: PeerProcess) -> None:
    peer.begin("one")
    peer.add(TEXTS)
    peer.begin("two")
    assert peer.query("fruit", [1.0, 0.0], 10)[0] == ()


def test_a_peer_tells_its_version_and_what_it_prints_is_no_answer(peer: PeerProcess) -> None:
    assert peer.version == version("msgspec")


def test_an_error_is_told_by_its_name(peer: PeerProcess) -> None:
    peer.begin("one")
    with pytest.raises(PeerFailed, match="ValueError: nothing is found today"):
        peer.query("fail", [1.0, 0.0], 10)


def test_a_peer_that_cannot_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(PeerFailed, match="RuntimeError: no such luck"),
        started(COMMAND, tmp_path, ["unwilling"]),
    ):
        pass


def test_a_peer_that_dies_is_no_more_than_a_failure(peer: PeerProcess) -> None:
    peer.begin("one")
    with pytest.raises(PeerFailed, match="its process ended with 1; it wrote last: a word that is no answer"):
        peer.query("die", [1.0, 0.0], 10)


def test_a_peer_that_hangs_is_stopped(tmp_path: Path) -> None:
    hanging = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with pytest.raises(PeerFailed, match=r"no answer in 0\.5 s"), started(hanging, tmp_path, within_s=0.5):
        pass


def test_a_peer_that_calls_home_is_refused(peer: PeerProcess) -> None:
    peer.begin("one")
    with pytest.raises(PeerFailed, match="PermissionError: A peer is measured without the network"):
        peer.query("call home", [1.0, 0.0], 10)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost", b"localhost", "", None])
def test_this_machine_may_be_called(host: str | bytes | None) -> None:
    assert is_here(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "telemetry.example", b"telemetry.example", "2001:db8::1", "::"]
)
def test_no_other_machine_may_be_called(host: str | bytes) -> None:
    assert not is_here(host)


def test_a_peer_knows_neither_home_nor_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOESIS_TOKEN", "secret")
    given = environment(tmp_path)
    assert (given["HOME"], "NOESIS_TOKEN" in given) == (str(tmp_path), False)
    assert given["https_proxy"].startswith("http://127.0.0.1:")


def test_the_conversation_ends_after_an_error(tmp_path: Path) -> None:
    lines = [json.dumps({"begin": "one"}), json.dumps({"query": "fail", "vector": [], "limit": 1})]
    answers = conversation(Tiny(tmp_path), [*lines, *lines])
    assert [next(answers), next(answers)] == [{}, {"error": "ValueError: nothing is found today"}]
    with pytest.raises(ValueError, match="nothing is found"):
        next(answers)


def test_a_trial_searches_each_talk_by_itself(peer: PeerProcess) -> None:
    talks = [talk("one", "apples", "pears"), talk("two", "plums")]
    vectors = [
        Vectors(np.eye(2, dtype=np.float32), np.array([[0.0, 1.0]], dtype=np.float32)),
        Vectors(np.eye(2, dtype=np.float32)[:1], np.array([[1.0, 0.0]], dtype=np.float32)),
    ]
    found = through(peer, talks, vectors)
    assert [asked.ranked for asked in found.asked] == [("e2", "e1"), ("e1",)]
    assert found.add_ms > 0
    line = report.measured("tiny", found, "by vectors")
    assert line.quality is not None
    assert line.quality.measures["R@5"] == (1, 1, 1)


def test_a_system_that_failed_has_a_line_and_no_figures() -> None:
    lines = [report.failed("tiny", "did not install: no wheel")]
    shown = report.text(Comparison("here", "LoCoMo", 1, 2, 3.0, lines))
    assert "| tiny |  |  |  |  |  |  |  | did not install: no wheel |" in shown


def test_what_does_not_install_is_a_failure_that_says_so(tmp_path: Path) -> None:
    """A file that names no package at all: nothing is asked of any registry."""
    pins = tmp_path / "odd.txt"
    pins.write_text("=== not a requirement\n")
    with pytest.raises(PeerFailed, match="did not install"):
        interpreter(pins, tmp_path)


def test_an_environment_is_made_once(tmp_path: Path) -> None:
    pins = tmp_path / "none.txt"
    pins.write_text("# nothing\n")
    python = interpreter(pins, tmp_path)
    python.with_name("kept").touch()
    assert interpreter(pins, tmp_path) == python
    assert python.with_name("kept").exists()


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: f"{peer.name} {peer.how}")
def test_every_peer_has_pins_with_its_version(peer: Peer) -> None:
    assert f"\n{peer.name}==" in f"\n{peer.pins.read_text()}"
    lines = peer.pins.read_text().splitlines()
    assert [line for line in lines if "==" not in line] == []


def test_what_both_rankings_hold_comes_first() -> None:
    assert fused([["a", "b", "c"], ["c", "d"]], 3) == ["c", "a", "b"]


def test_adapters_need_nothing_of_the_product() -> None:
    folder = Path(__file__).parents[2] / "bench/peers/adapters"
    assert {path.stem for path in folder.glob("*.py")} >= {peer.adapter for peer in PEERS}
    assert [path.name for path in folder.glob("*.py") if "noesis" in path.read_text()] == []
