"""The route of the export: a stream that is never held whole."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime

from litestar import get
from litestar.params import FromQuery
from litestar.types import ASGIApp, Receive, Send
from litestar.types import Scope as ConnectionScope

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.views import named_agent
from noesis.audit import Audit
from noesis.exporting.operation import Exporting
from noesis.exporting.values import Export, Shape, Stage, Wanted
from noesis.memory import MemoryFilter, MemoryType, Scope, check_tags, to_ms

log = logging.getLogger(__name__)

STALLED_S = 300.0
"""Whoever takes nothing for so long is cut off: an export keeps old versions of the tables on the disk."""


@get(
    "/export",
    tags=["imports"],
    summary="Export memories",
    description="A stream of all memories that fit, as they are in this instant: NDJSON, a JSON array, or a"
    " .tar.gz of Markdown. The header X-Noesis-Memories says how many there are.",
    media_type="application/x-ndjson",
)
async def export_memories(
    request: ApiRequest,
    noesis: Wired,
    format: FromQuery[Shape] = Shape.NDJSON,  # noqa: A002 - the name of the parameter
    memory_type: FromQuery[list[MemoryType] | None] = None,
    tag: FromQuery[list[str] | None] = None,
    session_id: FromQuery[str | None] = None,
    source: FromQuery[str | None] = None,
    after: FromQuery[datetime | None] = None,
    before: FromQuery[datetime | None] = None,
    agent_id: FromQuery[str | None] = None,
    archive: FromQuery[Stage] = Stage.BOTH,
    deleted: FromQuery[bool] = False,
    vectors: FromQuery[bool] = False,
) -> ASGIApp:
    """All memories of the caller; an administrator who names no agent gets those of all."""
    wanted = Wanted(
        agent=named_agent(agent_id),
        filter=MemoryFilter(
            memory_types=tuple(memory_type or ()),
            tags=check_tags(tag or ()),
            session_id=session_id,
            source=source,
            after=None if after is None else to_ms(after, "after"),
            before=None if before is None else to_ms(before, "before"),
        ),
        archive=archive,
        deleted=deleted,
        vectors=vectors,
    )
    return _streamed(noesis.exporting, noesis.audit, request.auth, wanted, format)


def _streamed(exporting: Exporting, audit: Audit, caller: Scope, wanted: Wanted, shape: Shape) -> ASGIApp:
    """The answer; it opens the export itself, so that one that nobody takes is not left open."""

    async def respond(_scope: ConnectionScope, receive: Receive, send: Send) -> None:
        async with exporting.open(caller, wanted, shape) as export:
            await audit.record(caller.actor, "exported", export.outline.wanted.agent or "*")
            gone = asyncio.create_task(_gone(receive))
            try:
                await _send(export, send, gone)
            finally:
                gone.cancel()

    return respond


async def _send(export: Export, send: Send, gone: asyncio.Task[None]) -> None:
    """Send it all; what is broken off has no end, by which the client knows."""
    await send({"type": "http.response.start", "status": 200, "headers": _headers(export)})
    async for portion in export.portions:
        if gone.done():
            return
        try:
            async with asyncio.timeout(STALLED_S):
                await send({"type": "http.response.body", "body": portion.data, "more_body": True})
        except TimeoutError:
            log.warning("export broken off: the client takes nothing")
            return
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _headers(export: Export) -> Sequence[tuple[bytes, bytes]]:
    return [
        (b"content-type", export.media_type.encode()),
        (b"content-disposition", f'attachment; filename="{export.file_name}"'.encode()),
        (b"x-noesis-memories", str(export.outline.memories).encode()),
    ]


async def _gone(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


HANDLERS = [export_memories]
