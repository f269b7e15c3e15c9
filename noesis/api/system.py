"""Routes about the system: is it well, what does it hold, what can it do."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import MediaType, Request, Response, get, post

from noesis.api.access import ADMIN, PUBLIC, Access, Wired, opens
from noesis.api.jobs import JobStarted, started
from noesis.api.memories import ApiRequest
from noesis.api.uses import StatsView, stats_view
from noesis.health import Health
from noesis.memory import Scope


class Alive(msgspec.Struct, frozen=True):
    """A word for a probe."""

    status: str


@get("/health/live", opt=PUBLIC, tags=["system"], summary="Is the process alive?")
async def live() -> Alive:
    """Answers as long as the process runs."""
    return Alive("alive")


@get("/health/ready", opt=PUBLIC, tags=["system"], summary="Can it serve?")
async def ready(noesis: Wired) -> Response[Alive]:
    """200 when memories can be read and written, else 503."""
    is_ready = await noesis.health.ready()
    return Response(Alive("ready" if is_ready else "not ready"), status_code=200 if is_ready else 503)


@get("/health", tags=["system"], summary="Every part's health")
async def health(noesis: Wired) -> Health:
    """Each part: its state, since when, what still works, what to do."""
    return await noesis.health.report()


@get("/api/v1/stats", tags=["system"], summary="What is remembered")
async def stats(request: ApiRequest, noesis: Wired) -> StatsView:
    """Counts of the caller's memories; an administrator without an agent sees all and the disk."""
    return await stats_view(request.auth, noesis)


@post("/api/v1/optimize", opt=ADMIN, status_code=202, tags=["system"], summary="Compact and index now")
async def optimize(noesis: Wired) -> JobStarted:
    """Start the upkeep of the tables now instead of at its next turn."""
    job = await noesis.jobs.enqueue("upkeep", key="upkeep", args={"force": True})
    return started(job)


@get("/openapi.json", opt=opens(Access.EITHER), include_in_schema=False, sync_to_thread=False)
def openapi(request: Request[Any, Scope, Any]) -> Response[bytes]:
    """The API's description, OpenAPI 3.1."""
    schema = request.app.openapi_schema.to_schema()
    return Response(msgspec.json.format(msgspec.json.encode(schema)), media_type=MediaType.JSON)


HANDLERS = [live, ready, health, stats, optimize, openapi]
