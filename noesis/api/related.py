"""Routes of what a memory has to do with others: what replaces it."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import delete, post
from litestar.params import FromPath, JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
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


HANDLERS = [supersede_memory, unsupersede_memory]
