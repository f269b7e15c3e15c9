"""Asks the old and the new generation the same and says how alike the answers are, before one takes the other's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from noesis.embedding.base import Embedder, EmbedderIdentity, Vector
from noesis.memory import Mode, Role, Scope, SearchQuery
from noesis.ranking.fusion import Fusion
from noesis.reembedding.values import Compared
from noesis.search import Search
from noesis.settings import Settings
from noesis.store import Column, Row, Store, Table
from noesis.store.filters import EVERYTHING, one_of
from noesis.store.generations import Generation
from noesis.text.normalise import is_blank
from noesis.vectors import Vectors
from noesis.word_statistics import WordCounts

FIRST = 10
_QUESTIONS = 10
_MEMORIES = 20
_QUESTION_CHARS = 300
_EVERYTHING = Scope(None, Role.ADMIN, actor="re-embedding")


class New(msgspec.Struct, frozen=True):
    """A generation that is to take the live one's place, as a search sees it."""

    active: Table
    archive: Table
    embedder: EmbedderIdentity


class NewVectors:
    """The vectors of questions for it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def of_query(self, text: str) -> Vector:
        """The vector.  Raises an EmbedderError."""
        return await self._embedder.embed_query(text)


class Comparing:
    """Compares the live generation with the one that is to take its place."""

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
        self._settings = settings
        self._now_ms = now_ms
        self._fusion = fusion

    async def compare(self, generation: Generation, embedder: EmbedderIdentity) -> Compared:
        """Ask the last questions, or first sentences of memories, and for the neighbours of memories.

        Raises a StoreError; an embedder that fails meanwhile leaves the answers to the words.
        """
        sampled = await _sampled(self._store.active)
        recent = self._vectors.asked[-_QUESTIONS:]
        questions = recent or tuple(map(first_sentence, sampled[:_QUESTIONS]))
        words = WordCounts(self._now_ms)
        try:
            new = New(generation.active, generation.archive, embedder)
            of_new = Search(
                new, NewVectors(self._vectors.embedder), words, self._settings, self._now_ms, self._fusion
            )
            of_old = Search(self._store, self._vectors, words, self._settings, self._now_ms, self._fusion)
            same, by_words = [], self._store.embedder is None
            for question in questions:
                before, degraded = await _answers(of_old, question)
                after, _ = await _answers(of_new, question)
                same.append(overlap(before, after))
                by_words = by_words or degraded
        finally:
            await words.close()
        near = [
            overlap(before, after)
            for before, after in await self._neighbours(generation, [row.id for row in sampled])
        ]
        return Compared(
            questions=len(questions),
            asked="recent" if recent else "memories",
            answered_by="words" if by_words else "meaning and words",
            same_answers=_mean(same),
            neighbours_of=len(near),
            same_neighbours=_mean(near),
        )

    async def _neighbours(
        self, generation: Generation, ids: Sequence[str]
    ) -> list[tuple[list[str], list[str]]]:
        """The rows nearest to each row that has a vector of both models, by the one and by the other."""
        if await self._store.active.dimension() is None or not ids:
            return []
        about = one_of(Column.ID, ids)
        old = {row.id: row.vector for row in await self._store.active.rows(about) if row.vector is not None}
        new = {row.id: row.vector for row in await generation.active.rows(about) if row.vector is not None}
        return [
            (
                await _nearest(self._store.active, row_id, old[row_id]),
                await _nearest(generation.active, row_id, new[row_id]),
            )
            for row_id in sorted(old.keys() & new.keys())
        ]


def overlap(before: Sequence[str], after: Sequence[str]) -> float:
    """The share of two lists that is common to both; of two empty ones all."""
    most = max(len(before), len(after))
    return len(set(before) & set(after)) / most if most else 1.0


def first_sentence(row: Row) -> str:
    """What is asked in a memory's stead: its first line that says something, to its first full stop."""
    line = next((line for line in row.text.splitlines() if not is_blank(line)), row.text)
    return line.split(". ")[0][:_QUESTION_CHARS]


async def _sampled(table: Table) -> list[Row]:
    """Rows drawn alike from all; the same ones while nothing changes."""
    ids = sorted(row_id for (row_id,) in await table.values([Column.ID], EVERYTHING))
    if not ids:
        return []
    chosen = np.random.default_rng(1).choice(len(ids), min(_MEMORIES, len(ids)), replace=False)
    rows = await table.rows(one_of(Column.ID, [ids[index] for index in chosen]), vectors=False)
    return sorted((row for row in rows if not is_blank(row.text)), key=lambda row: row.id)


async def _answers(search: Search, question: str) -> tuple[list[str], bool]:
    result = await search.search(_EVERYTHING, SearchQuery(text=question, mode=Mode.HYBRID, limit=FIRST))
    return [hit.memory.id for hit in result.hits], result.degraded


async def _nearest(table: Table, row_id: str, vector: Vector) -> list[str]:
    rows, _ = await table.nearest(vector, EVERYTHING, FIRST + 1, exact=True)
    return [row.id for row in rows if row.id != row_id][:FIRST]


def _mean(shares: Sequence[float]) -> float | None:
    return round(sum(shares) / len(shares), 4) if shares else None
