"""Files that flow in: how fast beside the embedder alone on the same texts, and what searches notice of it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.reading import ask
from bench.sample import Sample
from bench.seeding import AGENT
from bench.server import BenchError, Connection, Server
from noesis.ranking.metrics import p50_p95
from noesis.rows import vector_text
from noesis.runtime import Noesis
from noesis.store import Column
from noesis.store.filters import equals

WRITER = "files"
"""The agent whose files these are: its memories are not those that are searched."""

_SECTIONS = 2
_TOGETHER = 64
"""So many texts go to the embedder at once, as the product does it."""

_LOOK_S = 0.1
_WITHIN_S = 3600.0


class Inflow(msgspec.Struct, frozen=True):
    """What a scan of so many files took (s, on the server's clock), their chunks, and the time (s) that the embedder
    alone takes for the same texts; p50 and p95 (ms) of searches over HTTP without and during a scan.

    The CPU times (s) of both hardly depend on what else the machine does.
    """

    files: int
    chunks: int
    scan_s: float
    embedder_s: float
    scan_cpu_s: float
    embedder_cpu_s: float
    idle: tuple[float, float]
    during: tuple[float, float]

    @property
    def slowdown(self) -> float:
        """A scan's time over that of the embedder alone."""
        return self.scan_s / self.embedder_s

    @property
    def felt(self) -> float:
        """Searches' p95 during a scan over that without."""
        return self.during[1] / self.idle[1]


async def measure(
    noesis: Noesis, server: Server, sample: Sample, place: Path, files: int, searches: int
) -> Inflow:
    """Scan two folders of `files` each, one with nobody searching and one with somebody.

    Before and after it so many searches are made with nothing else to do.
    """
    texts = _texts(sample)
    folder = _written(place / "alone", texts, files)
    cpu_before = server.cpu_s()
    scan_s, _ = await asyncio.to_thread(_scan, server, folder)
    scan_cpu_s = server.cpu_s() - cpu_before
    chunks, embedder_s, embedder_cpu_s = await _embedder_alone(noesis)
    # None is asked twice: the product remembers the vectors of questions.
    questions = iter(sample.questions(5000))
    early, late = (list(itertools.islice(questions, searches)) for _ in range(2))
    connection = server.connect(AGENT)
    before = await asyncio.to_thread(lambda: [ask(connection, each).client for each in early])
    folder = _written(place / "searched", texts, files)
    _, during = await asyncio.to_thread(_scan, server, folder, connection, questions)
    after = await asyncio.to_thread(lambda: [ask(connection, each).client for each in late])
    connection.close()
    return Inflow(
        files,
        chunks,
        scan_s,
        embedder_s,
        scan_cpu_s,
        embedder_cpu_s,
        p50_p95([*before, *after]),
        p50_p95(during),
    )


def _texts(sample: Sample) -> Iterator[str]:
    """Texts of a few sentences, no two the same."""
    for number in itertools.count():
        parts = (sample.text((number * 3 + part) % sample.count) for part in range(3))
        yield f"{'. '.join(parts)}. Entry {number}."


def _written(folder: Path, texts: Iterator[str], files: int) -> Path:
    """A folder of Markdown files of two sections each."""
    for number in range(files):
        path = folder / f"{number // 200:03}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        sections = (f"## Part {part}\n\n{next(texts)}\n" for part in range(_SECTIONS))
        path.write_text(f"# Note {folder.name} {number}\n\n" + "\n".join(sections), encoding="utf-8")
    return folder


def _scan(
    server: Server, folder: Path, asking: Connection | None = None, questions: Iterator[str] | None = None
) -> tuple[float, list[float]]:
    """Follow a folder and wait until it is read; how long that took (s), and the searches meanwhile (ms)."""
    admin = server.connect()
    body = {"agent_id": WRITER, "path": str(folder), "kind": "markdown"}
    key = admin.call("POST", "/api/v1/sources", body)["key"]
    # The scan that following it has started: there is but one of a place at a time.
    job_id = admin.call("POST", f"/api/v1/sources/{key}/scan")["job_id"]
    latencies: list[float] = []
    until = time.monotonic() + _WITHIN_S
    while (job := admin.call("GET", f"/api/v1/jobs/{job_id}"))["state"] in ("queued", "running"):
        if time.monotonic() > until:
            raise BenchError("The scan did not end in time.")
        if asking is not None and questions is not None and job["state"] == "running":
            latencies += [ask(asking, each).client for each in itertools.islice(questions, 5)]
        else:
            time.sleep(_LOOK_S)
    admin.close()
    if job["state"] != "succeeded":
        raise BenchError(f"The scan {job['state']}: {job['error']}")
    return _seconds(job), latencies


def _seconds(job: dict[str, Any]) -> float:
    began, ended = (datetime.fromisoformat(job[name]) for name in ("started_at", "finished_at"))
    return (ended - began).total_seconds()


async def _embedder_alone(noesis: Noesis) -> tuple[int, float, float]:
    """How many chunks the files became, and the time and CPU time (s) of embedding their texts and nothing else."""
    rows = await noesis.store.active.rows(equals(Column.AGENT_ID, WRITER))
    texts = [vector_text(row) for row in rows]
    await noesis.embedder.embed_documents(texts[:_TOGETHER])
    began, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(texts), _TOGETHER):
        await noesis.embedder.embed_documents(texts[start : start + _TOGETHER])
    return len(texts), time.perf_counter() - began, time.process_time() - cpu
