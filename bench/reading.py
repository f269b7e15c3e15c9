"""The time of a search over HTTP beside that of the calls it cannot do without, taken in turns."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol
from unittest import mock

import msgspec
import pyarrow as pa

from bench.seeding import AGENT
from bench.server import Connection, Server
from noesis.browsing import agent_condition
from noesis.candidates import FETCHED
from noesis.memory import Scope, SearchQuery
from noesis.ranking.metrics import p50_p95
from noesis.runtime import Noesis
from noesis.store import Condition, Table
from noesis.store.tables import FOUND_COLUMNS
from noesis.store.vector_index import DEFAULT_DEPTH

Read = tuple[list[str], str | list[int]]
"""The columns of a read, and which rows: those that fit a condition, or those at these addresses."""

_ROUNDS_PER_CLIENT = 4


class Latency(msgspec.Struct, frozen=True):
    """p50 and p95 in ms of searches by so many clients at once, and p50 of the parts the server reports.

    The CPU times (ms a search, of the server process and of this one) hardly depend on what else the
    machine does.
    """

    clients: int
    questions: int
    http: tuple[float, float]
    direct: tuple[float, float]
    took_p50: float
    embedding_p50: float
    store_p50: float
    http_cpu: float
    direct_cpu: float

    @property
    def ratio(self) -> float:
        """HTTP's p50 over the direct calls'."""
        return self.http[0] / self.direct[0]


class Answered(msgspec.Struct, frozen=True):
    """One search over HTTP, in ms."""

    client: float
    took: float
    embedding: float
    store: float


class Compared(msgspec.Struct, frozen=True):
    """The searches of one comparison: over HTTP, directly (ms each), and the CPU time of both sides (s)."""

    http: list[Answered]
    direct: list[float]
    http_cpu: float
    direct_cpu: float


class Asker(Protocol):
    """A search without the product."""

    async def search(self, text: str) -> float:
        """Answer a question; how long it took (ms)."""


class Direct:
    """LanceDB and the embedder without the product: what one hybrid search calls.

    The legs are asked as a search asks them while nothing has expired: the sample's memories never do.
    """

    def __init__(self, noesis: Noesis) -> None:
        self._noesis = noesis
        self._columns = [*FOUND_COLUMNS, "vector"]
        self._follow_ups: dict[str, list[Read]] = {}

    async def prepare(self, questions: Sequence[str]) -> None:
        """Search by the product, and note what it reads after the legs: the neighbours, and the hits whole."""
        for question in questions:
            with reads_of(self._noesis.store.active) as seen:
                await self._noesis.search.search(Scope(AGENT), SearchQuery(text=question))
            self._follow_ups[question] = seen

    async def search(self, text: str) -> float:
        """Embed the question, then the vector query; the keyword query beside them; then the rest.  In ms."""
        started = time.perf_counter()
        condition, table = agent_condition(AGENT).sql, self._noesis.store.active.handle
        await asyncio.gather(self._by_meaning(text, condition), self._by_words(text, condition))
        for columns, which in self._follow_ups[text]:
            query = table.query().where(which) if isinstance(which, str) else table.take_row_ids(which)
            await query.select(columns).to_arrow()
        return (time.perf_counter() - started) * 1000

    async def _by_meaning(self, text: str, condition: str) -> None:
        vector = await self._noesis.embedder.embed_query(text)
        query = self._noesis.store.active.handle.query().nearest_to(vector).distance_type("cosine")
        query = query.maximum_nprobes(0).minimum_nprobes(self._noesis.settings.ann_nprobe)
        query = query.refine_factor(DEFAULT_DEPTH.refine(FETCHED)).where(condition)
        await query.select([*self._columns, "_distance"]).limit(FETCHED).to_arrow()

    async def _by_words(self, text: str, condition: str) -> None:
        query = self._noesis.store.active.handle.query().nearest_to_text(text, columns=["keyword_text"])
        await query.where(condition).select([*self._columns, "_score"]).limit(FETCHED).to_arrow()


@contextlib.contextmanager
def reads_of(table: Table) -> Iterator[list[Read]]:
    """What is selected and taken from a table while the context lasts."""
    seen: list[Read] = []
    select, take = table.select, table.take

    async def noted(columns: Sequence[str], condition: Condition, limit: int | None = None) -> pa.Table:
        seen.append(([*columns], condition.sql))
        return await select(columns, condition, limit)

    async def noted_take(columns: Sequence[str], addresses: Sequence[int]) -> pa.Table:
        seen.append(([*columns], [*addresses]))
        return await take(columns, addresses)

    with mock.patch.multiple(table, select=noted, take=noted_take):
        yield seen


async def compare(server: Server, direct: Asker, questions: Sequence[str], clients: int) -> Latency:
    """Ask every question once over HTTP and once directly."""
    found = await in_turns(server, direct, questions, clients)
    return Latency(
        clients=clients,
        questions=len(questions),
        http=p50_p95([answer.client for answer in found.http]),
        direct=p50_p95(found.direct),
        took_p50=p50_p95([answer.took for answer in found.http])[0],
        embedding_p50=p50_p95([answer.embedding for answer in found.http])[0],
        store_p50=p50_p95([answer.store for answer in found.http])[0],
        http_cpu=found.http_cpu * 1000 / len(questions),
        direct_cpu=found.direct_cpu * 1000 / len(questions),
    )


async def in_turns(server: Server, direct: Asker, questions: Sequence[str], clients: int) -> Compared:
    """A few questions over HTTP, the same directly; who goes first changes from round to round."""
    connections = [server.connect(AGENT) for _ in range(clients)]
    over_http: list[Answered] = []
    directly: list[float] = []
    cpu_before, direct_cpu = server.cpu_s(), 0.0
    size = clients * _ROUNDS_PER_CLIENT if clients > 1 else 1
    for start in range(0, len(questions), size):
        part = questions[start : start + size]
        for http in (True, False) if start // size % 2 else (False, True):
            if http:
                over_http += await asyncio.to_thread(_over_http, connections, part)
            else:
                began = time.process_time()
                directly += await _directly(direct, part, clients)
                direct_cpu += time.process_time() - began
    http_cpu = server.cpu_s() - cpu_before
    for connection in connections:
        connection.close()
    return Compared(over_http, directly, http_cpu, direct_cpu)


def _over_http(connections: Sequence[Connection], questions: Sequence[str]) -> list[Answered]:
    """All questions, shared out among the connections, which ask at the same time."""
    shares = [questions[at :: len(connections)] for at in range(len(connections))]
    with ThreadPoolExecutor(len(connections)) as clients:
        return [answer for answers in clients.map(_ask_all, connections, shares) for answer in answers]


def _ask_all(connection: Connection, questions: Sequence[str]) -> list[Answered]:
    return [ask(connection, question) for question in questions]


def ask(connection: Connection, question: str) -> Answered:
    """One search over HTTP with the product's defaults."""
    started = time.perf_counter()
    answer = connection.call("POST", "/api/v1/search", {"query": question})
    elapsed = (time.perf_counter() - started) * 1000
    timings = answer["timings"]
    return Answered(elapsed, answer["took_ms"], timings["embedding"], timings["store"])


async def _directly(direct: Asker, questions: Sequence[str], clients: int) -> list[float]:
    waiting = iter(questions)
    times: list[float] = []

    async def client() -> None:
        times.extend([await direct.search(question) for question in waiting])

    await asyncio.gather(*(client() for _ in range(clients)))
    return times
