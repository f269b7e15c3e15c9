"""Changes of memories that belong to a file: kept, rewritten, moved, or gone with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from noesis.memory import DELETED, SOURCE_GONE
from noesis.rows import keyword_prefix
from noesis.store import Row, View

ACTOR = "scan"
"""Who does it, for the history."""


class _FiledChange:
    """A change of some memories by their ids."""

    hashes: tuple[str, ...] = ()
    actor = ACTOR

    def __init__(self, memory_ids: Sequence[str], now_ms: int) -> None:
        self.memory_ids = tuple(memory_ids)
        self._now_ms = now_ms


class KeepChange(_FiledChange):
    """The file still holds this memory: it lies at this place of the file, and lives unless somebody ended it."""

    def __init__(self, memory_id: str, position: int, now_ms: int) -> None:
        super().__init__((memory_id,), now_ms)
        self._position = position

    def is_done(self, rows: Sequence[Row]) -> bool:
        """Whether nothing is to be changed, as these rows have it."""
        return bool(rows) and (_is_ended(rows[0]) or self._lies_there(rows[0]))

    def apply(self, view: View) -> bool:
        """Bring it back when only its file was gone; whether there is such a memory.

        What a person deleted and what outlived a TTL that somebody gave it stays where it is.
        """
        memory_id = self.memory_ids[0]
        rows = view.active(memory_id) or view.archived(memory_id)
        if not rows or self.is_done(rows):
            return bool(rows)
        values: dict[str, Any] = {"position": self._position, "archived_at": None, "archive_reason": None}
        if rows[0].archived_at is not None:
            values["updated_at"] = self._now_ms
        view.put_active([msgspec.structs.replace(row, **values) for row in rows])
        return True

    def _lies_there(self, row: Row) -> bool:
        return row.archived_at is None and row.position == self._position


def _is_ended(row: Row) -> bool:
    return row.archived_at is not None and row.archive_reason != SOURCE_GONE


class RefileChange(_FiledChange):
    """The file holds another text in a memory's place."""

    def __init__(self, rows: Sequence[Row], told: Mapping[str, Any], now_ms: int) -> None:
        super().__init__((rows[0].parent_id,), now_ms)
        self._rows = rows
        self._told = told

    def apply(self, view: View) -> bool:
        """Take the new text; what the file does not tell (priority, type, life) stays as it was."""
        memory_id = self.memory_ids[0]
        old = view.active(memory_id) or view.archived(memory_id)
        if old and old[0].archive_reason == DELETED:
            return True
        kept: dict[str, Any] = {}
        if old:
            names = (
                "memory_type",
                "priority",
                "priority_set_by",
                "tags",
                "created_at",
                "expires_at",
                "trust",
            )
            kept = {name: getattr(old[0], name) for name in names}
            if kept["expires_at"] <= self._now_ms:
                del kept["expires_at"]
        values = kept | dict(self._told) | {"updated_at": self._now_ms}
        view.put_active([msgspec.structs.replace(row, **values) for row in self._rows])
        return True


class GoneChange(_FiledChange):
    """The file does not hold these memories any more."""

    def __init__(self, memory_ids: Sequence[str], reason: str, now_ms: int) -> None:
        super().__init__(memory_ids, now_ms)
        self._reason = reason

    def apply(self, view: View) -> int:
        """Move those that are active to the archive; how many were."""
        moved = 0
        values = {
            "archived_at": self._now_ms,
            "archive_reason": self._reason,
            "updated_at": self._now_ms,
        }
        for memory_id in self.memory_ids:
            rows = view.active(memory_id)
            if rows:
                view.put_archived([msgspec.structs.replace(row, **values) for row in rows])
                moved += 1
        return moved


class SourceChange(_FiledChange):
    """The file that holds these memories has another path."""

    def __init__(self, memory_ids: Sequence[str], source: str, now_ms: int) -> None:
        super().__init__(memory_ids, now_ms)
        self._source = source

    def apply(self, view: View) -> int:
        """Name the new path in each of them, wherever it lies; how many there were."""
        found = 0
        for memory_id in self.memory_ids:
            active = view.active(memory_id)
            rows = active or view.archived(memory_id)
            if not rows:
                continue
            found += 1
            moved = [_moved(row, self._source) for row in rows]
            if active:
                view.put_active(moved)
            else:
                view.put_archived(moved)
        return found


def _moved(row: Row, source: str) -> Row:
    prefix = keyword_prefix(row.created_at, row.author, source)
    return msgspec.structs.replace(row, source=source, keyword_prefix=prefix)
