"""Routes of the context engine: what goes into a prompt, and the turns that were said."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import Response, post
from litestar.params import JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.rate_limits import counts_as_write
from noesis.api.uses import note_uses
from noesis.api.views import named_agent
from noesis.context.intake import GivenTurn
from noesis.context.messages import Message
from noesis.context.values import DEFAULT_BUDGET, Assembled, Included, Occasion
from noesis.memory import MemoryType, to_datetime

MAX_TURN_BYTES = 32 << 20
"""A turn carries what its tools gave as well, of which nothing is kept."""


class AssembleRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prompt that memories are wanted for, in the host's words, and how much room and time there is.

    `token_budget` bounds the whole block; `deadline_ms` is how long the host waits.
    """

    prompt: str = ""
    session_id: str | None = None
    token_budget: int = DEFAULT_BUDGET
    deadline_ms: int | None = None
    agent_id: str | None = None

    def to_occasion(self) -> Occasion:
        """The domain's form."""
        return Occasion(
            prompt=self.prompt,
            session_id=self.session_id,
            token_budget=self.token_budget,
            deadline_ms=self.deadline_ms,
        )


class IncludedView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of the block; `why` holds `priority`, `recalled` or both; `score` if it is recalled."""

    id: str
    why: tuple[str, ...]
    token_count: int
    score: float | None
    memory_type: MemoryType
    priority: int
    created_at: datetime


class AssembleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The block for the prompt, empty when there is nothing to say; the same memories give the same text.

    `left_out` counts by reason what would have been in it.  `degraded` says that the prompt recalled
    less than it might have, and `reason` why.
    """

    text: str
    token_count: int
    memories: list[IncludedView]
    left_out: dict[str, int]
    took_ms: float
    degraded: bool
    reason: str | None


class TurnsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The messages of one turn as the host has them, each with the host's `entry_id` and `seq` if known.

    The same `advancement_key` is taken once, however often it is sent.
    """

    session_id: str
    advancement_key: str
    messages: list[Message]
    is_heartbeat: bool = False
    agent_id: str | None = None


class TurnsAnswer(msgspec.Struct, frozen=True):
    """How many of the messages will be looked at; `duplicate` when the key was taken before."""

    accepted: int
    duplicate: bool


@post(
    "/context/assemble",
    status_code=200,
    tags=["context"],
    summary="Assemble what goes into a prompt",
    description="204 without a body when NOESIS_CONTEXT_ENGINE_ENABLED is false.",
)
async def assemble(
    request: ApiRequest, noesis: Wired, data: JSONBody[AssembleRequest]
) -> Response[AssembleAnswer | None]:
    """The agent's standing memories and what the prompt recalls, as one block."""
    request.auth.owner(named_agent(data.agent_id))
    if not noesis.settings.context_engine_enabled:
        return Response(None, status_code=204)
    found = await noesis.context.assembling.assemble(request.auth, data.to_occasion())
    note_uses(request.auth, noesis, [each.memory for each in found.included], "assemble")
    return Response(assemble_answer(found))


@post(
    "/context/turns",
    status_code=202,
    tags=["context"],
    summary="Hand over a turn to be captured",
    description="202 as soon as the turn is safe on the disk; a job captures it."
    " 204 without a body when NOESIS_CONTEXT_ENGINE_ENABLED is false.",
    request_max_body_size=MAX_TURN_BYTES,
    guards=[counts_as_write],
)
async def take_turns(
    request: ApiRequest, noesis: Wired, data: JSONBody[TurnsRequest]
) -> Response[TurnsAnswer | None]:
    """Take the messages of one turn; nothing that was said is lost after the answer."""
    agent = request.auth.owner(named_agent(data.agent_id))
    if not noesis.settings.context_engine_enabled:
        return Response(None, status_code=204)
    given = GivenTurn(
        session_id=data.session_id,
        advancement_key=data.advancement_key,
        messages=tuple(data.messages),
        is_heartbeat=data.is_heartbeat,
    )
    taken = await noesis.context.intake.accept(agent, given)
    if taken.turn_id is not None:
        await noesis.jobs.enqueue(
            "capture_turn", key=f"capture_turn:{taken.turn_id}", args={"turn": taken.turn_id}
        )
    return Response(TurnsAnswer(taken.accepted, taken.duplicate), status_code=202)


def assemble_answer(found: Assembled) -> AssembleAnswer:
    """The API's form of an assembled block."""
    return AssembleAnswer(
        text=found.text,
        token_count=found.token_count,
        memories=[_included(each) for each in found.included],
        left_out=found.left_out,
        took_ms=round(found.took_ms, 2),
        degraded=found.degraded,
        reason=found.reason,
    )


def _included(each: Included) -> IncludedView:
    memory = each.memory
    return IncludedView(
        id=memory.id,
        why=each.why,
        token_count=each.token_count,
        score=each.score,
        memory_type=memory.memory_type,
        priority=memory.priority,
        created_at=to_datetime(memory.created_at),
    )


HANDLERS = [assemble, take_turns]
