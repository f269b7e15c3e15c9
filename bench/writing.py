"""Acknowledged writes over HTTP beside bare LanceDB upserts of one row at a time."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lancedb
import msgspec

from bench.sample import Sample
from bench.seeding import AGENT
from bench.server import Connection, Server
from noesis.runtime import Noesis
from noesis.store import Column
from noesis.store.filters import equals
from noesis.store.generations import ACTIVE
from noesis.store.packing import to_arrow

_BARE_ROWS = 200


class Rate(msgspec.Struct, frozen=True):
    """What so many writers reached, per second; `bare` is one LanceDB upsert after the other.

    `embedding` says whether each write also waited for its vector.
    """

    writers: int
    embedding: bool
    acknowledged: float
    commits: float
    bare: float

    @property
    def ratio(self) -> float:
        """Acknowledged writes per bare upsert."""
        return self.acknowledged / self.bare


async def rate(
    noesis: Noesis, server: Server, sample: Sample, *, writers: int, seconds: float, embedding: bool
) -> Rate:
    """Let the writers write for so long; bare LanceDB does half as long before and after, on a copy."""
    bare = await _bare(noesis, seconds / 2)
    connections = [server.connect(AGENT) for _ in range(writers)]
    for connection in connections:
        connection.raw("GET", "/health/live", None)
    table = noesis.store.active.handle
    before = await table.version()
    began = time.perf_counter()
    written = await asyncio.to_thread(_write, connections, sample, f"{embedding} {writers}", seconds)
    took = time.perf_counter() - began
    commits = await table.version() - before
    for connection in connections:
        connection.close()
    bare = (bare + await _bare(noesis, seconds / 2)) / 2
    return Rate(writers, embedding, written / took, commits / took, bare)


async def _bare(noesis: Noesis, seconds: float) -> float:
    """Upserts per second of single new rows into a copy of the table as it is now."""
    rows = await noesis.store.active.rows(equals(Column.CHUNK, 0), limit=_BARE_ROWS)
    with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
        # The server may be at its upkeep, whose files come and go.
        await noesis.store.link_to(Path(place))
        table = await (await lancedb.connect_async(place)).open_table(ACTIVE)
        schema = await table.schema()
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            row = msgspec.structs.replace(rows[count % len(rows)], id=f"new-{count}")
            merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
            await merge.execute(to_arrow([row], schema))
            count += 1
        return count / (time.perf_counter() - began)


def _write(connections: Sequence[Connection], sample: Sample, mark: str, seconds: float) -> int:
    """How many memories all writers together were told are stored."""
    until = time.perf_counter() + seconds
    with ThreadPoolExecutor(len(connections)) as writers:
        counts = [
            writers.submit(_write_until, connection, _texts(sample, f"{mark} {number}", number), until)
            for number, connection in enumerate(connections)
        ]
        return sum(count.result() for count in counts)


def _write_until(connection: Connection, texts: Iterator[str], until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        connection.call("POST", "/api/v1/memories", {"text": next(texts)})
        count += 1
    return count


def _texts(sample: Sample, mark: str, number: int) -> Iterator[str]:
    """Texts that no other writer writes, for ever."""
    index = number * 997
    while True:
        yield f"{sample.text(index % sample.count)} {mark} {index}"
        index += 1
