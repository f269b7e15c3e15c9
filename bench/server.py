"""The running product: `noesis up` in a process of its own, and a keep-alive connection to it."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from noesis.api.access import SESSION_COOKIE
from noesis.memory import Role
from noesis.runtime import open_control, system_now_ms
from noesis.settings import load
from noesis.tokens import Tokens

START_WITHIN_S = 180.0
_STOP_WITHIN_S = 20.0
_LOOK_S = 0.05
_TIMEOUT_S = 900.0
_IDLE_S = 3.0
_CLIENT_SETTINGS = ("NOESIS_URL", "NOESIS_TOKEN", "NOESIS_AGENT")


class BenchError(click.ClickException):
    """The measurement cannot go on; the text says why, and the command ends with it."""


class Connection:
    """One client's connection.  Leaner than a full HTTP library, whose own milliseconds would be measured too."""

    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
        self._headers = dict(headers)
        self._used = time.monotonic()

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request with JSON in and out.  Raises BenchError when the answer is a problem."""
        content = None if body is None else msgspec.json.encode(body)
        return msgspec.json.decode(self.raw(method, path, content))

    def lines(self, path: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """NDJSON in and out, one answer per row in order.  Raises BenchError."""
        answer = self.raw("POST", path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        return [msgspec.json.decode(line) for line in answer.splitlines()]

    def raw(self, method: str, path: str, content: bytes | None) -> bytes:
        """The body of the answer.  Raises BenchError."""
        # The server hangs up on whoever is silent for five seconds.
        if time.monotonic() - self._used > _IDLE_S:
            self._http.close()
        try:
            self._http.request(method, path, content, self._headers)
            response = self._http.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            raise BenchError(f"{method} {path} was not answered: {type(error).__name__}") from error
        self._used = time.monotonic()
        if response.status >= 400:
            raise BenchError(f"{method} {path} answered {response.status}: {answer[:300].decode()}")
        return answer

    def close(self) -> None:
        """Hang up."""
        self._http.close()


class Server:
    """A started product: its port, its process id, an administrator's token."""

    def __init__(self, port: int, pid: int, token: str) -> None:
        self.port = port
        self.pid = pid
        self._token = token

    def connect(self, agent: str | None = None) -> Connection:
        """A connection that acts as this agent, or as the administrator."""
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        return Connection(self.port, headers | ({} if agent is None else {"x-noesis-agent": agent}))

    def browser(self, session: str) -> Connection:
        """A connection of a person who is logged in."""
        return Connection(self.port, {"cookie": f"{SESSION_COOKIE}={session}", "accept": "text/html"})

    def resident_mb(self) -> float:
        """The process's resident memory in MB, 0 where /proc does not tell."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0.0
        line = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0 kB")
        return int(line.split()[1]) / 1024

    def cpu_s(self) -> float:
        """The CPU time (s) the process has used, all its threads together; 0 where /proc does not tell."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def optimise(self) -> None:
        """Let the product compact and index its tables, and wait for the end of it.  Raises BenchError."""
        connection = self.connect()
        job_id = connection.call("POST", "/api/v1/optimize")["job_id"]
        until = time.monotonic() + _TIMEOUT_S
        while (job := connection.call("GET", f"/api/v1/jobs/{job_id}"))["state"] in ("queued", "running"):
            if time.monotonic() > until:
                raise BenchError("The upkeep did not end in time.")
            time.sleep(0.2)
        connection.close()
        if job["state"] != "succeeded":
            raise BenchError(f"The upkeep {job['state']}: {job['error']}")


@contextlib.contextmanager
def serving(directory: Path, token: str, **settings: str) -> Iterator[Server]:
    """The product on a data directory until the context ends.  Raises BenchError.

    `token` is an administrator's; `settings` are as `environment` takes them.
    """
    port = free_port()
    with (directory / "server.log").open("ab") as log:
        words = [_program(), "up", "--data", str(directory), "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(words, env=environment(directory, settings), stdout=log, stderr=log)
        try:
            server = Server(port, process.pid, token)
            _wait_until_ready(server, process, directory / "server.log")
            yield server
        finally:
            _end(process)


async def new_token(directory: Path) -> str:
    """The secret of a new administrator's token.  Raises SettingsError."""
    control = open_control(load(environment(directory, {})))
    try:
        _, secret = await Tokens(control, system_now_ms).create(Role.ADMIN, [], "benchmark")
    finally:
        control.close()
    return secret


def environment(directory: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The variables the product is started with.

    `settings` are NOESIS_* variables by their whole names; others come from the environment, except
    that the embedder is the local one unless named.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _CLIENT_SETTINGS}
    return {"NOESIS_EMBEDDER": "local", **inherited, **settings, "NOESIS_DATA": str(directory)}


def free_port() -> int:
    """A TCP port of this machine that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _program() -> str:
    return str(Path(sys.executable).with_name("noesis"))


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until and process.poll() is None:
        connection = server.connect()
        try:
            connection.raw("GET", "/health/ready", None)
        except BenchError:
            time.sleep(_LOOK_S)
        else:
            return
        finally:
            connection.close()
    raise BenchError(f"The server did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
