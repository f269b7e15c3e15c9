"""Real processes of the product: started on loopback, ended by their own process id."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from noesis.control import Control, sqlite_url
from noesis.memory import Role
from noesis.tokens import Tokens

START_WITHIN_S = 60.0


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def quiet_environment(data: Path, **settings: str) -> dict[str, str]:
    """The environment of a process: this one's without our variables, and the settings given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOESIS_")}
    # Nothing listens there: texts wait for their vectors, and no process has to load a model.
    silent = {"NOESIS_EMBEDDER": "ollama", "NOESIS_OLLAMA_URL": "http://127.0.0.1:9"}
    # Nor does any find the OpenClaw of whoever runs the tests.
    alone = {"NOESIS_OPENCLAW_HOME": str(data.with_name(f"{data.name}-openclaw"))}
    return {**kept, "NOESIS_DATA": str(data), **silent, **alone, **settings}


class Process:
    """One `noesis` process (`up`, `api` or `worker`) with its output in a file."""

    def __init__(self, command: str, data: Path, port: int, **settings: str) -> None:
        self.command = command
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.output = data.with_name(f"{data.name}-{command}.log")
        self._arguments = [sys.executable, "-m", "noesis", command]
        self._environment = quiet_environment(data, NOESIS_PORT=str(port), **settings)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it serves; a worker is up at once."""
        with self.output.open("ab") as log:
            self._process = subprocess.Popen(
                self._arguments, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )
        if self.command != "worker":
            self._wait_until_ready()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it at once, as a power button would end the process."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """End it as a service manager does, and return its exit code."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_WITHIN_S
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                raise AssertionError(f"it ended at once:\n{self.output.read_text()[-3000:]}")
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health/ready", trust_env=False).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"it does not answer:\n{self.output.read_text()[-3000:]}")


@contextlib.contextmanager
def process(command: str, data: Path, **settings: str) -> Iterator[Process]:
    """A started process, ended at the end."""
    started = Process(command, data, free_port(), **settings)
    started.start()
    try:
        yield started
    finally:
        started.stop()


def token_for(data: Path, role: Role = Role.GATEWAY) -> str:
    """A token of a data directory for any agent, made beside the processes that use it."""
    import asyncio

    data.mkdir(parents=True, exist_ok=True)
    control = Control.open(sqlite_url(data / "control.sqlite"))
    try:
        agents = [] if role is Role.ADMIN else ["*"]
        _, secret = asyncio.run(
            Tokens(control, lambda: time.time_ns() // 1_000_000).create(role, agents, "test")
        )
        return secret
    finally:
        control.close()


def headers(token: str, agent: str = "alpha") -> dict[str, str]:
    """What a request of an agent carries."""
    return {"authorization": f"Bearer {token}", "x-noesis-agent": agent}


def all_memories(url: str, token: str, agent: str = "alpha") -> list[dict[str, object]]:
    """Every memory of an agent, page by page."""
    found: list[dict[str, object]] = []
    cursor = None
    with httpx.Client(base_url=url, headers=headers(token, agent), trust_env=False, timeout=60) as client:
        while True:
            params = {"limit": 200} | ({} if cursor is None else {"cursor": cursor})
            page = client.get("/api/v1/memories", params=params).raise_for_status().json()
            found += page["memories"]
            cursor = page["cursor"]
            if cursor is None:
                return found
