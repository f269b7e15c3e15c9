"""Routes of a switch to another embedder: whether one is needed, and its start."""

from __future__ import annotations

import msgspec
from litestar import get, post
from litestar.params import JSONBody

from noesis.api.access import ADMIN, Wired
from noesis.api.jobs import JobStarted, started
from noesis.api.memories import ApiRequest
from noesis.ledger import JobArgs
from noesis.reembedding.values import Standing


class ReembedRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With `force` all vectors are made anew although they are of this very model."""

    force: bool = False


@get("/reembed", opt=ADMIN, tags=["system"], summary="Whether a switch to another embedder is needed")
async def show_standing(noesis: Wired) -> Standing:
    """Whose vectors the store holds, what the embedder is, and how far an unfinished switch has come."""
    return await noesis.reembedding.standing()


@post("/reembed", opt=ADMIN, status_code=202, tags=["system"], summary="Make all vectors anew")
async def start_reembedding(request: ApiRequest, noesis: Wired, data: JSONBody[ReembedRequest]) -> JobStarted:
    """Start a switch to the embedder of the settings.  409 when there is nothing to switch and no `force`."""
    await noesis.reembedding.check(force=data.force)
    await noesis.audit.record(request.auth.actor, "re-embedding started")
    args: JobArgs = {"force": data.force, "actor": request.auth.actor}
    return started(await noesis.jobs.enqueue("reembed", key="reembed", args=args))


HANDLERS = [show_standing, start_reembedding]
