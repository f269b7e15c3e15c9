"""How fast the product is beside the parts it is built on, in one run on one machine.

python -m bench.speed [--rows 6000 --rows 100000] [--questions N] [--seconds S] [--files N] [--json FILE]
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from bench import verdicts
from bench.inflow import Inflow
from bench.inflow import measure as measure_inflow
from bench.pages import measure as measure_pages
from bench.reading import Direct, ask, compare
from bench.sample import Sample
from bench.seeding import AGENT, seed
from bench.server import Server, environment, free_port, new_token, serving
from bench.tables import machine
from bench.verdicts import Found, Size
from bench.writing import Rate, rate
from noesis.runtime import Noesis, open_runtime
from noesis.settings import load

Say = Callable[[str], None]

CLIENTS = (1, 8)
WRITERS = (1, 8, 64)

_WARM_UP = 20
_PAGES = 40
_IDLE = 200
_LOOK_S = 0.05
_IDLE_AFTER_S = 2.0


@click.command()
@click.option("--rows", type=click.IntRange(100), multiple=True, default=(6000, 100_000), show_default=True)
@click.option("--questions", type=click.IntRange(8), default=240, show_default=True)
@click.option("--seconds", type=float, default=10.0, show_default=True, help="Of writing, a kind.")
@click.option(
    "--files", type=click.IntRange(0), default=1500, show_default=True, help="To read, twice; 0: none."
)
@click.option("--json", "json_out", type=click.File("wb"), help="Where the figures go as JSON.")
def main(rows: tuple[int, ...], questions: int, seconds: float, files: int, json_out: Any) -> None:
    """Measure searches, writes, memory and files that are read; only the ratios mean something on a busy machine."""
    found = asyncio.run(measure(rows, questions, seconds, files, lambda line: click.echo(line, err=True)))
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(found)))
    click.echo(verdicts.text(found))


async def measure(rows: Sequence[int], questions: int, seconds: float, files: int, say: Say) -> Found:
    """Each size in a fresh directory; the writes and the files go to the first one."""
    sizes: list[Size] = []
    rates: list[Rate] = []
    inflow: Inflow | None = None
    for number, count in enumerate(rows):
        with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
            directory = Path(place)
            async with open_runtime(load(environment(directory, {}))) as noesis:
                sample = Sample(count)
                began = time.perf_counter()
                await seed(noesis, sample)
                say(f"{count:,} memories stored and indexed in {time.perf_counter() - began:.0f} s")
                token = await new_token(directory)
                with serving(directory, token) as server:
                    sizes.append(await _read(noesis, server, sample, questions))
                    say(f"{count:,} memories searched")
                    if number == 0 and files:
                        inflow = await measure_inflow(
                            noesis, server, sample, directory / "files", files, min(questions, _IDLE)
                        )
                        say(f"{files:,} files read, twice")
                    if number == 0:
                        rates += await _write(noesis, server, sample, seconds, embedding=True)
                if number == 0:
                    with serving(directory, token, **without_embedder()) as server:
                        rates += await _write(noesis, server, sample, seconds, embedding=False)
                    say("writes done")
    return Found(machine(), sizes, rates, inflow)


def without_embedder() -> dict[str, str]:
    """Settings with which no vector can be had: texts are stored all the same and wait for theirs."""
    return {"NOESIS_EMBEDDER": "ollama", "NOESIS_OLLAMA_URL": f"http://127.0.0.1:{free_port()}"}


async def _read(noesis: Noesis, server: Server, sample: Sample, questions: int) -> Size:
    direct = Direct(noesis)
    warming = sample.questions(_WARM_UP)
    await asyncio.to_thread(warm_up, server, warming)
    await direct.prepare(warming)
    for question in warming:
        await direct.search(question)
    asked = {clients: sample.questions(questions) for clients in CLIENTS}
    for each in asked.values():
        await direct.prepare(each)
    await asyncio.sleep(_IDLE_AFTER_S)
    idle = server.resident_mb()
    with peak_of(server) as peak:
        latencies = [await compare(server, direct, each, clients) for clients, each in asked.items()]
    pages = await measure_pages(noesis, server, sample, min(questions, _PAGES))
    return Size(sample.count, latencies, idle, max(peak), pages)


def warm_up(server: Server, questions: Sequence[str]) -> None:
    """Let the server load what it loads at first use, for reading and for writing."""
    connection = server.connect(AGENT)
    for question in questions:
        ask(connection, question)
    connection.call("POST", "/api/v1/memories", {"text": "A memory to load the model for."})
    connection.close()


@contextlib.contextmanager
def peak_of(server: Server) -> Iterator[list[float]]:
    """The server's resident memory (MB), looked at again and again while the context lasts."""
    seen = [server.resident_mb()]
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            seen.append(server.resident_mb())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


async def _write(
    noesis: Noesis, server: Server, sample: Sample, seconds: float, *, embedding: bool
) -> list[Rate]:
    await asyncio.to_thread(warm_up, server, sample.questions(1))
    return [
        await rate(noesis, server, sample, writers=writers, seconds=seconds, embedding=embedding)
        for writers in WRITERS
    ]


if __name__ == "__main__":
    main()
