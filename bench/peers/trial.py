"""What one system found, and how long it took: the peers through their processes, the product over HTTP."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.peers.environments import interpreter
from bench.peers.process import PeerProcess, started
from bench.peers.roster import Peer
from bench.peers.vectors import Matrix, Vectors
from bench.reports import Asked
from bench.retrieval import ask
from bench.server import BenchError, Connection, Server, new_token, serving
from bench.talks import Talk
from noesis import __version__

LIMIT = 10
"""Hits of a question."""

_VECTORS_WITHIN_S = 600.0


class Trial(msgspec.Struct, frozen=True):
    """A system's version, the questions as it answered them, and its time to add a text (ms)."""

    version: str
    asked: list[Asked]
    add_ms: float


def of_peer(peer: Peer, talks: Sequence[Talk], vectors: Sequence[Vectors], cache: Path) -> Trial:
    """Measure a peer in an environment and a process of its own.  Raises PeerFailed."""
    python = interpreter(peer.pins, cache)
    command = [str(python), "-m", f"bench.peers.adapters.{peer.adapter}"]
    with (
        tempfile.TemporaryDirectory(prefix="noesis-bench-") as place,
        started(command, Path(place), peer.words) as process,
    ):
        return through(process, talks, vectors)


def through(process: PeerProcess, talks: Sequence[Talk], vectors: Sequence[Vectors]) -> Trial:
    """Let a started peer store and search each talk by itself.  Raises PeerFailed."""
    asked: list[Asked] = []
    add_ms = 0.0
    for number, (talk, of_talk) in enumerate(zip(talks, vectors, strict=True)):
        process.begin(talk.name)
        add_ms += process.add(texts(talk, of_talk.entries))
        given = [vector.tolist() for vector in of_talk.questions]
        # The first question also pays for what a peer loads or builds at first use.
        process.query("warm up", given[0], LIMIT)
        for question, vector in zip(talk.questions, given, strict=True):
            ids, took = process.query(question.text, vector, LIMIT)
            asked.append(Asked(number, question, tuple(dict.fromkeys(ids)), (), took, took, 0.0, took))
    return Trial(process.version, asked, add_ms / sum(len(talk.entries) for talk in talks))


def texts(talk: Talk, vectors: Matrix) -> list[dict[str, Any]]:
    """A talk's texts as the protocol takes them."""
    return [
        {"id": entry.id, "text": entry.spoken, "vector": vector.tolist(), "created_at": entry.created_at}
        for entry, vector in zip(talk.entries, vectors, strict=True)
    ]


def of_product(talks: Sequence[Talk]) -> Trial:
    """Measure the product, started on an empty directory; it makes the vectors itself.  Raises BenchError."""
    with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
        token = asyncio.run(new_token(Path(place)))
        with serving(Path(place), token) as server:
            began = time.perf_counter()
            ids = [_index(server, talk) for talk in talks]
            _wait_until_ready(server, len({memory for of_talk in ids for memory in of_talk}))
            add_ms = (time.perf_counter() - began) * 1000
            server.optimise()
            asked = [
                answer
                for number, (talk, of_talk) in enumerate(zip(talks, ids, strict=True))
                for answer in _ask(server, number, talk, of_talk)
            ]
    return Trial(__version__, asked, add_ms / sum(len(talk.entries) for talk in talks))


def agent_of(talk: Talk) -> str:
    """The agent that remembers a talk."""
    return f"bench-{talk.name.lower()}"


def _index(server: Server, talk: Talk) -> dict[str, str]:
    """Store a talk; the entry of each memory's id."""
    connection = server.connect(agent_of(talk))
    answers = connection.lines("/api/v1/memories/bulk", [entry.body for entry in talk.entries])
    connection.close()
    failed = [answer for answer in answers if "id" not in answer]
    if failed or len(answers) != len(talk.entries):
        raise BenchError(f"{talk.name}: {len(answers)} answers for {len(talk.entries)}, failed: {failed[:1]}")
    # Two equal texts are one memory, which stands for the first of them.
    pairs = zip(reversed(answers), reversed(talk.entries), strict=True)
    return {answer["id"]: entry.id for answer, entry in pairs}


def _wait_until_ready(server: Server, wanted: int) -> None:
    """Return when every memory has its vector.  Raises BenchError."""
    connection = server.connect()
    until = time.monotonic() + _VECTORS_WITHIN_S
    while (ready := _ready(connection)) < wanted and time.monotonic() < until:
        time.sleep(0.2)
    connection.close()
    if ready != wanted:
        raise BenchError(f"{wanted} memories were sent, {ready} have a vector.")


def _ready(connection: Connection) -> int:
    return int(connection.call("GET", "/api/v1/stats")["active"]["by_embedding_state"]["ready"])


def _ask(server: Server, number: int, talk: Talk, ids: dict[str, str]) -> list[Asked]:
    connection = server.connect(agent_of(talk))
    body = {"limit": LIMIT}
    connection.call("POST", "/api/v1/search", {"query": "warm up", **body})
    asked = [ask(connection, number, question, body, ids) for question in talk.questions]
    connection.close()
    return asked
