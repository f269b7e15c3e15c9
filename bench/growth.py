"""How searches grow with the store: the figures, their targets, the table and the curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from bench.plot import Curve, plot
from bench.reading import Compared
from bench.tables import markdown
from noesis.ranking.metrics import p50_p95

TARGET_ROWS = 100_000
MAX_RATIO = 2.0
"""At so many rows a search may take so many times a bare vector query of LanceDB (p95)."""

MIN_RECALL = 0.99

Pair = tuple[float, float]


class Searches(msgspec.Struct, frozen=True):
    """Searches by so many clients at once: p50 and p95 in ms.

    `whole` is what a client sees, `apart` is that without the `embedding` of its question, `bare` is
    LanceDB's vector query alone.
    """

    clients: int
    whole: Pair
    apart: Pair
    embedding: Pair
    bare: Pair

    @property
    def ratio(self) -> float:
        """p95 without the embedding, over that of the bare query."""
        return self.apart[1] / self.bare[1]


class Recall(msgspec.Struct, frozen=True):
    """The mean share of the exact ten nearest that come first from the index too, 0 to 1.

    `as_searched` lets it pick as many candidates as the product's search does, `of_ten` only ten.
    """

    as_searched: float
    of_ten: float


class Step(msgspec.Struct, frozen=True):
    """One size of the store; memory in MB.

    `recall` is for vectors like the stored ones, `recall_asked` for the questions', which lie far from all.
    """

    memories: int
    filled_s: float
    searches: list[Searches]
    recall: Recall
    recall_asked: Recall
    idle_mb: float
    peak_mb: float


class Growth(msgspec.Struct, frozen=True):
    """Everything one run measured."""

    machine: str
    questions: int
    steps: list[Step]


def searches_of(clients: int, found: Compared) -> Searches:
    """The figures of one comparison."""
    return Searches(
        clients,
        whole=p50_p95([answer.client for answer in found.http]),
        apart=p50_p95([answer.client - answer.embedding for answer in found.http]),
        embedding=p50_p95([answer.embedding for answer in found.http]),
        bare=p50_p95(found.direct),
    )


def text(growth: Growth) -> str:
    """The tables, and whether the targets are met."""
    speed = ["memories", "clients", "whole", "without embedding", "embedding", "bare query", "ratio of p95"]
    store = ["memories", "recall@10", "of ten", "questions", "of ten", "idle MB", "highest MB", "filled in s"]
    return "\n\n".join(
        [
            markdown(speed, [_speed(step, item) for step in growth.steps for item in step.searches]),
            markdown(store, [_store(step) for step in growth.steps]),
            *verdicts(growth),
            "Recall@10 of the vector leg as search asks it and when it asks for ten alone; for vectors like the stored"
            " ones and for the questions', which lie far from all.",
            f"p50 / p95 in ms of {growth.questions} questions over HTTP; the bare query is LanceDB's, in process,"
            f" on the same table with the same vectors. Machine: {growth.machine}.",
        ]
    )


def verdicts(growth: Growth) -> Iterator[str]:
    """A line for each target of the size that has some; none without that size."""
    for step in growth.steps:
        if step.memories != TARGET_ROWS:
            continue
        for item in step.searches:
            yield _verdict(
                item.ratio <= MAX_RATIO,
                f"{_clients(item)}: p95 is {item.ratio:.2f} × that of the bare query; the target is ≤ {MAX_RATIO:g}",
            )
        found = step.recall.as_searched
        yield _verdict(found >= MIN_RECALL, f"recall@10 {found:.4f}; the target is ≥ {MIN_RECALL}")


def curves(growth: Growth) -> str:
    """An SVG of p95 over the size of the store, for each number of clients."""
    found = [Curve(name, points) for name, points in _series(growth.steps)]
    return plot(found, across="memories", up="p95, ms")


def _series(steps: Sequence[Step]) -> Iterator[tuple[str, list[Pair]]]:
    for index, first in enumerate(steps[0].searches):
        items = [(step.memories, step.searches[index]) for step in steps]
        yield f"search, {_clients(first)}", [(rows, item.apart[1]) for rows, item in items]
        yield f"bare query, {_clients(first)}", [(rows, item.bare[1]) for rows, item in items]


def _verdict(met: bool, told: str) -> str:
    return f"{'Met' if met else 'Missed'}: {TARGET_ROWS:,} memories, {told}."


def _clients(item: Searches) -> str:
    return f"{item.clients} client{'s' if item.clients > 1 else ''}"


def _speed(step: Step, item: Searches) -> list[str]:
    pairs = (item.whole, item.apart, item.embedding, item.bare)
    shown = [f"{low:.1f} / {high:.1f}" for low, high in pairs]
    return [f"{step.memories:,}", str(item.clients), *shown, f"{item.ratio:.2f}"]


def _store(step: Step) -> list[str]:
    pairs = (step.recall, step.recall_asked)
    recalls = [f"{value:.4f}" for pair in pairs for value in (pair.as_searched, pair.of_ten)]
    others = [f"{value:.0f}" for value in (step.idle_mb, step.peak_mb, step.filled_s)]
    return [f"{step.memories:,}", *recalls, *others]
