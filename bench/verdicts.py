"""The speed benchmark's figures beside their targets."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bench.inflow import Inflow
from bench.pages import Timed
from bench.reading import Latency
from bench.tables import markdown
from bench.writing import Rate

MAX_RATIO = 1.5
"""A search over HTTP may take so many times the calls it cannot do without (p50)."""

MAX_IDLE_MB = 450
MAX_PEAK_MB = 700
MAX_SLOWDOWN = 1 / 0.9
"""Nine tenths of what the embedder alone does in a second."""

MAX_FELT = 2.0
"""Searches may take so many times as long (p95) while files are read."""

MAX_PAGE = 3.0
"""A page may take so many times the calls that tell the same (p95)."""

LARGE = 100_000
"""The size up to which the peak's limit holds."""


class Size(msgspec.Struct, frozen=True):
    """What was measured with so many memories; memory in MB of the one server process."""

    memories: int
    latencies: list[Latency]
    idle_mb: float
    peak_mb: float
    pages: list[Timed] = []


class Found(msgspec.Struct, frozen=True):
    """Everything one run measured."""

    machine: str
    sizes: list[Size]
    rates: list[Rate]
    inflow: Inflow | None = None


class Verdict(msgspec.Struct, frozen=True):
    """A figure and its upper limit; None: it is only told."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the figure keeps the limit."""
        return None if self.limit is None else self.value <= self.limit


def verdicts(found: Found) -> Iterator[Verdict]:
    """Every figure, with its target if it has one."""
    for size in found.sizes:
        yield from _of_size(size)
    for rate in found.rates:
        yield from _of_rate(rate)
    if found.inflow is not None:
        yield from _of_inflow(found.inflow)


def _of_size(size: Size) -> Iterator[Verdict]:
    here = f"{size.memories:,} memories"
    for latency in size.latencies:
        yield from _of_latency(here, latency)
    yield Verdict(f"{here}: resident, idle, model loaded", size.idle_mb, "MB", MAX_IDLE_MB)
    limit = MAX_PEAK_MB if size.memories <= LARGE else None
    yield Verdict(f"{here}: resident, highest while searching", size.peak_mb, "MB", limit)
    for page in size.pages:
        name = f"{here}: page {page.page}"
        yield Verdict(f"{name} / its calls, p95", page.ratio, "×", MAX_PAGE)
        yield Verdict(f"{name}, p95", page.page_ms, "ms")
        yield Verdict(f"{name}, its calls, p95", page.call_ms, "ms")


def _of_latency(here: str, latency: Latency) -> Iterator[Verdict]:
    name = f"{here}, {latency.clients} client{'s' if latency.clients > 1 else ''}"
    yield Verdict(f"{name}: HTTP / direct, p50", latency.ratio, "×", MAX_RATIO)
    yield Verdict(f"{name}: HTTP p50", latency.http[0], "ms")
    yield Verdict(f"{name}: HTTP p95", latency.http[1], "ms")
    yield Verdict(f"{name}: direct p50", latency.direct[0], "ms")
    yield Verdict(f"{name}: direct p95", latency.direct[1], "ms")
    yield Verdict(f"{name}: HTTP, CPU of the server", latency.http_cpu, "ms")
    yield Verdict(f"{name}: direct, CPU", latency.direct_cpu, "ms")
    yield Verdict(f"{name}: inside the server p50", latency.took_p50, "ms")
    yield Verdict(f"{name}: of it embedding p50", latency.embedding_p50, "ms")
    yield Verdict(f"{name}: of it store, both legs added up, p50", latency.store_p50, "ms")


def _of_rate(rate: Rate) -> Iterator[Verdict]:
    kind = "with" if rate.embedding else "without"
    name = f"{rate.writers} writer{'s' if rate.writers > 1 else ''}, {kind} embedding"
    yield Verdict(f"{name}: acknowledged", rate.acknowledged, "writes/s")
    yield Verdict(f"{name}: commits", rate.commits, "commits/s")
    yield Verdict(f"{name}: bare LanceDB, one row at a time", rate.bare, "upserts/s")
    yield Verdict(f"{name}: acknowledged / bare", rate.ratio, "×")


def _of_inflow(inflow: Inflow) -> Iterator[Verdict]:
    name = f"{inflow.files:,} Markdown files"
    yield Verdict(f"{name}: read", inflow.files / inflow.scan_s, "files/s")
    yield Verdict(f"{name}: chunks stored", inflow.chunks / inflow.scan_s, "chunks/s")
    yield Verdict(f"{name}: the embedder alone", inflow.chunks / inflow.embedder_s, "chunks/s")
    yield Verdict(f"{name}: time of the scan / of the embedder alone", inflow.slowdown, "×", MAX_SLOWDOWN)
    cpu = inflow.scan_cpu_s / inflow.embedder_cpu_s
    yield Verdict(f"{name}: CPU of the scan / of the embedder alone", cpu, "×")
    yield Verdict("search, nothing read: HTTP p50", inflow.idle[0], "ms")
    yield Verdict("search, nothing read: HTTP p95", inflow.idle[1], "ms")
    yield Verdict("search while files are read: HTTP p50", inflow.during[0], "ms")
    yield Verdict("search while files are read: HTTP p95", inflow.during[1], "ms")
    yield Verdict("search, p95 while files are read / without", inflow.felt, "×", MAX_FELT)


def text(found: Found) -> str:
    """The table, and how many targets were met."""
    all_of_them = list(verdicts(found))
    rows = [[item.name, f"{item.value:.2f} {item.unit}", _limit(item), _met(item)] for item in all_of_them]
    judged = [item.met for item in all_of_them if item.met is not None]
    return "\n\n".join(
        [
            markdown(["figure", "measured", "target", ""], rows),
            f"{sum(judged)} of {len(judged)} targets met. Machine: {found.machine}; compare ratios, not times.",
        ]
    )


def _limit(item: Verdict) -> str:
    return "" if item.limit is None else f"≤ {item.limit:g} {item.unit}"


def _met(item: Verdict) -> str:
    return {None: "", True: "met", False: "missed"}[item.met]
