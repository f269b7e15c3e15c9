"""Selecting: which memories an act on many of them means, and whether one still is."""

from __future__ import annotations

import msgspec

from noesis.browsing import agent_condition, archived_condition, filter_condition, live_condition
from noesis.errors import Forbidden, InvalidInput
from noesis.memory import DELETED, MemoryFilter, Scope, to_datetime
from noesis.store import Column, Condition, Row, Store
from noesis.store.filters import EVERYTHING, equals, one_of


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The memories of `agent` (None: every agent's) that fit, of the archive or of the active ones.

    With `ids` only those among these.
    """

    wanted: MemoryFilter = MemoryFilter()
    agent: str | None = None
    archived: bool = False
    ids: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What it names, for the audit log: names, times and types."""
        wanted = self.wanted
        parts = [
            ("agent", self.agent),
            ("type", ",".join(wanted.memory_types)),
            ("tags", ",".join(wanted.tags)),
            ("session", wanted.session_id),
            ("source", wanted.source),
            ("after", wanted.after and f"{to_datetime(wanted.after):%Y-%m-%dT%H:%M:%SZ}"),
            ("before", wanted.before and f"{to_datetime(wanted.before):%Y-%m-%dT%H:%M:%SZ}"),
            ("archived", "yes" if self.archived else ""),
            ("chosen", len(self.ids) or ""),
        ]
        return " ".join(f"{name}={value}" for name, value in parts if value)


class Selected(msgspec.Struct, frozen=True):
    """A memory that is meant, and whose it is."""

    id: str
    agent: str


def owned(scope: Scope, selection: Selection) -> Selection:
    """The selection within what the caller may change.

    Raises InvalidInput when it names nothing that limits it: all memories are never meant by silence.
    Raises Forbidden when it names another agent.
    """
    if selection.agent is None and selection.wanted == MemoryFilter() and not selection.ids:
        raise InvalidInput(
            "Name at least one filter: agent_id, memory_type, tag, session_id, source or an age."
            " Nothing was changed.",
            field="filter",
        )
    whose = scope.whose
    if whose is None:
        return selection
    if selection.agent not in (None, whose):
        raise Forbidden("Another agent's memories cannot be changed.")
    return msgspec.structs.replace(selection, agent=whose)


async def select(store: Store, selection: Selection, now_ms: int) -> list[Selected]:
    """All memories that are meant now, by id."""
    table = store.archive if selection.archived else store.active
    found = await table.values([Column.PARENT_ID, Column.AGENT_ID], _condition(selection, now_ms))
    return sorted((Selected(*row) for row in found), key=lambda each: each.id)


def _condition(selection: Selection, now_ms: int) -> Condition:
    return (
        agent_condition(selection.agent)
        & filter_condition(selection.wanted)
        & equals(Column.CHUNK, 0)
        & (one_of(Column.PARENT_ID, selection.ids) if selection.ids else EVERYTHING)
        & (archived_condition() if selection.archived else live_condition(now_ms))
    )


def still_fits(selection: Selection, row: Row, now_ms: int) -> bool:
    """Whether a memory with this first row is meant: what `select` asks the store, asked of one row."""
    wanted = selection.wanted
    stands = row.archive_reason != DELETED if selection.archived else row.expires_at > now_ms
    return (
        stands
        and (not selection.ids or row.parent_id in selection.ids)
        and selection.agent in (None, row.agent_id)
        and (not wanted.memory_types or row.memory_type in wanted.memory_types)
        and set(wanted.tags) <= set(row.tags)
        and wanted.session_id in (None, row.session_id)
        and wanted.source in (None, row.source)
        and (wanted.after is None or row.created_at >= wanted.after)
        and (wanted.before is None or row.created_at < wanted.before)
    )
