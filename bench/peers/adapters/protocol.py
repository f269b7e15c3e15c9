"""A peer's end of the line protocol: one JSON object a line, requests on stdin and answers on stdout.

First comes {"ready": version}.  Then each request has one answer:
{"begin": name} starts an empty collection: {};
{"add": [{"id", "text", "vector", "created_at"}, ...]} stores the texts: {"ms"};
{"query": text, "vector": [...], "limit": n} searches the newest collection: {"ids", "ms"}, best first.
After {"error": text} the peer ends.  Standard library only.
"""

from __future__ import annotations

import ipaddress
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TextIO, TypedDict


class Text(TypedDict):
    """A text to store; `created_at` in seconds since 1970."""

    id: str
    text: str
    vector: list[float]
    created_at: float


class Peer(Protocol):
    """What an adapter gives."""

    def begin(self, name: str) -> None:
        """Start an empty collection; the ones before are not asked any more."""

    def add(self, texts: Sequence[Text]) -> None:
        """Store all of them, indexes included."""

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:
        """The ids of the best texts, best first."""


def run(start: Callable[[Path], Peer], package: str) -> None:
    """Serve a peer that keeps its files in the directory named by the first argument."""
    # Some peers print, and their words must not be taken for answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    refuse_network()
    try:
        peer = start(Path(sys.argv[1]))
    except Exception as error:
        _send(answers, {"error": _told(error)})
        raise
    _send(answers, {"ready": version(package)})
    for answer in conversation(peer, sys.stdin):
        _send(answers, answer)


def conversation(peer: Peer, requests: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The answer to each line; ends after the first error."""
    for line in requests:
        try:
            yield _answer(peer, json.loads(line))
        except Exception as error:
            yield {"error": _told(error)}
            raise


def _answer(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    if "begin" in request:
        peer.begin(request["begin"])
        return {}
    if "add" in request:
        peer.add(request["add"])
        return {"ms": _since(began)}
    ids = peer.query(request["query"], request["vector"], request["limit"])
    return {"ms": _since(began), "ids": ids}


def refuse_network() -> None:
    """Make every connection that leaves this machine fail, for as long as the process lives."""

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "socket.getaddrinfo":
            host = arguments[0]
        elif event == "socket.connect" and isinstance(arguments[1], tuple):
            host = arguments[1][0]
        else:
            return
        if not is_here(host):
            raise PermissionError("A peer is measured without the network.")

    sys.addaudithook(check)


def is_here(host: str | bytes | None) -> bool:
    """Whether a host is this machine itself; names are not looked up."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _send(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
