"""The change that puts an imported memory into the store, once."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import msgspec

from noesis.memory import Memory, chunk_id, source_key
from noesis.quotas import Room
from noesis.store import Row, View

ACTOR = "import"
"""Who does it, for the history."""


class ImportChange:
    """Puts one memory into the table it belongs to, unless it is there.

    A memory is there when its id is, whatever a person made of it since: an old copy never overwrites or
    revives anything.  With an id that was derived here (not `own`) it is also there when the same text of
    the same source is.
    """

    actor = ACTOR

    def __init__(self, memory: Memory, rows: Sequence[Row], *, own: bool, room: Room) -> None:
        self._memory = memory
        self._rows = rows
        self._own = own
        self._room = room
        self.memory_ids = (memory.id,)
        self.hashes = (memory.content_hash,)

    def apply(self, view: View) -> bool:
        """Insert it; whether it was new."""
        memory = self._memory
        there = view.active(memory.id) or view.archived(memory.id)
        if there and there[0].agent_id == memory.agent_id:
            return False
        if not (self._own and not there) and self._has_twin(view):
            return False
        if not memory.archived:
            self._room.take()
        rows = self._with_another_id() if there else self._rows
        if memory.archived:
            view.put_archived(rows)
        else:
            view.put_active(rows)
        return True

    def _has_twin(self, view: View) -> bool:
        wanted = place_of(self._memory)
        return any(
            place_of(rows[0]) == wanted
            for rows in view.with_hash(self._memory.agent_id, self._memory.content_hash)
        )

    def _with_another_id(self) -> list[Row]:
        """The id belongs to another agent's memory, which must not be touched or told of."""
        fresh = str(uuid.uuid4())
        return [
            msgspec.structs.replace(row, id=chunk_id(fresh, row.chunk), parent_id=fresh) for row in self._rows
        ]


def place_of(memory: Memory | Row) -> tuple[str, int | None]:
    """What keeps equal texts of one agent apart: the source and the position in it."""
    return source_key(memory.source, memory.session_id, memory.position), memory.position
