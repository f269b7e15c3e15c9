"""The changes that a decision on duplicates makes: one memory is kept, the others go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from noesis.errors import Conflict
from noesis.memory import DELETED, MAX_TAGS, MERGED
from noesis.store import Row, View


class _KeepingChange:
    """Keeps one memory of several; `hashes_by_id` are the texts that were compared."""

    hashes: tuple[str, ...] = ()

    def __init__(self, keep: str, hashes_by_id: Mapping[str, str], actor: str, now_ms: int) -> None:
        self._keep = keep
        self._expected = dict(hashes_by_id)
        self._now_ms = now_ms
        self.memory_ids = tuple(hashes_by_id)
        self.actor = actor

    def standing(self, view: View) -> tuple[Sequence[Row], list[Sequence[Row]]]:
        """The rows of the one to keep and of the others, as they were compared.

        Raises Conflict when one of them is not active any more or says something else by now.
        """
        found = {memory_id: view.active(memory_id) for memory_id in self.memory_ids}
        for memory_id, rows in found.items():
            if (
                not rows
                or rows[0].expires_at <= self._now_ms
                or rows[0].content_hash != self._expected[memory_id]
            ):
                raise Conflict("One of these memories has changed since; look for duplicates again.")
        return found[self._keep], [rows for memory_id, rows in found.items() if memory_id != self._keep]

    def put_away(self, view: View, rows: Sequence[Row], reason: str) -> None:
        """Move a memory to the archive."""
        values = {"archived_at": self._now_ms, "archive_reason": reason, "updated_at": self._now_ms}
        view.put_archived([msgspec.structs.replace(row, **values) for row in rows])


class MergeChange(_KeepingChange):
    """Gives the one that is kept what the others had, and moves those to the archive."""

    def __init__(self, keep: str, hashes_by_id: Mapping[str, str], actor: str, now_ms: int) -> None:
        super().__init__(keep, hashes_by_id, actor, now_ms)
        self.because = f"merge into {keep}"

    def apply(self, view: View) -> int:
        """How many were merged into the one."""
        kept, others = self.standing(view)
        values = united(kept[0], [rows[0] for rows in others])
        if any(getattr(kept[0], name) != value for name, value in values.items()):
            values["updated_at"] = self._now_ms
            view.put_active([msgspec.structs.replace(row, **values) for row in kept])
        for rows in others:
            self.put_away(view, rows, MERGED)
        return len(others)


class DropChange(_KeepingChange):
    """Deletes the others; they can be brought back as any deleted memory."""

    def __init__(self, keep: str, hashes_by_id: Mapping[str, str], actor: str, now_ms: int) -> None:
        super().__init__(keep, hashes_by_id, actor, now_ms)
        self.because = f"duplicate of {keep}"

    def apply(self, view: View) -> int:
        """How many were deleted."""
        _, others = self.standing(view)
        for rows in others:
            self.put_away(view, rows, DELETED)
        return len(others)


def united(kept: Row, others: Sequence[Row]) -> dict[str, Any]:
    """All tags as far as a memory can hold them, the highest priority and who set it, the longest life."""
    first = max([kept, *others], key=lambda row: row.priority)
    tags = dict.fromkeys(tag for row in [kept, *others] for tag in row.tags)
    return {
        "tags": list(tags)[:MAX_TAGS],
        "priority": first.priority,
        "priority_set_by": kept.priority_set_by if first.priority == kept.priority else "caller",
        "expires_at": max(row.expires_at for row in [kept, *others]),
    }
