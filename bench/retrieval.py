"""How well search finds: LoCoMo's turns indexed and its questions asked over HTTP, as a user would.

python -m bench.retrieval [--data FILE] [--conversations N] [--embedder NAME] [--mode MODE] [--json FILE]
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import msgspec

from bench import embedders, locomo, reports
from bench.locomo import Conversation, Question, Turn
from bench.reports import Asked
from bench.server import BenchError, Connection, Server, new_token, serving

Say = Callable[[str], None]

_VECTORS_WITHIN_S = 600.0


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="The LoCoMo file (NOESIS_BENCH_LOCOMO).")
@click.option("--conversations", type=click.IntRange(1), help="Only the first so many.")
@click.option("--embedder", type=click.Choice(embedders.NAMES), default="local", show_default=True)
@click.option("--mode", type=click.Choice(("hybrid", "vector", "keyword")), default="hybrid")
@click.option(
    "--limit", type=click.IntRange(10, 200), default=10, show_default=True, help="Hits of a question."
)
@click.option("--explain-out", type=click.File("wb"), help="NDJSON: each question's hits, explained.")
@click.option("--json", "json_out", type=click.File("wb"), help="Where the figures go as JSON.")
def main(
    data: Path | None,
    conversations: int | None,
    embedder: str,
    mode: str,
    limit: int,
    explain_out: Any,
    json_out: Any,
) -> None:
    """Measure how well search finds the turns that answer LoCoMo's questions."""
    path = data if data is not None else locomo.find(os.environ)
    if path is None or not path.is_file():
        click.echo(
            "LoCoMo's file is not here, so nothing was measured. Its licence (CC BY-NC) keeps it out of this"
            f" repository: get {locomo.FILE_NAME} and name it with --data or NOESIS_BENCH_LOCOMO."
        )
        return
    talks = locomo.load(path, conversations)
    with (
        tempfile.TemporaryDirectory(prefix="noesis-bench-") as place,
        embedders.settings_of(embedder) as settings,
    ):
        token = asyncio.run(new_token(Path(place)))
        with serving(Path(place), token, **settings) as server:
            asked = measure(
                server, talks, mode=mode, limit=limit, explain=explain_out is not None, say=_progress
            )
    if explain_out is not None:
        for line in explained(talks, asked):
            explain_out.write(msgspec.json.encode(line) + b"\n")
    figures = reports.figures(asked, len(talks))
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(figures)))
    click.echo(reports.text(figures))


def _progress(line: str) -> None:
    click.echo(line, err=True)


def measure(
    server: Server, talks: Sequence[Conversation], *, mode: str, limit: int, explain: bool, say: Say
) -> list[Asked]:
    """Index every turn, ask every question.  Raises BenchError when a turn did not arrive."""
    started = time.perf_counter()
    turn_of = {talk.name: index_turns(server, talk) for talk in talks}
    wait_until_ready(server, sum(map(len, turn_of.values())))
    say(f"{sum(map(len, turn_of.values())):,} turns indexed in {time.perf_counter() - started:.0f} s")
    server.optimise()
    asked: list[Asked] = []
    for number, talk in enumerate(talks):
        connection = server.connect(agent_of(talk))
        body = {"limit": limit, "mode": mode, "explain": explain}
        # The first question of a connection also pays for setting it up.
        connection.call("POST", "/api/v1/search", {"query": "warm up", **body})
        asked += [ask(connection, number, question, body, turn_of[talk.name]) for question in talk.questions]
        connection.close()
        say(f"{talk.name}: {len(talk.questions)} questions")
    return asked


def agent_of(talk: Conversation) -> str:
    """The agent that remembers a conversation."""
    return f"bench-{talk.name.lower()}"


def index_turns(server: Server, talk: Conversation) -> dict[str, str]:
    """Index a conversation; the turn of each memory's id.  Raises BenchError."""
    bodies = {turn.dia_id: memory_of(talk, turn) for turn in talk.turns}
    return index_memories(server, agent_of(talk), bodies)


def index_memories(server: Server, agent: str, bodies: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Index what an agent remembers; our own name of each memory by its id.  Raises BenchError."""
    connection = server.connect(agent)
    answers = connection.lines("/api/v1/memories/bulk", list(bodies.values()))
    connection.close()
    failed = [answer for answer in answers if "id" not in answer]
    if failed or len(answers) != len(bodies):
        raise BenchError(f"{agent}: {len(answers)} answers for {len(bodies)} memories, failed: {failed[:1]}")
    name_of = {answer["id"]: name for answer, name in zip(answers, bodies, strict=True)}
    if len(name_of) != len(bodies):
        raise BenchError(f"{agent}: {len(bodies)} memories became {len(name_of)}.")
    return name_of


def memory_of(talk: Conversation, turn: Turn) -> dict[str, Any]:
    """A turn as a memory that never expires."""
    session = f"{talk.name}-session-{turn.session}"
    return {
        "text": turn.text,
        "memory_type": "session",
        "session_id": session,
        "source": f"locomo/{session}",
        "position": turn.number,
        "author": turn.speaker,
        "created_at": (turn.session_began + timedelta(seconds=turn.number)).isoformat(),
        "ttl_days": 0,
    }


def wait_until_ready(server: Server, wanted: int) -> None:
    """Return when the store holds so many memories, each with its vector.  Raises BenchError.

    On a busy machine a text can be stored before its vector is there; the product fills it in later.
    """
    connection = server.connect()
    until = time.monotonic() + _VECTORS_WITHIN_S
    while (counts := _counts(connection))[1] < wanted and time.monotonic() < until:
        time.sleep(1)
    connection.close()
    if counts != (wanted, wanted):
        raise BenchError(f"{wanted} memories were sent, {counts[0]} are there, {counts[1]} with a vector.")


def _counts(connection: Connection) -> tuple[int, int]:
    """How many memories there are, and how many of them have their vector."""
    counts = connection.call("GET", "/api/v1/stats")["active"]
    return counts["memories"], counts["by_embedding_state"]["ready"]


def ask(
    connection: Connection,
    conversation: int,
    question: Question,
    body: Mapping[str, Any],
    turn_of: Mapping[str, str],
) -> Asked:
    """Put one question."""
    started = time.perf_counter()
    answer = connection.call("POST", "/api/v1/search", {"query": question.text, **body})
    elapsed = (time.perf_counter() - started) * 1000
    if answer["degraded"]:
        raise BenchError(f"A search was not whole: {answer['reason']}")
    hits = tuple(
        {"dia_id": turn_of[hit["id"]], "score": hit["score"], "explanation": hit.get("explanation")}
        for hit in answer["hits"]
    )
    timings = answer["timings"]
    return Asked(
        conversation,
        question,
        tuple(hit["dia_id"] for hit in hits),
        hits,
        elapsed,
        answer["took_ms"],
        timings["embedding"],
        timings["store"],
    )


def explained(talks: Sequence[Conversation], asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """What `--explain-out` writes: a line per question."""
    for item in asked:
        yield {
            "conversation": talks[item.conversation].name,
            "question": item.question.text,
            "category": item.question.category,
            "gold": sorted(item.question.gold),
            "hits": item.hits,
        }


if __name__ == "__main__":
    main()
