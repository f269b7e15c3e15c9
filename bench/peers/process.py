"""A peer in a process of its own, without the network, spoken to in lines of JSON."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.server import free_port

ROOT = Path(__file__).parents[2]

_ANSWER_WITHIN_S = 900.0
_STOP_WITHIN_S = 20.0


class PeerFailed(Exception):
    """A peer cannot be measured, or no further; the text says why and becomes its line of the table."""


class PeerProcess:
    """A started peer: the requests of `bench.peers.adapters.protocol` as methods."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, within_s: float) -> None:
        self._process = process
        self._log = log
        self._within_s = within_s
        self._late = False
        self.version = str(self._answer()["ready"])

    def begin(self, name: str) -> None:
        """Start an empty collection.  Raises PeerFailed."""
        self._ask({"begin": name})

    def add(self, texts: Sequence[Mapping[str, Any]]) -> float:
        """Store the texts; how long it took (ms).  Raises PeerFailed."""
        return float(self._ask({"add": texts})["ms"])

    def query(self, text: str, vector: Sequence[float], limit: int) -> tuple[tuple[str, ...], float]:
        """The ids found, best first, and how long it took (ms).  Raises PeerFailed."""
        answer = self._ask({"query": text, "vector": vector, "limit": limit})
        return tuple(answer["ids"]), float(answer["ms"])

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(request) + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise PeerFailed(f"stopped: {self._last_words()}") from error
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        late = threading.Timer(self._within_s, self._give_up)
        late.start()
        try:
            line = self._process.stdout.readline()
        finally:
            late.cancel()
        if not line:
            raise PeerFailed(f"stopped: {self._last_words()}")
        answer = msgspec.json.decode(line, type=dict[str, Any])
        if "error" in answer:
            raise PeerFailed(f"stopped: {answer['error']}")
        return answer

    def _give_up(self) -> None:
        self._late = True
        self._process.kill()

    def _last_words(self) -> str:
        if self._late:
            return f"no answer in {self._within_s:g} s"
        lines = self._log.read_text(errors="replace").strip().splitlines()
        ended = f"its process ended with {self._process.wait(_STOP_WITHIN_S)}"
        return f"{ended}; it wrote last: {lines[-1][:200]}" if lines else ended


@contextlib.contextmanager
def started(
    command: Sequence[str], directory: Path, words: Sequence[str] = (), *, within_s: float = _ANSWER_WITHIN_S
) -> Iterator[PeerProcess]:
    """The peer that a command starts, until the context ends.  Raises PeerFailed.

    It keeps its files in `directory`; each answer has `within_s` seconds to come.
    """
    log = directory / "peer.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, str(directory), *words],
            cwd=ROOT,
            env=environment(directory),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            yield PeerProcess(process, log, within_s)
        finally:
            _end(process)


def environment(directory: Path) -> dict[str, str]:
    """What a peer is started with: its own home, no telemetry, and no way out to the network.

    Its adapter refuses what Python connects to; the proxy, at which nobody listens, takes the rest.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NOESIS_")}
    nowhere = f"http://127.0.0.1:{free_port()}"
    proxies = {
        spelt: nowhere
        for name in ("http_proxy", "https_proxy", "all_proxy")
        for spelt in (name, name.upper())
    }
    return {
        **inherited,
        **proxies,
        "NO_PROXY": "",
        "no_proxy": "",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "MEM0_TELEMETRY": "False",
        "HOME": str(directory),
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    # A peer that died leaves the last request unread, which closing finds out.
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
