"""A Valkey on a unix socket that a test starts, stops and spoils."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from noesis.redis_server import find_server


class Valkey:
    """One server process; `stop` loses nothing (append-only file), `start` brings it back."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._sockets = tempfile.TemporaryDirectory(prefix="noesis-test-")
        self._socket = Path(self._sockets.name) / "s"
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"unix://{self._socket}"

    def start(self) -> None:
        command = [str(find_server()), "--port", "0", "--unixsocket", str(self._socket), "--save", ""]
        command += ["--dir", str(self._directory), "--appendonly", "yes", "--maxmemory-policy", "noeviction"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < deadline, "valkey does not start"
            time.sleep(0.01)

    def _answers(self) -> bool:
        try:
            return bool(self.ask("PING"))
        except RedisError:
            return False

    def ask(self, *words: str) -> Any:
        """Send one command."""
        with Redis(unix_socket_path=str(self._socket)) as client:
            return client.execute_command(*words)

    def halt(self) -> None:
        """End the process; the directory stays."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None

    def stop(self) -> None:
        self.halt()
        self._sockets.cleanup()

    def everything(self) -> bytes:
        """All keys and values it holds and ever wrote down, as bytes to look through."""
        files = sorted(path for path in self._directory.rglob("*") if path.is_file())
        return b"".join(path.read_bytes() for path in files)
