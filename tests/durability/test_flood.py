"""A first look at very many files, and a very large transcript: bounded memory, answers meanwhile, and after a kill
nothing is read into memory twice."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.memory import Role
from tests.servers import Process, free_port, headers, token_for

MOST_MORE_MB = 150
ANSWERED_WITHIN_S = 5.0
"""A search may take a second while files are read; a busy machine gets five."""


def note(number: int) -> str:
    """A small note that no other repeats."""
    return (
        f"# Note {number}\n\nBoat {number} lies where it was left last autumn, behind the long shed by the water, and"
        f" somebody has to look after it before the first storm of winter {number % 97} comes over the bay.\n"
    )


def resident_mb(pid: int) -> float:
    """The memory a process has in hand."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("the process is gone")


class Reader:
    """A server that reads a followed folder, and who watches it."""

    def __init__(self, tmp_path: Path) -> None:
        self.data = tmp_path / "data"
        self.token = token_for(self.data, Role.ADMIN)
        self.process = Process("up", self.data, free_port())
        self.peak_mb = 0.0
        self.idle_mb = 0.0

    def start(self) -> None:
        self.process.start()

    def stop(self) -> None:
        if self.process.runs:
            self.process.stop()

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.process.url, headers=headers(self.token), trust_env=False, timeout=60
        )

    def follow(self, folder: Path, kind: str) -> None:
        """Have a folder followed; what the process held before is its idle memory."""
        with self.client() as client:
            client.post("/api/v1/search", json={"query": "warm up"}).raise_for_status()
            self.idle_mb = resident_mb(self.process.pid)
            body = {"agent_id": "alpha", "path": str(folder), "kind": kind}
            client.post("/api/v1/sources", json=body).raise_for_status()

    def wait(self, until: Callable[[dict[str, Any], int], bool], within_s: float) -> int:
        """Search and look again and again until it is so; the number of memories then."""
        deadline = time.monotonic() + within_s
        with self.client() as client:
            while time.monotonic() < deadline:
                began = time.monotonic()
                client.post("/api/v1/search", json={"query": "boat by the water"}).raise_for_status()
                assert time.monotonic() - began < ANSWERED_WITHIN_S
                self.peak_mb = max(self.peak_mb, resident_mb(self.process.pid))
                count = client.get("/api/v1/stats").raise_for_status().json()["active"]["memories"]
                fresh = client.get("/api/v1/freshness").raise_for_status().json()
                if until(fresh, count):
                    return int(count)
                time.sleep(0.5)
        raise AssertionError(f"not within {within_s} s: {fresh}, {count} memories")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    started = Reader(tmp_path)
    started.start()
    yield started
    started.stop()


SIZES = pytest.mark.parametrize(
    "share",
    [
        pytest.param(0.01, marks=[pytest.mark.integration, pytest.mark.timeout(600)]),
        pytest.param(1.0, marks=[pytest.mark.torture, pytest.mark.timeout(4 * 3600)]),
    ],
)


@SIZES
def test_very_many_files(tmp_path: Path, reader: Reader, share: float) -> None:
    files = round(100_000 * share)
    folder = tmp_path / "notes"
    for number in range(files):
        path = folder / f"{number // 500:04}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(note(number))
    reader.follow(folder, "markdown")
    part = reader.wait(lambda _fresh, count: count > files // 5, 3600 * share + 200)
    assert part < files
    reader.process.kill()
    reader.start()
    count = reader.wait(lambda fresh, count: fresh["clean"] and count >= files, 7200 * share + 300)
    assert count == files
    assert reader.peak_mb - reader.idle_mb < MOST_MORE_MB


def turn(number: int) -> str:
    """A line of a transcript; every hundredth is a tool's, with a picture of 700 kB."""
    text = f"We decided that boat number {number} is painted in colour {number % 89} before the spring comes."
    role, content = "user", [{"type": "text", "text": text}]
    if number % 100 == 99:
        role, content = "toolResult", [{"type": "image", "data": "A" * 700_000}]
    message = {"role": role, "content": content}
    line = {"type": "message", "id": f"e{number}", "timestamp": "2026-05-01T10:00:00Z", "message": message}
    return json.dumps(line) + "\n"


@SIZES
def test_a_very_large_transcript(tmp_path: Path, reader: Reader, share: float) -> None:
    turns = round(9_500 * share)
    folder = tmp_path / "sessions"
    folder.mkdir()
    head = {"type": "session", "version": 3, "id": "talk", "timestamp": "2026-05-01T09:00:00Z"}
    torn = turn(turns)[:60]
    with (folder / "talk.jsonl").open("w") as file:
        file.write(json.dumps(head) + "\n")
        file.writelines(turn(number) for number in range(turns))
        file.write(torn)
    said = turns - turns // 100
    reader.follow(folder, "transcripts")
    reader.wait(lambda _fresh, count: count > said // 5, 3600 * share + 200)
    reader.process.kill()
    reader.start()
    count = reader.wait(lambda fresh, count: fresh["clean"] and count >= said, 3600 * share + 200)
    assert count == said
    assert reader.peak_mb - reader.idle_mb < MOST_MORE_MB
    with (folder / "talk.jsonl").open("a") as file:
        file.write(turn(turns)[60:])
    assert reader.wait(lambda _fresh, count: count > said, 200) == said + 1
