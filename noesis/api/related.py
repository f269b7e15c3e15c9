"""Routes of what a memory has to do with others: what replaces it, stands around it, is like it."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.views import MemoryView, memory_view
from noesis.memory import to_datetime
from noesis.superseding import Link


class SupersedeRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`by` is the id of the memory that replaces this one."""

    by: str


class LinkView(msgspec.Struct, frozen=True):
    """`superseded_by` replaces the memory `id`; `at` and `by` are when and by whom that was said."""

    id: str
    superseded_by: str
    at: datetime
    by: str


def link_view(link: Link) -> LinkView:
    """The API's form of a link."""
    return LinkView(link.old_id, link.new_id, to_datetime(link.at), link.by)


@post(
    "/memories/{memory_id:str}/supersede",
    summary="Say what replaces a memory",
    status_code=200,
    tags=["memories"],
)
async def supersede_memory(
    request: ApiRequest, noesis: Wired, memory_id: FromPath[str], data: JSONBody[SupersedeRequest]
) -> LinkView:
    """The memory stays as it is; from now on it ranks below the one that replaces it and names it."""
    return link_view(await noesis.superseding.link(request.auth, memory_id, data.by))


@delete(
    "/memories/{memory_id:str}/supersede",
    summary="Take back what replaces a memory",
    status_code=200,
    tags=["memories"],
)
async def unsupersede_memory(request: ApiRequest, noesis: Wired, memory_id: FromPath[str]) -> LinkView:
    """The memory stands again; answers with the link that was."""
    return link_view(await noesis.superseding.unlink(request.auth, memory_id))


class NeighboursView(msgspec.Struct, frozen=True):
    """The memories right before and right after one in its session or source, in their order."""

    before: list[MemoryView]
    after: list[MemoryView]


class AlikeView(msgspec.Struct, frozen=True):
    """A memory, its cosine to the one asked for (null when found by words), and the ids of repeats of it."""

    memory: MemoryView
    similarity: float | None
    copies: tuple[str, ...]


class RelatedView(msgspec.Struct, frozen=True):
    """The memories most like one, most alike first."""

    related: list[AlikeView]


@get("/memories/{memory_id:str}/neighbours", summary="What stands around a memory", tags=["memories"])
async def neighbours(
    request: ApiRequest, noesis: Wired, memory_id: FromPath[str], limit: FromQuery[int] = 3
) -> NeighboursView:
    """The turns or sections before and after it in its session or source, `limit` on each side."""
    found = await noesis.related.neighbours(request.auth, memory_id, limit)
    return NeighboursView(
        [memory_view(memory) for memory in found.before], [memory_view(memory) for memory in found.after]
    )


@get("/memories/{memory_id:str}/related", summary="What is like a memory", tags=["memories"])
async def related(
    request: ApiRequest, noesis: Wired, memory_id: FromPath[str], limit: FromQuery[int] = 5
) -> RelatedView:
    """The agent's active memories that are most like it; repeats of one text count as one."""
    found = await noesis.related.related(request.auth, memory_id, limit)
    return RelatedView(
        [
            AlikeView(
                memory_view(each.memory),
                None if each.similarity is None else round(each.similarity, 4),
                each.copies,
            )
            for each in found
        ]
    )


HANDLERS = [supersede_memory, unsupersede_memory, neighbours, related]
