"""A 2xx is sent only after everything it stands for is on the disk, seen from the system calls."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers import Process, headers, process, token_for

pytestmark = pytest.mark.integration

RENAMES = ("link", "linkat", "rename", "renameat", "renameat2")
CALL = re.compile(r"^\d+\s+(?:<\.\.\. )?(\w+)")


class Trace:
    """strace attached to a running process: the calls that link, sync and send, in the order they ended."""

    def __init__(self, pid: int, output: Path) -> None:
        self._output = output
        calls = ",".join((*RENAMES, "syncfs", "fsync", "fdatasync", "sendto"))
        messages = output.with_suffix(".messages")
        with messages.open("wb") as said:
            self._process = subprocess.Popen(
                ["strace", "-f", "-y", "-s", "40", "-e", f"trace={calls}", "-o", str(output), "-p", str(pid)],
                stderr=said,
            )
        while "attached" not in messages.read_text():
            if self._process.poll() is not None:
                pytest.skip("no-ptrace: this machine does not let a process be traced")
            time.sleep(0.05)

    def calls(self, data: Path) -> list[tuple[str, str]]:
        """End it; each finished call that concerns the data directory or a client: name and line."""
        time.sleep(0.3)
        self._process.terminate()
        self._process.wait()
        found = []
        for line in self._output.read_text(errors="replace").splitlines():
            matched = CALL.match(line)
            if matched is None or line.endswith("<unfinished ...>"):
                continue
            name = matched[1]
            if name not in RENAMES or "resumed" in line or str(data) in line:
                found.append((name, line))
        return found


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    if shutil.which("strace") is None:
        pytest.skip("no-ptrace: strace is not installed")
    with process("up", tmp_path / "data") as started:
        yield started


def post(server: Process, token: str, text: str) -> int:
    response = httpx.post(
        f"{server.url}/api/v1/memories",
        json={"text": text},
        headers=headers(token),
        trust_env=False,
        timeout=60,
    )
    return response.status_code


def assert_synced_before_each_answer(calls: list[tuple[str, str]], answers: int) -> None:
    """Between the last link or rename and every 2xx there is a finished sync."""
    unsynced: str | None = None
    seen = 0
    for name, line in calls:
        if name in RENAMES:
            unsynced = line
        elif name == "syncfs" and line.rstrip().endswith("= 0"):
            unsynced = None
        elif name == "sendto" and re.search(r"HTTP/1\.1 20[01]", line):
            seen += 1
            assert unsynced is None, f"answered before it was synced: {unsynced}"
    assert seen == answers


def test_a_new_memory_is_synced_before_it_is_acknowledged(server: Process, tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = token_for(data)
    assert post(server, token, "the first one warms everything up") == 201
    trace = Trace(server.pid, tmp_path / "trace")
    for number in range(5):
        assert post(server, token, f"memory number {number}") == 201
    calls = trace.calls(data)
    assert sum(name in RENAMES for name, _ in calls) >= 5, "the trace does not show the commits"
    assert_synced_before_each_answer(calls, answers=5)


def test_a_repeat_of_what_another_process_wrote_is_synced_before_it_is_acknowledged(
    server: Process, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    token = token_for(data)
    with process("api", data) as other:
        assert post(other, token, "the other process wrote this") == 201
        trace = Trace(server.pid, tmp_path / "trace")
        assert post(server, token, "the other process wrote this") == 200
        calls = trace.calls(data)
    names = [name for name, line in calls if name == "syncfs" or "HTTP/1.1 200" in line]
    assert names[:1] == ["syncfs"]
    assert "sendto" in names
