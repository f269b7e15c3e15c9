"""How long the dashboard's pages take beside the calls of the API that tell the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote_plus

import msgspec

from bench.sample import Sample
from bench.seeding import AGENT
from bench.server import Connection, Server
from noesis.ranking.metrics import p50_p95
from noesis.runtime import Noesis

_WARM_UP = 3

_SAME = {
    "/": ["/api/v1/memories?limit=20"],
    "/agents": ["/api/v1/agents", "/api/v1/tokens"],
    "/archive": ["/api/v1/archive?limit=20", "/api/v1/archive/expiring"],
    "/inbox": ["/api/v1/inbox"],
    "/activity": ["/api/v1/jobs", "/api/v1/audit"],
    "/backups": ["/api/v1/backups", "/api/v1/snapshots"],
    "/sources": ["/api/v1/freshness", "/api/v1/sources"],
    "/stats": ["/api/v1/stats"],
    "/system": ["/health", "/api/v1/freshness", "/api/v1/jobs"],
}
"""A page, and the calls that give most of what it shows."""

_OF_A_MEMORY = ("", "/history", "/neighbours", "/related")

Ask = Callable[[], Any]


class Timed(msgspec.Struct, frozen=True):
    """A page and its calls: p95 (ms) of both."""

    page: str
    page_ms: float
    call_ms: float

    @property
    def ratio(self) -> float:
        """The page's p95 over that of the calls."""
        return self.page_ms / self.call_ms


async def measure(noesis: Noesis, server: Server, sample: Sample, times: int) -> list[Timed]:
    """Each page of a browser that is logged in and its calls of an administrator, in turns, so many times."""
    session = await noesis.admin.new_session()
    return await asyncio.to_thread(_measure, server, session, sample, times)


def _measure(server: Server, session: str, sample: Sample, times: int) -> list[Timed]:
    person, caller, agent = server.browser(session), server.connect(), server.connect(AGENT)
    questions = iter(sample.questions(2 * (times + _WARM_UP)))
    timed = [_timed(*each, times) for each in _pairs(person, caller, agent, questions)]
    for connection in (person, caller, agent):
        connection.close()
    return timed


def _pairs(
    person: Connection, caller: Connection, agent: Connection, questions: Iterator[str]
) -> Iterator[tuple[str, Ask, Ask]]:
    def opening(address: str) -> Ask:
        return lambda: person.raw("GET", address, None)

    def asking(connection: Connection, *addresses: str) -> Ask:
        return lambda: [connection.raw("GET", address, None) for address in addresses]

    for page, calls in _SAME.items():
        yield page, opening(page), asking(caller, *calls)
    newest = caller.call("GET", "/api/v1/memories?limit=1")["memories"][0]["id"]
    parts = (f"/api/v1/memories/{newest}{part}" for part in _OF_A_MEMORY)
    yield "/memories/{id}", opening(f"/memories/{newest}"), asking(caller, *parts)
    yield "/agents/{name}", opening(f"/agents/{AGENT}"), asking(agent, "/api/v1/stats")
    # None is asked twice: the product remembers the vectors of questions.
    yield (
        "/?q=",
        lambda: person.raw("GET", f"/?q={quote_plus(next(questions))}", None),
        lambda: caller.call("POST", "/api/v1/search", {"query": next(questions)}),
    )


def _timed(page: str, open_page: Ask, call: Ask, times: int) -> Timed:
    for _ in range(_WARM_UP):
        open_page()
        call()
    pages, calls = [], []
    for _ in range(times):
        pages.append(_took_ms(open_page))
        calls.append(_took_ms(call))
    return Timed(page, p50_p95(pages)[1], p50_p95(calls)[1])


def _took_ms(ask: Ask) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000
