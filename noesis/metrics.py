"""Metrics: figures for Prometheus; numbers, states and names, never a text, a file's content or a question."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

import msgspec
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from noesis.errors import NoesisError

# A second series for each counter that says when it began: the start of the process tells that.
disable_created_metrics()  # type: ignore[no-untyped-call]

PREFIX = "noesis_"

_SEARCH_BUCKETS_S = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_KEPT_S = 5.0
_LEAST_PAUSE = 10.0
"""Figures that took a second to gather are kept for so many: looking must not become work of its own."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of number: its name without the prefix, what it says, and a value for each set of labels."""

    name: str
    about: str
    labels: tuple[str, ...] = ()
    values: Mapping[tuple[str, ...], float]


Source = Callable[[], Awaitable[Sequence[Figure]]]
"""Gathers some figures anew.  A NoesisError it raises leaves them out, and `noesis_source_up` says so."""


def single(name: str, about: str, value: float) -> Figure:
    """A figure without labels."""
    return Figure(name=name, about=about, values={(): value})


class Metrics:
    """Counts what this process answers, and gathers what others know when it is asked."""

    def __init__(self, sources: Mapping[str, Source], clock: Callable[[], float] = time.monotonic) -> None:
        self._sources = dict(sources)
        self._clock = clock
        self._registry = CollectorRegistry()
        self._requests = Counter(
            f"{PREFIX}requests",
            "Requests this process answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._searches = Histogram(
            f"{PREFIX}search_seconds",
            "How long searches of this process took.",
            registry=self._registry,
            buckets=_SEARCH_BUCKETS_S,
        )
        self._gathered = b""
        self._keep_until = float("-inf")

    def add_source(self, name: str, source: Source) -> None:
        """Have the figures of another part shown as well."""
        self._sources[name] = source

    def answered(self, method: str, route: str, status: int) -> None:
        """Count a request by its route as it is written in the code, never by the address that was called."""
        self._requests.labels(method, route, str(status)).inc()

    def searched(self, milliseconds: float) -> None:
        """Count a search."""
        self._searches.observe(milliseconds / 1000)

    async def text(self) -> bytes:
        """Everything in Prometheus' text format 1.0.0; gathered figures are at least five seconds apart."""
        if self._clock() >= self._keep_until:
            began = self._clock()
            self._gathered = _exposed(await self._gather())
            took = self._clock() - began
            self._keep_until = self._clock() + max(_KEPT_S, _LEAST_PAUSE * took)
        return generate_latest(self._registry) + self._gathered

    async def _gather(self) -> list[Figure]:
        figures: list[Figure] = []
        up: dict[tuple[str, ...], float] = {}
        for name, source in self._sources.items():
            try:
                figures += await source()
                up[(name,)] = 1
            except NoesisError:
                up[(name,)] = 0
        about = "Whether the figures of a part could be had."
        return [*figures, Figure(name="source_up", about=about, labels=("source",), values=up)]


class _Given(Collector):
    """Figures as the library takes them."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Each figure as a gauge."""
        for figure in self._figures:
            family = GaugeMetricFamily(PREFIX + figure.name, figure.about, labels=figure.labels)
            for labels, value in figure.values.items():
                family.add_metric(labels, value)
            yield family


def _exposed(figures: Sequence[Figure]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Given(figures))
    return generate_latest(registry)
