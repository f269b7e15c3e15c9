"""Routes of single memories and of lists."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.types import ASGIApp

from noesis.api.access import Wired
from noesis.api.bulk import stream_answers
from noesis.api.filters import FILTER, Filtered
from noesis.api.rate_limits import counts_as_write, index_in_time
from noesis.api.uses import note_uses
from noesis.api.views import (
    IndexAnswer,
    IndexRequest,
    MemoriesView,
    MemoryView,
    PageView,
    PatchRequest,
    RecallRequest,
    memory_view,
    named_agent,
)
from noesis.memory import Memory, MemoryFilter, Scope
from noesis.runtime import Noesis

ApiRequest = Request[Any, Scope, Any]


@post("/memories", summary="Index one memory", status_code=201, tags=["memories"], guards=[counts_as_write])
async def index_memory(
    request: ApiRequest, noesis: Wired, data: JSONBody[IndexRequest]
) -> Response[IndexAnswer]:
    """Store a memory: 201 when it is new, 200 with the existing id when it was there already."""
    request.auth.owner(named_agent(data.agent_id))
    result = await noesis.indexing.index(request.auth, data.to_new())
    answer = IndexAnswer(result.id, result.duplicate, result.chunks, result.embedding_state)
    return Response(answer, status_code=200 if result.duplicate else 201)


@post(
    "/memories/bulk",
    summary="Index many memories",
    description="NDJSON in: one memory a line. NDJSON out: one answer a line, in order; a bad line fails alone.",
    status_code=200,
    media_type="application/x-ndjson",
    tags=["memories"],
    request_max_body_size=None,
)
async def index_bulk(request: ApiRequest, noesis: Wired) -> ASGIApp:
    """Store many memories as they come; the body is never held whole."""
    request.auth.owner()
    return stream_answers(request.stream(), lambda news: index_in_time(noesis, request.auth, news))


@get("/memories", summary="List memories", tags=["memories"], dependencies=FILTER)
async def list_memories(
    request: ApiRequest,
    noesis: Wired,
    wanted: Filtered,
    agent_id: FromQuery[str | None] = None,
    cross_agent: FromQuery[bool] = False,
    limit: FromQuery[int] = 50,
    cursor: FromQuery[str | None] = None,
) -> PageView:
    """The memories that fit, newest first, in pages."""
    page = await noesis.browsing.page(
        request.auth,
        wanted.to_filter(),
        limit=limit,
        cursor=cursor,
        cross_agent=cross_agent,
        agent=named_agent(agent_id),
    )
    return PageView([memory_view(memory) for memory in page.memories], page.cursor)


async def _shown(noesis: Noesis, memory: Memory) -> MemoryView:
    """One memory with the one that replaces it."""
    replaced = await noesis.superseding.replaced_by([memory.id])
    return memory_view(memory, replaced.get(memory.id))


@get("/memories/{memory_id:str}", summary="One memory", tags=["memories"])
async def get_memory(request: ApiRequest, noesis: Wired, memory_id: FromPath[str]) -> MemoryView:
    """One memory, whole, from the active table or the archive."""
    return await _shown(noesis, await noesis.browsing.get(request.auth, memory_id))


@patch("/memories/{memory_id:str}", summary="Correct a memory", tags=["memories"], guards=[counts_as_write])
async def patch_memory(
    request: ApiRequest, noesis: Wired, memory_id: FromPath[str], data: JSONBody[PatchRequest]
) -> MemoryView:
    """Change text, type, priority, tags or TTL; the id and the time of creation stay."""
    return await _shown(noesis, await noesis.editing.edit(request.auth, memory_id, data.to_edit()))


@delete(
    "/memories/{memory_id:str}",
    summary="Delete a memory",
    status_code=200,
    tags=["memories"],
    guards=[counts_as_write],
)
async def delete_memory(request: ApiRequest, noesis: Wired, memory_id: FromPath[str]) -> MemoryView:
    """Take a memory out of every answer; it can be brought back."""
    return await _shown(noesis, await noesis.editing.delete(request.auth, memory_id))


@post(
    "/memories/{memory_id:str}/undelete",
    summary="Bring a deleted memory back",
    status_code=200,
    tags=["memories"],
    guards=[counts_as_write],
)
async def undelete_memory(request: ApiRequest, noesis: Wired, memory_id: FromPath[str]) -> MemoryView:
    """Bring a deleted memory back."""
    return await _shown(noesis, await noesis.editing.undelete(request.auth, memory_id))


@post(
    "/memories/{memory_id:str}/embed", summary="Try a failed vector again", status_code=200, tags=["memories"]
)
async def embed_memory(request: ApiRequest, noesis: Wired, memory_id: FromPath[str]) -> MemoryView:
    """Let a memory whose vector could not be had be tried again."""
    memory = await noesis.filling.retry(request.auth, memory_id)
    await noesis.jobs.enqueue("embed_pending", key="embed_pending")
    return memory_view(memory)


@post("/recall", summary="Recall the newest memories", status_code=200, tags=["memories"])
async def recall(request: ApiRequest, noesis: Wired, data: JSONBody[RecallRequest]) -> MemoriesView:
    """The newest memories that have not expired, newest first."""
    page = await noesis.browsing.page(
        request.auth,
        MemoryFilter(session_id=data.session_id),
        limit=data.limit,
        cross_agent=data.cross_agent,
        agent=named_agent(data.agent_id),
    )
    note_uses(request.auth, noesis, page.memories, "recall")
    return MemoriesView([memory_view(memory) for memory in page.memories])


HANDLERS = [
    index_memory,
    index_bulk,
    list_memories,
    get_memory,
    patch_memory,
    delete_memory,
    undelete_memory,
    embed_memory,
    recall,
]
