"""The new generation: every row of the live one with its new vector, and again what changed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from noesis.crash_points import crash_point
from noesis.embedding.base import EmbedderIdentity
from noesis.reembedding.texts import Texts
from noesis.store import Column, Row, Store, Table
from noesis.store.filters import EVERYTHING, one_of
from noesis.store.siblings import Sibling
from noesis.store.whole import row_hashes

_BATCH = 256
_APPENDED = 4096
"""Rows in one commit of the new generation: bounds the memory (at width 1024 about 20 MB) and its pieces."""
_CAUGHT = 500
_FEW = 64
_MOST_ROUNDS = 20

Known = dict[str, tuple[bool, str]]
"""Of each row by its id: whether it is archived, and its hash."""


class Building:
    """Fills a sibling and keeps it level with the live generation until the swap."""

    def __init__(self, store: Store, sibling: Sibling, texts: Texts) -> None:
        self._store = store
        self._sibling = sibling
        self._texts = texts
        self._laid: Known = {}
        self.caught_up = 0

    async def lay_out(self, embedder: EmbedderIdentity, now_ms: int) -> None:
        """Write all rows of one instant.  Raises a StoreError."""
        new = await self._sibling.create(embedder, now_ms)
        async with self._store.pinned() as pinned:
            self._laid = await _known(pinned.active, pinned.archive)
            for table, target in ((pinned.archive, new.archive), (pinned.active, new.active)):
                waiting: list[Row] = []
                async for rows in table.batches(EVERYTHING, _BATCH, vectors=False):
                    # What a broken move left in the archive as well counts as active.
                    waiting += [
                        row for row in rows if target is new.active or row.parent_id not in pinned.copies
                    ]
                    if len(waiting) >= _APPENDED:
                        await target.append(self._texts.filled(waiting))
                        waiting = []
                await target.append(self._texts.filled(waiting))
        crash_point("reembed: laid out")

    async def catch_up(self) -> None:
        """Take over what was written since, with new vectors, until hardly anything is left to take over."""
        for _ in range(_MOST_ROUNDS):
            if await self._round(embed=True) <= _FEW:
                return

    async def catch_up_now(self) -> None:
        """The same for the last time, while nobody writes: a text that is new by now waits for its vector."""
        await self._round(embed=False)

    async def _round(self, *, embed: bool) -> int:
        now = await _known(self._store.active, self._store.archive)
        changed = sorted(row_id for row_id, known in now.items() if self._laid.get(row_id) != known)
        gone = sorted(self._laid.keys() - now.keys())
        await self._sibling.drop(gone)
        for start in range(0, len(changed), _CAUGHT):
            await self._carry(changed[start : start + _CAUGHT], now, embed=embed)
        self._laid = now
        self.caught_up += len(changed) + len(gone)
        return len(changed) + len(gone)

    async def _carry(self, ids: Sequence[str], now: Known, *, embed: bool) -> None:
        about = one_of(Column.ID, ids)
        found = {
            True: await self._store.archive.rows(about, vectors=False),
            False: await self._store.active.rows(about, vectors=False),
        }
        if embed:
            await self._texts.embed([*found[True], *found[False]])
        await self._sibling.drop(ids)
        for archived, rows in found.items():
            standing = [row for row in rows if now[row.id][0] is archived]
            await self._sibling.put(self._texts.filled(standing), archived=archived)


async def _known(active: Table, archive: Table) -> Known:
    found = {row_id: (True, value) for row_id, value in (await row_hashes(archive)).items()}
    return found | {row_id: (False, value) for row_id, value in (await row_hashes(active)).items()}
