"""Embeds the texts of rows, batch by batch, into the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from noesis.crash_points import crash_point
from noesis.embedding.base import Embedder, EmbeddingFailure, Vector
from noesis.errors import Cancelled
from noesis.memory import EmbeddingState
from noesis.reembedding.journal import Journal, key_of
from noesis.rows import vector_text
from noesis.store import Column, Row, Store, Table
from noesis.store.filters import EVERYTHING, one_of
from noesis.store.schema import without_vector

Tell = Callable[[int, int], None]
"""Told how many rows are done, and of how many."""

Cancel = Callable[[], bool]

BATCH = 64
_PAGE = 512
"""Rows that are read together and embedded in order of length, so that a batch has little padding."""


class Texts:
    """Gives each row its new vector: from the journal, or made now and kept there."""

    def __init__(self, embedder: Embedder, journal: Journal, cancelled: Cancel) -> None:
        self._embedder = embedder
        self._journal = journal
        self._cancelled = cancelled
        self._refused: dict[bytes, EmbeddingFailure] = {}
        self.embedded = 0

    async def embed_all(self, store: Store, tell: Tell) -> int:
        """Embed what the journal lacks of both tables, and say how many rows that were.

        Raises EmbedderUnavailable, EmbedderMismatch, StoreFull or Cancelled, with all until then kept.
        """
        async with store.pinned() as pinned:
            total, archived = await self._lacking(pinned.archive)
            of_active, active = await self._lacking(pinned.active)
        total += of_active
        done = total - len(archived) - len(active)
        tell(done, total)
        for table, ids in ((store.archive, archived), (store.active, active)):
            for start in range(0, len(ids), _PAGE):
                page = ids[start : start + _PAGE]
                await self.embed(
                    await table.rows(one_of(Column.ID, page), vectors=False),
                    partial(_tell_on, tell, done, total),
                )
                done += len(page)
                tell(done, total)
        return len(archived) + len(active)

    async def _lacking(self, table: Table) -> tuple[int, list[str]]:
        """How many rows there are, and the ids of those whose text was not embedded yet."""
        total, ids = 0, []
        async for rows in table.batches(EVERYTHING, _PAGE, vectors=False):
            total += len(rows)
            ids += [row.id for row in rows if not self._is_known(key_of(vector_text(row)))]
        return total, ids

    async def embed(self, rows: Sequence[Row], on_texts: Callable[[int], None] = lambda _: None) -> None:
        """Embed the texts of these rows, each once; told how many there were.  Raises as `embed_all` does."""
        texts = {key_of(text): text for text in map(vector_text, rows)}
        new = [(key, text) for key, text in texts.items() if not self._is_known(key)]
        new.sort(key=lambda pair: len(pair[1]))
        for start in range(0, len(new), BATCH):
            if self._cancelled():
                raise Cancelled("It was cancelled; the vectors made until now are kept for the next time.")
            batch = new[start : start + BATCH]
            results = await self._embedder.embed_documents([text for _, text in batch])
            await self._keep([key for key, _ in batch], results)
            on_texts(start + len(batch))
            crash_point("reembed: batch kept")

    async def _keep(self, keys: Sequence[bytes], results: Sequence[Vector | EmbeddingFailure]) -> None:
        made: dict[bytes, Vector] = {}
        for key, result in zip(keys, results, strict=True):
            if isinstance(result, EmbeddingFailure):
                self._refused[key] = result
            else:
                made[key] = result
        await asyncio.to_thread(self._journal.add, made)
        self.embedded += len(made)

    def filled(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with their new vectors; one without waits for it, or has failed for good."""
        return [self._filled(row) for row in rows]

    def _filled(self, row: Row) -> Row:
        key = key_of(vector_text(row))
        vector, new = self._journal.get(key), without_vector(row)
        if vector is not None:
            new.vector = vector
            new.embedding_state = EmbeddingState.READY.value
        elif (refused := self._refused.get(key)) is not None and refused.permanent:
            new.embedding_state = EmbeddingState.FAILED.value
            new.embedding_reason = refused.reason
        return new

    def _is_known(self, key: bytes) -> bool:
        return key in self._journal or key in self._refused


def _tell_on(tell: Tell, before: int, total: int, texts: int) -> None:
    tell(before + texts, total)
