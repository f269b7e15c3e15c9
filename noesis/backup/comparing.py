"""How the memories of a backup and those of now differ, and which of them stay away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from noesis.backup.values import Difference
from noesis.memory import EXPIRED
from noesis.store.filters import EVERYTHING, Column
from noesis.store.generations import Generation
from noesis.store.whole import Known

Forgotten = Callable[[str], Awaitable[frozenset[tuple[str, str]]]]
"""The sources and sessions of an agent that were forgotten: pairs of "source" or "session" and its name."""


def difference(then: Mapping[str, Known], now: Mapping[str, Known], forgotten: int = 0) -> Difference:
    """Compare the memories of a backup with those of now."""
    both = then.keys() & now.keys()
    same = sum(then[memory_id] == now[memory_id] for memory_id in both)
    return Difference(
        added=len(then) - len(both),
        lost=len(now) - len(both),
        changed=len(both) - same,
        same=same,
        forgotten=forgotten,
    )


async def forgotten_in(generation: Generation, forgotten: Forgotten) -> dict[str, list[str]]:
    """The memories in a generation that belong to something forgotten, each with the ids of its rows."""
    found: dict[str, list[str]] = {}
    known: dict[str, frozenset[tuple[str, str]]] = {}
    columns = [Column.ID, Column.PARENT_ID, Column.AGENT_ID, Column.SOURCE, Column.SESSION_ID]
    for table in (generation.active, generation.archive):
        for row_id, memory_id, agent, source, session in await table.values(columns, EVERYTHING):
            if agent not in known:
                known[agent] = await forgotten(agent)
            if known[agent] & {("source", source), ("session", session)}:
                found.setdefault(memory_id, []).append(row_id)
    return found


def written_since(baseline: Mapping[str, Known], now: Mapping[str, Known]) -> dict[str, Known | None]:
    """The memories that somebody wrote, changed or purged since; None for one that is gone.

    That a vector was filled in is no change, and neither is an expiry: the generation that is gone back
    to has its own.
    """
    changed: dict[str, Known | None] = {}
    for memory_id, known in now.items():
        before = baseline.get(memory_id)
        if known == before:
            continue
        only_expired = (
            before is not None and known.reason == EXPIRED and known.content_hash == before.content_hash
        )
        if not only_expired:
            changed[memory_id] = known
    return changed | {memory_id: None for memory_id in baseline if memory_id not in now}
