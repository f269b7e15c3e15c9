"""What a prompt recalls: the memories that are near enough to it to be worth its room."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from noesis.errors import EmbedderError
from noesis.memory import ArchiveUse, Mode, Scope, SearchHit, SearchQuery
from noesis.ranking.relevance import relevance_of
from noesis.search import Search, question
from noesis.settings import Settings
from noesis.store import Store
from noesis.tasks import end_tasks
from noesis.text.normalise import is_blank
from noesis.text.turn_text import turn_text
from noesis.vectors import Vectors

_PROMPT_CHARS = 8_000
"""The end of a longer prompt is what is asked; before it stands what was pasted."""

_FOR_THE_VECTOR = 0.5
"""The part of the time that the embedder may take; the search and the block need the rest."""

UNEMBEDDED = "The embedder did not answer in time: recalled by keyword only."


class Recall(msgspec.Struct, frozen=True):
    """What a prompt recalls, best first; `reason` says why it may be less than it might have been."""

    hits: tuple[SearchHit, ...] = ()
    reason: str | None = None


class Recalling:
    """Searches with a prompt, within a deadline."""

    def __init__(self, store: Store, vectors: Vectors, search: Search, settings: Settings) -> None:
        self._store = store
        self._vectors = vectors
        self._search = search
        self._settings = settings
        self._embedding: set[asyncio.Task[bool]] = set()

    async def close(self) -> None:
        """End the calls of the embedder that nobody waits for any more."""
        await end_tasks(self._embedding)

    async def find(self, scope: Scope, prompt: str, seconds: float) -> Recall:
        """The memories that the prompt recalls.  Raises a StoreError."""
        text = turn_text(prompt[-_PROMPT_CHARS:])
        if is_blank(text):
            return Recall()
        ready = await self._embedded(question(text), seconds * _FOR_THE_VECTOR)
        query = SearchQuery(
            text=text,
            limit=self._settings.top_k,
            mode=Mode.HYBRID if ready else Mode.KEYWORD,
            archive=ArchiveUse.NEVER,
            explain=True,
        )
        found = await self._search.search(scope, query)
        return Recall(self._relevant(found.hits, ready), found.reason if ready else UNEMBEDDED)

    def _relevant(self, hits: Sequence[SearchHit], has_vectors: bool) -> tuple[SearchHit, ...]:
        made_with = self._store.embedder
        relevance = relevance_of(None if made_with is None else made_with.model)
        return tuple(
            hit
            for hit in hits
            if (why := hit.explanation) is not None
            and relevance.holds(why.vector_score if has_vectors else None, why.covered)
        )

    async def _embedded(self, text: str, seconds: float) -> bool:
        """Have the question's vector ready; False when that takes too long or cannot be.

        The call goes on when nobody waits for it any more: its result serves the next prompt, and one
        that hangs is noted by its own deadline, after which the embedder is left alone for a while.
        """
        task = asyncio.create_task(self._try_to_embed(text))
        self._embedding.add(task)
        task.add_done_callback(self._embedding.discard)
        done, _ = await asyncio.wait({task}, timeout=seconds)
        return bool(done) and task.result()

    async def _try_to_embed(self, text: str) -> bool:
        try:
            await self._vectors.of_query(text)
        except EmbedderError:
            return False
        return True
