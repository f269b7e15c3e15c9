"""Purge: take memories out of both tables for good, and say which go next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from noesis.browsing import agent_condition, archived_condition, check_limit, load_memories
from noesis.memory import DAY_MS, DELETED, Memory, Scope
from noesis.settings import Settings
from noesis.sources.book import Book
from noesis.store import Column, Condition, Row, Store, View
from noesis.store.filters import at_most, differs, equals, one_of
from noesis.sweeping import Stop, Sweep, Swept, Tell

ACTOR = "cleanup"
"""Who does it, for the history."""

ASK_FROM = 20
"""So few memories are never worth a question."""


class PurgeChange:
    """Drops one memory from the active table and from the archive; there is no undo.

    `scope` None means whoever's it is.  `still` is asked under the write lock about the memory's first
    row as it lies now, the active one if both tables hold it: a memory that was brought back or renewed
    meanwhile is kept.  `actor` and `because` are for the history.
    """

    hashes: tuple[str, ...] = ()

    def __init__(
        self,
        scope: Scope | None,
        memory_id: str,
        actor: str,
        still: Callable[[Row], bool],
        because: str | None = None,
    ) -> None:
        self._whose = None if scope is None else scope.whose
        self._id = memory_id
        self._still = still
        self.actor = actor
        self.because = because
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> bool:
        """Whether it was there, the caller's, and still meant; a purge that is repeated is harmless."""
        rows = view.active(self._id) or view.archived(self._id)
        if not rows or self._whose not in (None, rows[0].agent_id) or not self._still(rows[0]):
            return False
        view.drop(self._id)
        return True


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """What is over in the archive at a moment: how many memories may be purged, and how many are held back.

    `held` are purged only when somebody confirms it; `held_agents` names whose they are.
    """

    total: int = 0
    held: int = 0
    held_agents: tuple[str, ...] = ()


class Expiring(msgspec.Struct, frozen=True):
    """A memory of the archive, and when it is purged for good (ms since 1970)."""

    memory: Memory
    purge_at: int


class Purging:
    """Ends the life of what lies in the archive for long enough, and tells what goes next."""

    def __init__(self, store: Store, book: Book, settings: Settings) -> None:
        self._store = store
        self._book = book
        self._lives = {
            True: round(settings.deleted_keep_days * DAY_MS),
            False: round(settings.archive_ttl_days * DAY_MS),
        }
        self._most_share = settings.cleanup_max_share

    async def due(self, agent: str | None, at_ms: int) -> Due:
        """Count what is over.

        An agent's archive is held back when too large a share of it would go at once; what somebody
        deleted is not, since that was meant to go.
        """
        whose = agent_condition(agent) & equals(Column.CHUNK, 0)
        over = await self._by_agent(whose & self._over(at_ms, deleted=False))
        deleted = await self._by_agent(whose & self._over(at_ms, deleted=True))
        all_of_them = await self._by_agent(whose & archived_condition()) if over else {}
        held = {
            name: count
            for name, count in over.items()
            if is_suspicious(count, all_of_them.get(name, 0), self._most_share)
        }
        return Due(
            total=sum(over.values()) + sum(deleted.values()),
            held=sum(held.values()),
            held_agents=tuple(sorted(held)),
        )

    async def purge(
        self, agent: str | None, at_ms: int, held: Sequence[str], tell: Tell, stop: Stop
    ) -> list[Swept]:
        """Purge what is over but not the archives of the agents that are held back.  Raises a StoreError."""
        swept: list[Swept] = []
        for deleted in (True, False):
            whose = but_not(agent_condition(agent), () if deleted else held)
            sweep = Sweep(self._store, self._store.archive, whose & self._over(at_ms, deleted=deleted))
            filed = await self._book.filed_ids() if await sweep.count() else frozenset()
            change_of = partial(self._change, deleted=deleted, at_ms=at_ms, filed=filed)
            swept.append(await sweep.run(change_of, tell, stop))
        return swept

    async def expiring(self, scope: Scope, *, limit: int, agent: str | None = None) -> list[Expiring]:
        """What goes next of the caller's archive, the next to go first.  Raises InvalidInput or Forbidden."""
        check_limit(limit)
        whose = agent_condition(scope.readable(agent=agent)) & equals(Column.CHUNK, 0)
        found: dict[str, int] = {}
        for deleted, life in self._lives.items():
            if life:
                rows = await self._store.archive.lowest(
                    Column.ARCHIVED_AT, whose & _reason(deleted=deleted), limit
                )
                found |= {memory_id: archived_at + life for archived_at, memory_id in rows}
        filed = await self._book.filed_ids() if found else frozenset()
        found = {memory_id: at for memory_id, at in found.items() if memory_id not in filed}
        order = sorted(found, key=lambda memory_id: (found[memory_id], memory_id))[:limit]
        memories = await load_memories(self._store.archive, order)
        return [Expiring(memory, found[memory.id]) for memory in memories]

    def _change(self, memory_id: str, *, deleted: bool, at_ms: int, filed: frozenset[str]) -> PurgeChange:
        def still(row: Row) -> bool:
            # Without its row, the next look at the file that still holds it would make it anew.
            is_meant = row.archived_at is not None and (row.archive_reason == DELETED) == deleted
            return (
                is_meant and memory_id not in filed and (row.archived_at or 0) <= at_ms - self._lives[deleted]
            )

        return PurgeChange(
            None, memory_id, ACTOR, still, "deleted long ago" if deleted else "archived long ago"
        )

    def _over(self, at_ms: int, *, deleted: bool) -> Condition:
        life = self._lives[deleted]
        return _reason(deleted=deleted) & (
            at_most(Column.ARCHIVED_AT, at_ms - life) if life else one_of(Column.ID, ())
        )

    async def _by_agent(self, condition: Condition) -> dict[str, int]:
        return dict(await self._store.archive.tally([Column.AGENT_ID], condition))


def _reason(*, deleted: bool) -> Condition:
    return equals(Column.ARCHIVE_REASON, DELETED) if deleted else archived_condition()


def but_not(whose: Condition, agents: Sequence[str]) -> Condition:
    """The condition without the rows of these agents."""
    for name in agents:
        whose &= differs(Column.AGENT_ID, name)
    return whose


def is_suspicious(count: int, of: int, most_share: float) -> bool:
    """Whether so many of so many is more than one run does unasked; a handful never is."""
    return count >= ASK_FROM and count > of * most_share
