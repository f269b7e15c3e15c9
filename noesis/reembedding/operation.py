"""The switch to the embedder of the settings: vectors made in the background, then one swap."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from noesis.backup import marks
from noesis.backup.archive import check_room
from noesis.crash_points import crash_point
from noesis.embedding.base import EmbedderIdentity
from noesis.errors import Conflict, EmbedderError
from noesis.memory import EmbeddingState
from noesis.ranking.fusion import Fusion
from noesis.reembedding import journal as journals
from noesis.reembedding.building import Building
from noesis.reembedding.comparing import Comparing
from noesis.reembedding.journal import Journal
from noesis.reembedding.texts import Cancel, Tell, Texts
from noesis.reembedding.values import Compared, Reembedded, Standing
from noesis.settings import Settings
from noesis.store import Column, Condition, Store
from noesis.store.filters import EVERYTHING, equals
from noesis.store.generations import Generation
from noesis.store.locks import FileLock
from noesis.store.whole import memories_of
from noesis.vectors import Vectors, difference

MADE_BY = "re-embedding"
_ROUNDS = 10
_FEW = 64


class Reembedding:
    """Makes all vectors anew with the embedder of the settings and swaps them in."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        settings: Settings,
        now_ms: Callable[[], int],
        fusion: Fusion | None = None,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._now_ms = now_ms
        self._comparing = Comparing(store, vectors, settings, now_ms, fusion)
        self._folder = store.place / "reembedding"

    async def standing(self) -> Standing:
        """Whether a switch is needed, and how far one has come that did not end."""
        await self._store.live.follow()
        stored, identity, trouble = self._store.embedder, None, ""
        try:
            identity = await self._vectors.embedder.identity()
        except EmbedderError as error:
            trouble = error.message
        rows = await self._count(EVERYTHING)
        needed = stored is not None and identity is not None and stored != identity
        return Standing(
            needed=needed,
            sentence=_sentence(stored, identity, trouble),
            stored=stored,
            embedder=identity,
            rows=rows,
            ready=await asyncio.to_thread(journals.made_so_far, self._folder, identity) if needed else 0,
        )

    async def look(self) -> str | None:
        """What to say at the start of a switch that is needed, or None.

        What one has made that nobody needs any more, since the former model is back, goes.
        """
        if self._store.embedder is None:
            return None
        await self._vectors.look()
        if self._vectors.is_other_model:
            return self._vectors.trouble
        left = journals.made_for(self._folder)
        if self._vectors.trouble is None and left not in (None, self._store.embedder):
            await asyncio.to_thread(journals.remove, self._folder)
        return None

    async def check(self, *, force: bool) -> None:
        """Raise Conflict when there is nothing to switch; an embedder that is away is the run's matter."""
        found = await self.standing()
        if found.stored is None or found.embedder is not None:
            self._refuse_needless(found.stored, found.embedder, force=force)

    async def run(self, *, made_for: str, force: bool, tell: Tell, cancelled: Cancel) -> Reembedded:
        """Embed every row anew and swap the result in; searches go on with the old vectors until then.

        `made_for` names this piece of work: when it is done already, it is not done again.  What an
        earlier run embedded before it was cut short is taken over.  `tell` hears of rows.  Raises
        Conflict when the store's vectors are this embedder's already, unless `force` is set; EmbedderUnavailable,
        EmbedderMismatch, StoreBusy, StoreFull, Cancelled.  Then the old generation is live as before.
        """
        if (done := await self.finished(made_for)) is not None:
            return done
        began = time.monotonic()
        async with FileLock(self._store.place / "locks" / "reembedding").held(0.0):
            identity = await self._checked(force=force)
            journal = await asyncio.to_thread(Journal, self._folder, identity)
            try:
                done = await self._switch(identity, journal, made_for, tell, cancelled)
            finally:
                journal.close()
            await asyncio.to_thread(journals.remove, self._folder)
        await self._vectors.look()
        return msgspec.structs.replace(done, took_ms=round((time.monotonic() - began) * 1000))

    async def finished(self, made_for: str) -> Reembedded | None:
        """What this piece of work did, if it was done before and only the telling is left."""
        await self._store.live.follow()
        if self._store.info.made_for != made_for or self._store.info.made_by != MADE_BY:
            return None
        await asyncio.to_thread(journals.remove, self._folder)
        return await self._told(self._store.live)

    async def _checked(self, *, force: bool) -> EmbedderIdentity:
        """The embedder's identity.  Raises Conflict when there is nothing to switch, or an EmbedderError."""
        await self._vectors.embedder.ensure_model()
        identity = await self._vectors.embedder.identity()
        await self._store.live.follow()
        self._refuse_needless(self._store.embedder, identity, force=force)
        return identity

    def _refuse_needless(
        self, stored: EmbedderIdentity | None, identity: EmbedderIdentity | None, *, force: bool
    ) -> None:
        if stored is None:
            raise Conflict(
                "The store has no vectors yet: they are made by the embedder of the settings anyway."
            )
        if stored != identity:
            return
        if self._vectors.is_other_model:
            raise Conflict(
                f"{stored.model} was replaced by another model while this process ran: start Noesis anew, then switch."
            )
        if not force:
            raise Conflict(
                f"The store's vectors are of {stored.model} already, and so is the embedder: there is nothing to"
                " switch. To make them all anew nevertheless, force it."
            )

    async def _switch(
        self, identity: EmbedderIdentity, journal: Journal, made_for: str, tell: Tell, cancelled: Cancel
    ) -> Reembedded:
        kept = len(journal)
        await self._check_room(identity, journal)
        texts = Texts(self._vectors.embedder, journal, cancelled)
        for _ in range(_ROUNDS):
            if await texts.embed_all(self._store, tell) <= _FEW:
                break
        crash_point("reembed: embedded")
        async with self._store.building() as sibling:
            building = Building(self._store, sibling, texts)
            await building.lay_out(identity, self._now_ms())
            await self._store.tidy(sibling)
            generation = await sibling.opened()
            compared = await self._comparing.compare(generation, identity)
            await building.catch_up()
            sibling.describe(
                previous=self._store.current, made_by=MADE_BY, made_for=made_for, now_ms=self._now_ms()
            )

            async def last() -> None:
                await building.catch_up_now()
                # What an undo compares with, to tell what was written since.
                marks.write_baseline(sibling.directory, await memories_of(generation))

            crash_point("reembed: before the swap")
            await self._store.swap_to(sibling.name, last)
            crash_point("reembed: after the swap")
        told = await self._told(self._store.live, compared)
        return msgspec.structs.replace(told, embedded=texts.embedded, kept=kept, caught_up=building.caught_up)

    async def _check_room(self, identity: EmbedderIdentity, journal: Journal) -> None:
        """Raise StoreFull unless there is room for the vectors still to be made and for a second generation."""
        rows = await self._count(EVERYTHING)
        vectors = max(0, rows - len(journal)) * journal.size + rows * 4 * identity.dimension
        texts = sum(state.bytes for state in await self._store.states())
        await asyncio.to_thread(check_room, self._store.place, vectors + texts)

    async def _told(self, live: Generation, compared: Compared | None = None) -> Reembedded:
        embedder = self._store.embedder
        assert embedder is not None
        return Reembedded(
            generation=live.name,
            previous=self._store.previous,
            model=embedder.model,
            dimension=embedder.dimension,
            rows=await self._count(EVERYTHING),
            waiting=await self._count(equals(Column.EMBEDDING_STATE, EmbeddingState.PENDING.value)),
            failed=await self._count(equals(Column.EMBEDDING_STATE, EmbeddingState.FAILED.value)),
            compared=compared,
        )

    async def _count(self, condition: Condition) -> int:
        return await self._store.active.count(condition) + await self._store.archive.count(condition)


def _sentence(stored: EmbedderIdentity | None, identity: EmbedderIdentity | None, trouble: str) -> str:
    if stored is None:
        return "The store has no vectors yet: nothing is to be switched."
    if identity is None:
        return f"Whether a switch is needed cannot be told now: {trouble}"
    if stored == identity:
        return (
            f"The store's vectors are of {identity.model}, and so is the embedder: nothing is to be switched."
        )
    return f"{difference(stored, identity)} `noesis reembed` makes all vectors anew; until then search goes by words."
