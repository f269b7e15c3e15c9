"""The plainest changes: put rows here or there, or take a memory away."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.errors import Conflict
from noesis.store import Row, View


class Put:
    """Puts the rows of one memory into the active table or into the archive."""

    hashes: tuple[str, ...] = ()

    def __init__(self, *rows: Row, archived: bool = False) -> None:
        self.rows: Sequence[Row] = rows
        self.archived = archived
        self.memory_ids = (rows[0].parent_id,)

    def apply(self, view: View) -> str:
        (view.put_archived if self.archived else view.put_active)(self.rows)
        return self.rows[0].parent_id


class Drop:
    """Takes a memory out of both tables."""

    hashes: tuple[str, ...] = ()

    def __init__(self, memory_id: str) -> None:
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> None:
        view.drop(self.memory_ids[0])


class Refuse:
    """A change that finds it cannot be done."""

    hashes: tuple[str, ...] = ()

    def __init__(self, memory_id: str) -> None:
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> None:
        raise Conflict("Not now.")


class Count:
    """Adds one to the priority of a memory as it is now, or starts it at 0."""

    hashes: tuple[str, ...] = ()

    def __init__(self, row: Row) -> None:
        self.row = row
        self.memory_ids = (row.parent_id,)

    def apply(self, view: View) -> int:
        old = view.active(self.row.parent_id)
        new = msgspec.structs.replace(self.row, priority=old[0].priority + 1 if old else 0)
        view.put_active([new])
        return new.priority
