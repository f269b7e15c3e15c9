"""What one agent's searches notice of another that writes without a pause, with a limit of its writes and without.

Run it with `python -m bench.crowding`.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from bench.reading import ask
from bench.sample import Sample
from bench.seeding import AGENT, seed
from bench.server import Server, environment, new_token, serving
from bench.speed import warm_up
from bench.tables import machine, markdown
from noesis.ranking.metrics import p50_p95
from noesis.runtime import open_runtime
from noesis.settings import load

NOISY = "noisy"
_CLIENTS = 4
_LINES = 20
_WARM_UP = 30
_WRITES_PER_MINUTE = 600


class Crowded(msgspec.Struct, frozen=True):
    """One kind of noise: p50 and p95 (ms) of searches without and beside it, memories taken and refused."""

    name: str
    idle: tuple[float, float]
    beside: tuple[float, float]
    taken: int
    refused: int

    @property
    def felt(self) -> float:
        """Searches' p95 beside it over that without."""
        return self.beside[1] / self.idle[1]


@click.command()
@click.option("--rows", type=click.IntRange(100), default=6000, show_default=True)
@click.option("--questions", type=click.IntRange(8), default=200, show_default=True)
def main(rows: int, questions: int) -> None:
    """Measure one agent's searches beside another's writes; only the ratios mean something on a busy machine."""
    found = asyncio.run(measure(rows, questions))
    click.echo(f"{rows:,} memories, {questions} searches each; {machine()}\n")
    click.echo(text(found))


async def measure(rows: int, questions: int) -> list[Crowded]:
    """First without a limit, then with one; what was searched for is not asked again."""
    with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
        directory = Path(place)
        async with open_runtime(load(environment(directory, {}))) as noesis:
            sample = Sample(rows)
            await seed(noesis, sample)
        with serving(directory, await new_token(directory)) as server:
            return await asyncio.to_thread(_compare, server, sample, questions)


def _compare(server: Server, sample: Sample, questions: int) -> list[Crowded]:
    asked = iter(sample.questions(4 * questions + _WARM_UP))
    warm_up(server, list(itertools.islice(asked, _WARM_UP)))
    texts = itertools.count()
    found = []
    administrator = server.connect()
    for name, limit in (("no limit", 0), (f"{_WRITES_PER_MINUTE} writes a minute", _WRITES_PER_MINUTE)):
        administrator.call("PATCH", f"/api/v1/agents/{NOISY}", {"writes_per_minute": limit})
        idle = _searches(server, list(itertools.islice(asked, questions)))
        with _noise(server, texts) as counts:
            beside = _searches(server, list(itertools.islice(asked, questions)))
        found.append(Crowded(name, p50_p95(idle), p50_p95(beside), sum(counts["id"]), sum(counts["code"])))
    administrator.close()
    return found


def _searches(server: Server, questions: Sequence[str]) -> list[float]:
    connection = server.connect(AGENT)
    took = [ask(connection, question).client for question in questions]
    connection.close()
    return took


@contextmanager
def _noise(server: Server, texts: Iterator[int]) -> Iterator[dict[str, list[bool]]]:
    """Several clients of one agent that send one request of many lines after the other."""
    counts: dict[str, list[bool]] = {"id": [], "code": []}
    over = threading.Event()

    def send() -> None:
        connection = server.connect(NOISY)
        while not over.is_set():
            rows = [{"text": f"Noise number {next(texts)} about nothing at all."} for _ in range(_LINES)]
            for answer in connection.lines("/api/v1/memories/bulk", rows):
                for key, seen in counts.items():
                    seen.append(key in answer)
        connection.close()

    with ThreadPoolExecutor(_CLIENTS) as clients:
        sending = [clients.submit(send) for _ in range(_CLIENTS)]
        try:
            yield counts
        finally:
            over.set()
    for each in sending:
        each.result()


def text(found: Sequence[Crowded]) -> str:
    """The table of figures."""
    return markdown(
        ("another agent writes with", "idle p50 / p95, ms", "beside it", "p95", "taken", "refused"),
        [
            (
                each.name,
                f"{each.idle[0]:.0f} / {each.idle[1]:.0f}",
                f"{each.beside[0]:.0f} / {each.beside[1]:.0f}",
                f"{each.felt:.2f} ×",
                f"{each.taken:,}",
                f"{each.refused:,}",
            )
            for each in found
        ],
    )


if __name__ == "__main__":
    main()
