"""The figures of the store, the queue, the followed places and the parts of the system, for metrics."""

from __future__ import annotations

import time
from collections.abc import Callable

from noesis.filling import Filling
from noesis.health import HealthCheck
from noesis.jobs import Jobs
from noesis.memory import Role, Scope
from noesis.metrics import Figure, Source, single
from noesis.scanning import Freshness, Scanning
from noesis.stats import Disk, Statistics
from noesis.watch_signs import WatchSigns

_EVERYBODY = Scope(None, Role.ADMIN)
_STATES = ("ok", "degraded", "down")
_LOOKED_AT_FOR_S = 30.0


def store_source(statistics: Statistics, filling: Filling) -> Source:
    """How many memories there are, whose, in what state, and how they lie on the disk."""

    async def gather() -> list[Figure]:
        stats = await statistics.stats(_EVERYBODY)
        by_agent: dict[tuple[str, ...], float] = {}
        by_state: dict[tuple[str, ...], float] = {}
        for table, counts in (("active", stats.active), ("archive", stats.archive)):
            by_agent |= {(agent, table): count for agent, count in counts.by_agent.items()}
            by_state |= {(table, state): count for state, count in counts.by_embedding_state.items()}
        return [
            Figure(
                name="memories",
                about="Memories by agent; deleted ones are not counted.",
                labels=("agent", "table"),
                values=by_agent,
            ),
            Figure(
                name="memories_by_embedding",
                about="Memories by the state of their vectors.",
                labels=("table", "state"),
                values=by_state,
            ),
            single("pending_embeddings", "Texts that wait for their vectors.", await filling.pending()),
            *([] if stats.disk is None else _disk(stats.disk)),
        ]

    return gather


def _disk(disk: Disk) -> list[Figure]:
    return [
        single("store_rows", "Rows of both tables.", disk.rows),
        single("store_bytes", "Bytes of both tables on the disk.", disk.bytes),
        single("store_fragments", "Pieces in which the rows lie on the disk.", disk.fragments),
        Figure(
            name="store_unindexed_rows",
            about="Rows that an index does not cover yet.",
            labels=("index",),
            values={("words",): disk.unindexed_words, ("vectors",): disk.unindexed_vectors},
        ),
    ]


def job_source(jobs: Jobs, now_ms: Callable[[], int]) -> Source:
    """The queue."""

    async def gather() -> list[Figure]:
        now = now_ms()
        oldest = await jobs.ledger.waiting(now, now, 1)
        age = (now - oldest[0].created_ms) / 1000 if oldest else 0.0
        redis = await jobs.redis_status()
        counts = await jobs.ledger.counts()
        return [
            Figure(
                name="jobs",
                about="Jobs in the ledger by state.",
                labels=("state",),
                values={(state,): count for state, count in counts.items()},
            ),
            single("oldest_queued_job_seconds", "Age of the oldest job that is due and not begun.", age),
            single("redis_up", "Whether Redis answers.", redis.reachable),
        ]

    return gather


def source_source(scanning: Scanning, signs: WatchSigns, now_ms: Callable[[], int]) -> Source:
    """How far memory is behind each followed place; looked at on the disk at most every half minute."""
    found: list[Freshness] = []
    looked_at = float("-inf")

    async def gather() -> list[Figure]:
        nonlocal found, looked_at
        if time.monotonic() - looked_at > _LOOKED_AT_FOR_S:
            found, looked_at = await scanning.freshness(_EVERYBODY), time.monotonic()
        watch, now = await signs.read(), now_ms()
        figures = [_of_roots(name, about, found, value) for name, about, value in _ROOT_FIGURES]
        figures.append(
            _of_roots(
                "root_oldest_unindexed_seconds",
                "Since when the oldest file waits that changed and was not read yet.",
                found,
                lambda each: 0.0 if each.waits_since is None else max(0, now - each.waits_since) / 1000,
            )
        )
        if watch.seen_at is not None:
            age = max(0, now - watch.seen_at) / 1000
            figures.append(
                single("watcher_heartbeat_age_seconds", "Since the watcher's last sign of life.", age)
            )
        return figures

    return gather


_ROOT_FIGURES: tuple[tuple[str, str, Callable[[Freshness], float]], ...] = (
    ("root_available", "Whether a followed place can be reached.", lambda each: each.available),
    ("root_files", "Files on the disk.", lambda each: each.on_disk),
    ("root_indexed_files", "Files that are in memory as they lie on the disk.", lambda each: each.indexed),
    ("root_waiting_files", "Files that changed and were not read yet.", lambda each: each.waiting),
    ("root_failed_files", "Files that could not be read.", lambda each: each.failed),
)


def _of_roots(name: str, about: str, found: list[Freshness], value: Callable[[Freshness], float]) -> Figure:
    values: dict[tuple[str, ...], float] = {
        (each.root.agent, each.root.label, each.root.kind): float(value(each)) for each in found
    }
    return Figure(name=name, about=about, labels=("agent", "root", "kind"), values=values)


def part_source(health: HealthCheck) -> Source:
    """Every part's health: 1 for the state that it is in."""

    async def gather() -> list[Figure]:
        report = await health.report()
        values: dict[tuple[str, ...], float] = {
            (part.name, state): float(part.state == state) for part in report.parts for state in _STATES
        }
        about = "The health of each part, the embedder and the queue among them: 1 for its present state."
        return [Figure(name="part_state", about=about, labels=("part", "state"), values=values)]

    return gather
