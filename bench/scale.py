"""How searches grow with the store, beside LanceDB's own vector query, in one run on one machine.

python -m bench.scale [--rows 1000,10000,100000] [--clients 1,8] [--questions N] [--json FILE] [--plot FILE]
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from bench import growth
from bench.growth import Growth, Recall, Searches, Step
from bench.reading import in_turns
from bench.sample import Matrix, Sample
from bench.seeding import AGENT, seed
from bench.server import Server, environment, new_token, serving
from bench.speed import peak_of, warm_up
from bench.tables import machine
from noesis.browsing import agent_condition, live_condition
from noesis.candidates import FETCHED
from noesis.embedding.base import Vector
from noesis.ranking.metrics import recall
from noesis.runtime import Noesis, open_runtime
from noesis.settings import load
from noesis.store import Condition, Table

Say = Callable[[str], None]

_WARM_UP = 20
_IDLE_AFTER_S = 2.0
_NEAREST = 10
_NOISE = 0.5
"""Length of what is added to a stored unit vector to make one like it that is not stored."""


class Counts(click.ParamType[tuple[int, ...]]):
    """Whole numbers with commas between them."""

    name = "N,N,..."

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """At least one, none below 1."""
        words = value.split(",") if isinstance(value, str) else list(map(str, value))
        if not all(word.strip().isdecimal() and int(word) > 0 for word in words):
            self.fail(f"{value!r} is no list of whole numbers above 0.", param, ctx)
        return tuple(map(int, words))


class Bare:
    """LanceDB's vector query as anyone would write it, with vectors made beforehand."""

    def __init__(self, noesis: Noesis, vectors: Mapping[str, Vector]) -> None:
        self._table = noesis.store.active.handle
        self._vectors = vectors
        self._limit = noesis.settings.top_k

    async def search(self, text: str) -> float:
        """The nearest rows to a question's vector; how long it took (ms)."""
        started = time.perf_counter()
        query = self._table.query().nearest_to(self._vectors[text]).distance_type("cosine")
        await query.limit(self._limit).to_arrow()
        return (time.perf_counter() - started) * 1000


@click.command()
@click.option("--rows", type=Counts(), default="1000,10000,100000", show_default=True, help="Sizes.")
@click.option("--clients", type=Counts(), default="1,8", show_default=True, help="Clients at once.")
@click.option("--questions", type=click.IntRange(8), default=240, show_default=True)
@click.option("--json", "json_out", type=click.File("wb"), help="Where the figures go as JSON.")
@click.option("--plot", "plot_out", type=click.File("w", encoding="utf-8"), help="Where an SVG goes.")
def main(
    rows: tuple[int, ...], clients: tuple[int, ...], questions: int, json_out: Any, plot_out: Any
) -> None:
    """Measure searches at each size of the store; compare ratios, not times, on a busy machine."""
    steps = asyncio.run(measure(rows, clients, questions, lambda line: click.echo(line, err=True)))
    found = Growth(machine(), questions, steps)
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(found)))
    if plot_out is not None:
        plot_out.write(growth.curves(found))
    click.echo(growth.text(found))


async def measure(rows: Sequence[int], clients: Sequence[int], questions: int, say: Say) -> list[Step]:
    """Each size in a fresh directory."""
    steps: list[Step] = []
    for count in rows:
        with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
            directory = Path(place)
            async with open_runtime(load(environment(directory, {}))) as noesis:
                sample = Sample(count)
                began = time.perf_counter()
                await seed(noesis, sample)
                filled = time.perf_counter() - began
                say(f"{count:,} memories stored and indexed in {filled:.0f} s")
                with serving(directory, await new_token(directory)) as server:
                    steps.append(await _step(noesis, server, sample, clients, questions, filled))
                say(f"{count:,} memories searched")
    return steps


async def _step(
    noesis: Noesis, server: Server, sample: Sample, clients: Sequence[int], questions: int, filled_s: float
) -> Step:
    await asyncio.to_thread(warm_up, server, sample.questions(_WARM_UP))
    asked = await _vectors(noesis, sample.questions(questions))
    condition = live_condition(noesis.now_ms()) & agent_condition(AGENT)
    # Before the searches, as it also brings the bare query's pages and caches up to what the server has.
    like_stored = await _recalls(noesis, await _like_stored(noesis, condition, questions), condition)
    far = await _recalls(noesis, np.stack(list(asked.values())), condition)
    await asyncio.sleep(_IDLE_AFTER_S)
    idle = server.resident_mb()
    with peak_of(server) as peak:
        searches = [await _searches(noesis, server, sample, many, questions) for many in clients]
    return Step(sample.count, filled_s, searches, like_stored, far, idle, max(peak))


async def _searches(noesis: Noesis, server: Server, sample: Sample, clients: int, questions: int) -> Searches:
    vectors = await _vectors(noesis, sample.questions(questions))
    return growth.searches_of(clients, await in_turns(server, Bare(noesis, vectors), list(vectors), clients))


async def _vectors(noesis: Noesis, questions: Sequence[str]) -> dict[str, Vector]:
    return {question: await noesis.embedder.embed_query(question) for question in questions}


async def _like_stored(noesis: Noesis, condition: Condition, count: int) -> Matrix:
    """Unit vectors near stored ones, as the vector of a good question is."""
    rows = await noesis.store.active.rows(condition, limit=count)
    vectors = np.stack([row.vector for row in rows if row.vector is not None])
    noise = np.random.default_rng(11).standard_normal(vectors.shape, dtype=np.float32)
    moved = vectors + _NOISE / np.sqrt(vectors.shape[1]) * noise
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), dtype=np.float32)


async def _recalls(noesis: Noesis, vectors: Matrix, condition: Condition) -> Recall:
    """What an index query finds of the exact ten nearest."""
    table = noesis.store.active
    deep: list[float] = []
    short: list[float] = []
    for vector in vectors:
        exact = await _ids(table, vector, condition, _NEAREST, exact=True)
        candidates = await _ids(table, vector, condition, FETCHED)
        deep.append(recall(candidates, set(exact), _NEAREST))
        short.append(recall(await _ids(table, vector, condition, _NEAREST), set(exact), _NEAREST))
    return Recall(float(np.mean(deep)), float(np.mean(short)))


async def _ids(
    table: Table, vector: Vector, condition: Condition, limit: int, *, exact: bool = False
) -> list[str]:
    rows, _ = await table.nearest(vector, condition, limit, exact=exact)
    return [row.id for row in rows]


if __name__ == "__main__":
    main()
