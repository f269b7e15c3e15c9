"""Vectors for the operations: the embedder within deadlines, and never of another model than the store's."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from noesis.embedding.base import Embedder, EmbedderIdentity, EmbeddingFailure, ModelStatus, Vector
from noesis.errors import EmbedderError, EmbedderMismatch, EmbedderUnavailable, EmbeddingRejected
from noesis.store import Store

_CACHED_QUERIES = 512
_REMEMBERED = 50
_DOCUMENT_DEADLINE_S = 3.0
_DOCUMENT_DEADLINE_PER_TEXT_S = 0.5
QUERY_DEADLINE_S = 1.5
_REST_S = 10.0


class Vectors:
    """The embedder as the operations use it."""

    def __init__(
        self, embedder: Embedder, store: Store, *, query_deadline_s: float = QUERY_DEADLINE_S
    ) -> None:
        self._embedder = embedder
        self._store = store
        self._query_deadline_s = query_deadline_s
        self._queries: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._asked: deque[str] = deque(maxlen=_REMEMBERED)
        self._trouble: EmbedderError | None = None
        self._was_used = False
        self._resting_until = 0.0

    @property
    def embedder(self) -> Embedder:
        """The embedder itself."""
        return self._embedder

    @property
    def trouble(self) -> str | None:
        """What the embedder failed with at its last use; None when it worked."""
        return None if self._trouble is None else self._trouble.message

    @property
    def was_used(self) -> bool:
        """Whether the embedder was asked anything since the start."""
        return self._was_used

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions that came last in this process, whether or not they got a vector."""
        return tuple(self._asked)

    @property
    def is_other_model(self) -> bool:
        """Whether that was: it is not the model whose vectors the store holds."""
        return isinstance(self._trouble, EmbedderMismatch)

    def fits(self, text: str) -> bool:
        """Whether the model reads the text in one piece."""
        return self._embedder.count_tokens(text) <= self._embedder.max_tokens

    async def of_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """One vector per text, or why it has none yet.  Never raises an EmbedderError: text goes first."""
        try:
            return await self.of_documents_or_raise(texts)
        except EmbedderError as error:
            failure = EmbeddingFailure(error.message, permanent=False, outage=True)
            return [failure] * len(texts)

    async def of_documents_or_raise(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """The same, but an embedder that does not answer in time or at all is an EmbedderError."""
        if not texts:
            return []
        async with self._deadline(_DOCUMENT_DEADLINE_S + _DOCUMENT_DEADLINE_PER_TEXT_S * len(texts)):
            return await self._embedder.embed_documents(texts)

    async def look(self) -> ModelStatus:
        """Ask the embedder how it is, and remember it."""
        self._was_used = True
        status = await self._embedder.refresh_status()
        if status.state in ("ready", "unknown"):
            try:
                await self._check_identity()
            except EmbedderError as error:
                self._trouble = error
            else:
                self._trouble = None
                self._resting_until = 0.0
        else:
            failed = EmbedderMismatch if status.state == "unsuitable" else EmbedderUnavailable
            self._trouble = failed(status.sentence)
        return status

    async def prepare(self, on_progress: Callable[[ModelStatus], None] | None = None) -> None:
        """Have the model ready, downloaded if need be.  Raises EmbedderUnavailable or EmbedderMismatch."""
        try:
            await self._embedder.ensure_model(on_progress)
            await self._check_identity()
        except EmbedderError as error:
            self._trouble = error
            raise
        self._trouble = None

    async def of_query(self, text: str) -> Vector:
        """The vector of a question.  Raises an EmbedderError, also when it does not answer in time."""
        if text not in self._asked:
            self._asked.append(text)
        # Another process may have swapped in a generation with another model's vectors.
        await self._store.live.follow()
        key = self._store.live.name, text
        cached = self._queries.get(key)
        if cached is not None:
            self._queries.move_to_end(key)
            return cached
        async with self._deadline(self._query_deadline_s):
            vector = await self._embedder.embed_query(text)
        self._queries[key] = vector
        if len(self._queries) > _CACHED_QUERIES:
            self._queries.popitem(last=False)
        return vector

    @asynccontextmanager
    async def _deadline(self, seconds: float) -> AsyncIterator[None]:
        """Use the embedder, for so long at most, once it is known to be the store's.

        After a call that took too long it is left alone for a while: callers who would wait in vain
        are answered without vectors at once.
        """
        if time.monotonic() < self._resting_until:
            raise EmbedderUnavailable(self.trouble or "The embedder does not answer.")
        try:
            self._was_used = True
            async with asyncio.timeout(seconds):
                await self._check_identity()
                yield
        except TimeoutError as error:
            self._trouble = EmbedderUnavailable(f"The embedder did not answer within {seconds:g} s.")
            self._resting_until = time.monotonic() + _REST_S
            raise self._trouble from error
        except EmbeddingRejected:
            raise
        except EmbedderError as error:
            self._trouble = error
            raise
        self._trouble = None

    async def _check_identity(self) -> None:
        identity = await self._embedder.identity()
        if not await self._store.adopt(identity):
            made_with = self._store.embedder
            assert made_with is not None
            raise EmbedderMismatch(
                f"{difference(made_with, identity)} It is not used until the former model is back or the"
                " store is re-embedded (`noesis reembed`)."
            )


def difference(stored: EmbedderIdentity, now: EmbedderIdentity) -> str:
    """What differs between the model of the store's vectors and the embedder's, as a sentence."""
    if (stored.model, stored.dimension) == (now.model, now.dimension):
        return f"The embedder has another version of {now.model} than the one that made the store's vectors."
    return (
        f"The store's vectors are of {stored.model} ({stored.dimension} dimensions), the embedder is"
        f" {now.model} ({now.dimension})."
    )
