"""Noesis goes away, hangs, fails and refuses in mid-conversation: replies come in time and nothing is lost."""

from __future__ import annotations

import contextlib
import json
import statistics
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.plugin.conftest import Stage, until
from tests.plugin.scripted_model import system_of

pytestmark = [pytest.mark.plugin, pytest.mark.xdist_group("openclaw"), pytest.mark.timeout(500)]

LATER_S = 2.5
HANGS_S = 20.0


class StandIn(ThreadingHTTPServer):
    """A server where Noesis was.  `kind` is what it does: hangs, fails, refuses, or is well but takes no turns."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Answers)
        self.kind = "well"
        self.closing = threading.Event()

    def status_of(self, path: str) -> int:
        if self.kind == "hangs":
            self.closing.wait(HANGS_S)
        if self.kind == "well":
            return 403 if path.endswith("/turns") else 200
        return {"hangs": 200, "fails": 500, "refuses": 401}[self.kind]


class _Answers(BaseHTTPRequestHandler):
    server: StandIn

    def _answer(self) -> None:
        status = self.server.status_of(self.path)
        body = json.dumps({"status": status, "title": "No", "code": "stand_in"}).encode()
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's own name
        pass


@contextlib.contextmanager
def standing_in(port: int) -> Iterator[StandIn]:
    server = StandIn(port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def bare_s(stage: Stage) -> float:
    """How long a turn of the host alone takes: one with Noesis, without what Noesis is asked in it."""
    stage.openclaw.turn("warming up the engine here", session="timed")
    turns, asked = [], []
    for number in range(3):
        turns.append(stage.openclaw.timed_turn(f"turn number {number} of the plain ones", session="timed")[1])
        began = time.monotonic()
        stage.ask("POST", "/context/assemble", json={"prompt": f"turn number {number} of the plain ones"})
        asked.append(time.monotonic() - began)
    return max(0.0, statistics.median(turns) - statistics.median(asked))


@pytest.fixture(autouse=True)
def runs_again(stage: Stage) -> Iterator[None]:
    """Whatever a test finds out, Noesis runs for the next one."""
    yield
    if not stage.noesis.runs:
        stage.noesis.start()


def warnings_of(stage: Stage, since: int) -> list[str]:
    return [line for line in stage.openclaw.log()[since:].splitlines() if "noesis: Noesis" in line]


def test_while_noesis_is_stopped_replies_come_and_turns_wait(stage: Stage, bare_s: float) -> None:
    openclaw, noesis = stage.openclaw, stage.noesis
    openclaw.turn("We decided to paint the boat white.", session="outage")
    stage.wait_for_memory("paint the boat")
    logged = len(openclaw.log())
    noesis.stop()
    decisions = [f"We decided to moor at pier {pier}." for pier in ("Amber", "Birch", "Cedar")]
    took_s = [openclaw.timed_turn(text, session="outage")[1] for text in decisions]
    assert_in_time(took_s, bare_s)
    stage.model.scripts["look it up"] = [{"memory_search": {"query": "boat"}}, "I cannot look."]
    reply, asked_s = openclaw.timed_turn("Please look it up.", session="outage")
    assert reply == "I cannot look."
    assert_in_time([asked_s], bare_s)
    assert "Noesis cannot be reached" in stage.model.results("look it up")["memory_search"]
    assert len(warnings_of(stage, logged)) == 1
    noesis.start()
    for text in decisions:
        stage.wait_for_memory(text)
    texts = stage.texts()
    assert [texts.count(text) for text in decisions] == [1, 1, 1]
    _wait_for_end_of_outage(stage, logged)
    assert len(warnings_of(stage, logged)) == 2
    openclaw.turn("Where do we moor the boat?", session="after-outage")
    assert "pier Cedar" in system_of(stage.model.sent("Where do we moor the boat?")[-1])


def assert_in_time(took_s: list[float], bare_s: float) -> None:
    """Replies came in time; one may have met a machine that was busy with something else, but none waited for Noesis."""
    assert min(took_s) - bare_s < LATER_S
    assert max(took_s) - bare_s < HANGS_S / 2


SAID = {"hangs": "did not answer within", "fails": "failed (500)", "refuses": "refuses the token"}


def test_while_noesis_hangs_fails_or_refuses_replies_come_in_time(stage: Stage, bare_s: float) -> None:
    stage.noesis.stop()
    with standing_in(stage.noesis.port) as server:
        for kind, words in SAID.items():
            logged = len(stage.openclaw.log())
            server.kind = kind
            texts = [f"We decided that a server which {kind} gets flag {number}." for number in (1, 2, 3)]
            assert_in_time([stage.openclaw.timed_turn(text, session=kind)[1] for text in texts], bare_s)
            server.kind = "well"
            _wait_for_end_of_outage(stage, logged)
            first, *others = warnings_of(stage, logged)
            assert words in first
            assert ["answers again" in line for line in others] == [True]
    stage.noesis.start()
    wanted = [
        f"We decided that a server which {kind} gets flag {number}." for kind in SAID for number in (1, 2)
    ]
    for text in wanted:
        stage.wait_for_memory(text)
    texts = stage.texts()
    assert [texts.count(text) for text in wanted] == [1] * len(wanted)


def _wait_for_end_of_outage(stage: Stage, logged: int) -> None:
    until(lambda: "answers again" in stage.openclaw.log()[logged:], "the end of the outage in the log")
