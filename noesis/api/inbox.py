"""Routes of the inbox: captured texts that wait for a person."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import get, post
from litestar.params import FromPath, FromQuery, JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.inbox import Waiting
from noesis.memory import EmbeddingState, MemoryType, to_datetime


class WaitingView(msgspec.Struct, frozen=True, kw_only=True):
    """A text that waits: what it would become, where it came from, and why it was held."""

    id: str
    agent_id: str
    text: str
    memory_type: MemoryType
    session_id: str | None
    author_role: str | None
    origin: str
    reasons: tuple[str, ...]
    captured_at: datetime


class InboxView(msgspec.Struct, frozen=True):
    """What waits, newest first; ask for the rest with `cursor`, which is null at the end."""

    waiting: list[WaitingView]
    total: int
    cursor: str | None


class Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to let a text in: as it is or as `text`; `always` trusts its origin from now on."""

    text: str | None = None
    always: bool = False


class Approved(msgspec.Struct, frozen=True):
    """The memory that came of it."""

    id: str
    duplicate: bool
    embedding_state: EmbeddingState


class Rejected(msgspec.Struct, frozen=True):
    """What was thrown away."""

    id: str


def waiting_view(waiting: Waiting) -> WaitingView:
    """The API's form of a text that waits."""
    memory = waiting.memory
    return WaitingView(
        id=waiting.id,
        agent_id=waiting.agent,
        text=memory.text,
        memory_type=memory.memory_type,
        session_id=memory.session_id,
        author_role=memory.author_role,
        origin=waiting.origin,
        reasons=waiting.reasons,
        captured_at=to_datetime(waiting.at),
    )


@get("/inbox", tags=["inbox"], summary="Texts that wait for a person")
async def list_inbox(
    request: ApiRequest, noesis: Wired, limit: FromQuery[int] = 50, cursor: FromQuery[str | None] = None
) -> InboxView:
    """Captured texts that may not become memories by themselves, newest first."""
    page = await noesis.inflow.inbox.page(request.auth, limit=min(max(limit, 1), 200), cursor=cursor)
    return InboxView(
        [waiting_view(each) for each in page.waiting],
        await noesis.inflow.inbox.count(request.auth),
        page.cursor,
    )


@post("/inbox/{waiting_id:str}/approve", status_code=200, tags=["inbox"], summary="Let a text in")
async def approve(
    request: ApiRequest, noesis: Wired, waiting_id: FromPath[str], data: JSONBody[Approval]
) -> Approved:
    """Make a waiting text a memory."""
    indexed = await noesis.inflow.inbox.approve(request.auth, waiting_id, text=data.text, always=data.always)
    await noesis.audit.record(request.auth.actor, "inbox approved", waiting_id)
    return Approved(indexed.id, indexed.duplicate, indexed.embedding_state)


@post("/inbox/{waiting_id:str}/reject", status_code=200, tags=["inbox"], summary="Throw a text away")
async def reject(request: ApiRequest, noesis: Wired, waiting_id: FromPath[str]) -> Rejected:
    """Throw a waiting text away; the same one is not asked about again."""
    await noesis.inflow.inbox.reject(request.auth, waiting_id)
    await noesis.audit.record(request.auth.actor, "inbox rejected", waiting_id)
    return Rejected(waiting_id)


HANDLERS = [list_inbox, approve, reject]
