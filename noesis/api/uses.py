"""What the API says of use: the memories used most, and those never used."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from noesis.api.access import Wired
from noesis.memory import Memory, MemoryType, Scope, SearchResult, to_datetime
from noesis.stats import Stats
from noesis.uses import How

_SHOWN = 10
_TEXT_CHARS = 200


class UsedView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory by the beginning of its text; `last_used_at` is null when it never was."""

    id: str
    agent_id: str
    memory_type: MemoryType
    text: str
    created_at: datetime
    search: int = 0
    recall: int = 0
    assemble: int = 0
    last_used_at: datetime | None = None


class UsesView(msgspec.Struct, frozen=True):
    """The memories used most, how many were never used, and the oldest of those."""

    most: list[UsedView]
    never: int
    oldest_never: list[UsedView]


class StatsView(Stats, frozen=True, kw_only=True):
    """What one agent (or all of them, for an administrator) has in memory, and what of it is used."""

    uses: UsesView


def note_uses(scope: Scope, noesis: Wired, memories: Iterable[Memory], how: How) -> None:
    """Count a use of those of these memories that are the asking agent's own."""
    noesis.uses.note([memory.id for memory in memories if memory.agent_id == scope.agent], how)


def note_found(scope: Scope, noesis: Wired, result: SearchResult) -> None:
    """Count what a search found."""
    note_uses(scope, noesis, (hit.memory for hit in result.hits), "search")


async def stats_view(scope: Scope, noesis: Wired) -> StatsView:
    """Counts and uses of the caller's memories."""
    stats = await noesis.statistics.stats(scope)
    return StatsView(**msgspec.structs.asdict(stats), uses=await _uses_view(scope, noesis))


async def _uses_view(scope: Scope, noesis: Wired) -> UsesView:
    most = await noesis.usage.most(scope, _SHOWN)
    never = await noesis.usage.never(scope, _SHOWN)
    return UsesView(
        [
            msgspec.structs.replace(
                _view(used.memory),
                search=used.use.search,
                recall=used.use.recall,
                assemble=used.use.assemble,
                last_used_at=to_datetime(used.use.last_at),
            )
            for used in most
        ],
        never.count,
        [_view(memory) for memory in never.oldest],
    )


def _view(memory: Memory) -> UsedView:
    return UsedView(
        id=memory.id,
        agent_id=memory.agent_id,
        memory_type=memory.memory_type,
        text=memory.text[:_TEXT_CHARS],
        created_at=to_datetime(memory.created_at),
    )
