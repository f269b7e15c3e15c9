"""Purge: take a memory out of both tables for good."""

from __future__ import annotations

from collections.abc import Callable

from noesis.memory import Scope
from noesis.store import Row, View


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
