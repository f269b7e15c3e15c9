"""Routes to forget a source or a session for good, and to admit it again."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import delete, get, post
from litestar.params import FromPath, JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.views import named_agent
from noesis.errors import InvalidInput
from noesis.memory import to_datetime
from noesis.tombstones import Kind, Tombstone


class ForgetRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to forget: either a source or a session; without `confirm_count` nothing is done."""

    source: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    confirm_count: int | None = None

    def named(self) -> tuple[Kind, str]:
        """What is meant.  Raises InvalidInput unless it is exactly one."""
        if self.source is not None and self.session_id is None:
            return Kind.SOURCE, self.source
        if self.session_id is not None and self.source is None:
            return Kind.SESSION, self.session_id
        raise InvalidInput("Name either source or session_id.", field="source")


class TombstoneView(msgspec.Struct, frozen=True, kw_only=True):
    """A source or session that must not come back by itself: when it was forgotten, by whom, what went."""

    id: str
    agent_id: str
    kind: Kind
    value: str
    at: datetime
    by: str
    memories: int
    finished: bool


class ForgotView(msgspec.Struct, frozen=True):
    """How many memories are meant (not `applied`) or went for good, and under which tombstone."""

    count: int
    applied: bool
    tombstone: TombstoneView | None


class ForgottenView(msgspec.Struct, frozen=True):
    """What was forgotten, newest first."""

    forgotten: list[TombstoneView]


def tombstone_view(stone: Tombstone) -> TombstoneView:
    """The API's form of a tombstone."""
    return TombstoneView(
        id=stone.id,
        agent_id=stone.agent,
        kind=stone.kind,
        value=stone.value,
        at=to_datetime(stone.at),
        by=stone.by,
        memories=stone.memories,
        finished=stone.finished,
    )


@post("/forget", summary="Forget a source or a session for good", status_code=200, tags=["memories"])
async def forget(request: ApiRequest, noesis: Wired, data: JSONBody[ForgetRequest]) -> ForgotView:
    """Remove all of one source or session, archive included, without an undo; no scan or import brings it back.

    Without `confirm_count` it only says how many memories those are; with another count than there are
    now it is 409. Backups and pushed snapshots from before still hold them.
    """
    kind, value = data.named()
    agent = named_agent(data.agent_id)
    done = await noesis.oversight.forgetting.forget(
        request.auth, kind, value, agent=agent, confirm_count=data.confirm_count
    )
    stone = None if done.tombstone is None else tombstone_view(done.tombstone)
    return ForgotView(done.count, done.applied, stone)


@get("/forgotten", summary="What was forgotten", tags=["memories"])
async def list_forgotten(request: ApiRequest, noesis: Wired) -> ForgottenView:
    """The sources and sessions that are kept from coming back, newest first."""
    stones = await noesis.oversight.forgetting.forgotten(request.auth)
    return ForgottenView([tombstone_view(stone) for stone in stones])


@delete(
    "/forgotten/{forgotten_id:str}", summary="Admit what was forgotten", status_code=200, tags=["memories"]
)
async def lift_forgotten(request: ApiRequest, noesis: Wired, forgotten_id: FromPath[str]) -> TombstoneView:
    """Let it come back by the next scan or import; nothing of what went is brought back by this."""
    return tombstone_view(await noesis.oversight.forgetting.lift(request.auth, forgotten_id))


HANDLERS = [forget, list_forgotten, lift_forgotten]
