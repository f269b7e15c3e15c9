"""The clock of the whole process steps by years, with libfaketime: what has expired is not touched unasked."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.servers import Process, headers, process, token_for

pytestmark = pytest.mark.integration

JOB_WITHIN_S = 30.0
STEP_WITHIN_S = 30.0
READ_EVERY_S = 1
LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


class SteppingClock:
    """A file from which a process under libfaketime reads how far its clock is off."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.step(0)

    def step(self, days: int) -> None:
        """Set the clock off by so many days; a process sees it within two seconds."""
        self._file.write_text(f"{days:+d}d\n")

    @property
    def environment(self) -> dict[str, str]:
        """What makes a process believe it; the time since the start, which a step does not touch, stays true."""
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": str(READ_EVERY_S),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


class Client:
    """An agent and the administrator of a running process."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def call(self, method: str, address: str, **options: Any) -> Any:
        reply = self._http.request(method, f"/api/v1{address}", **options)
        assert reply.is_success, reply.text
        return reply.json()

    def sees_clock_off_by(self, days: int) -> None:
        """Wait until the process's own clock, as it stands in the head of its answers, is off by so much."""
        deadline = time.monotonic() + STEP_WITHIN_S
        expected = dt.datetime.now(dt.UTC) + dt.timedelta(days=days)
        while abs(self._time() - expected) > dt.timedelta(hours=1):
            assert time.monotonic() < deadline, f"the process did not see its clock step by {days} days"
            time.sleep(0.1)

    def _time(self) -> dt.datetime:
        return parsedate_to_datetime(self._http.get("/health").headers["Date"])

    def index(self, text: str, **options: Any) -> None:
        self.call("POST", "/memories", json={"text": text, **options})

    def found(self, archive: str = "never") -> set[str]:
        """The texts that a search for badgers finds."""
        query = {"query": "badger", "mode": "keyword", "limit": 50, "archive": archive}
        return {hit["text"] for hit in self.call("POST", "/search", json=query)["hits"]}

    def clean(self) -> None:
        """Run a cleanup to its end."""
        job_id = self.call("POST", "/cleanup")["job_id"]
        deadline = time.monotonic() + JOB_WITHIN_S
        while self.call("GET", f"/jobs/{job_id}")["state"] in {"queued", "running"}:
            assert time.monotonic() < deadline, "the cleanup did not end"
            time.sleep(0.1)

    def cleanup_health(self) -> str:
        parts = self._http.get("/health").json()["parts"]
        return str(next(part["summary"] for part in parts if part["name"] == "cleanup"))


@pytest.fixture
def clock(tmp_path: Path) -> SteppingClock:
    return SteppingClock(tmp_path / "clock")


@pytest.fixture
def client(tmp_path: Path, clock: SteppingClock) -> Iterator[Client]:
    data = tmp_path / "data"
    token = token_for(data)
    with process("up", data, **clock.environment) as served, _http(served, token) as http:
        yield Client(http)


def _http(served: Process, token: str) -> httpx.Client:
    return httpx.Client(base_url=served.url, headers=headers(token), trust_env=False, timeout=60)


def test_a_step_of_the_clock_while_it_runs_archives_nothing(client: Client, clock: SteppingClock) -> None:
    texts = {f"badger number {number}" for number in range(5)}
    for text in texts:
        client.index(text)
    client.clean()
    for days, still_found in ((3650, set[str]()), (-2, texts)):
        clock.step(days)
        client.sees_clock_off_by(days)
        client.clean()
        assert "clock" in client.cleanup_health()
        assert client.found() == still_found, "what has expired is in no answer"
        assert client.found("only") == set(), "nor is it archived by a clock that nobody vouched for"
    client.index("badger of the wrong time")
    clock.step(0)
    client.sees_clock_off_by(0)
    client.clean()
    assert client.found() == texts | {"badger of the wrong time"}
    assert client.found("only") == set()
