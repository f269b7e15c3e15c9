"""Fill in the vectors of memories that were stored while none could be had."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.errors import NotFound
from noesis.memory import EmbeddingState, Memory, Scope
from noesis.rows import to_memory, vector_text, with_embeddings
from noesis.store import Column, Condition, Row, Store, Table, View
from noesis.store.filters import at_most, equals
from noesis.vectors import Vectors

Progress = Callable[[int, int], None]

_BATCH = 64


class Filled(msgspec.Struct, frozen=True):
    """What came of one pass."""

    embedded: int
    failed: int
    waiting: int


class Filling:
    """Gives pending memories their vectors."""

    def __init__(self, store: Store, vectors: Vectors, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._vectors = vectors
        self._now_ms = now_ms

    async def fill(self, progress: Progress) -> Filled:
        """Embed what is due, batch by batch, until nothing is.

        A text that fails is tried again later, three times in all, then it is marked failed with the
        reason.  Raises EmbedderUnavailable or EmbedderMismatch, with everything so far kept.
        """
        done = failed = 0
        total = await self._due_count()
        for table in (self._store.active, self._store.archive):
            while rows := await table.rows(self._due(), limit=_BATCH):
                results = await self._vectors.of_documents_or_raise([vector_text(row) for row in rows])
                await self._put(rows, results)
                failed += sum(isinstance(result, EmbeddingFailure) for result in results)
                done += len(rows)
                progress(done, max(total, done))
        return Filled(done - failed, failed, await self._pending_count())

    async def pending(self) -> int:
        """How many rows still wait for a vector."""
        return await self._pending_count()

    async def retry(self, scope: Scope, memory_id: str) -> Memory:
        """Let a failed memory be tried again.  Raises NotFound."""
        return await self._store.submit(RetryChange(scope, memory_id))

    async def _put(self, rows: Sequence[Row], results: Sequence[Vector | EmbeddingFailure]) -> None:
        filled = with_embeddings(rows, results, self._now_ms())
        await asyncio.gather(*(self._store.submit(FillChange(row)) for row in filled))

    def _due(self) -> Condition:
        return equals(Column.EMBEDDING_STATE, EmbeddingState.PENDING.value) & at_most(
            Column.EMBEDDING_RETRY_AT, self._now_ms()
        )

    async def _due_count(self) -> int:
        return await self._sum(lambda table: table.count(self._due()))

    async def _pending_count(self) -> int:
        pending = equals(Column.EMBEDDING_STATE, EmbeddingState.PENDING.value)
        return await self._sum(lambda table: table.count(pending))

    async def _sum(self, count: Callable[[Table], Awaitable[int]]) -> int:
        return await count(self._store.active) + await count(self._store.archive)


class FillChange:
    """Puts one row's vector in, wherever the row lies now, if its text is still the one embedded."""

    hashes: tuple[str, ...] = ()

    def __init__(self, row: Row) -> None:
        self._row = row
        self.memory_ids = (row.parent_id,)

    def apply(self, view: View) -> None:
        """Everything but the embedding is taken from the newest row."""
        parent = self._row.parent_id
        active = view.active(parent)
        rows = active or view.archived(parent)
        filled = [self._filled(row) for row in rows]
        if all(new is old for new, old in zip(filled, rows, strict=True)):
            return
        if active:
            view.put_active(filled)
        else:
            view.put_archived(filled)

    def _filled(self, row: Row) -> Row:
        new = self._row
        if row.id != new.id or vector_text(row) != vector_text(new) or row.vector is not None:
            return row
        return msgspec.structs.replace(
            row,
            vector=new.vector,
            embedding_state=new.embedding_state,
            embedding_reason=new.embedding_reason,
            embedding_attempts=new.embedding_attempts,
            embedding_retry_at=new.embedding_retry_at,
        )


class RetryChange:
    """Sets a memory's failed rows back to pending."""

    hashes: tuple[str, ...] = ()

    def __init__(self, scope: Scope, memory_id: str) -> None:
        self._scope = scope
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> Memory:
        """Only rows that failed change."""
        (memory_id,) = self.memory_ids
        active = view.active(memory_id)
        rows = active or view.archived(memory_id)
        whose = self._scope.whose
        if not rows or whose not in (None, rows[0].agent_id):
            raise NotFound("There is no memory with this id.")
        again = [
            msgspec.structs.replace(
                row, embedding_state=EmbeddingState.PENDING.value, embedding_attempts=0, embedding_retry_at=0
            )
            if row.embedding_state == EmbeddingState.FAILED.value
            else row
            for row in rows
        ]
        (view.put_active if active else view.put_archived)(again)
        return to_memory(again)
