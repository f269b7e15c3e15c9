"""Search: by meaning and by words, side by side, fused, whole memories out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.browsing import (
    agent_condition,
    archived_condition,
    check_limit,
    filter_condition,
    live_condition,
)
from noesis.embedding.base import Vector
from noesis.errors import EmbedderError, InvalidInput, TooLarge
from noesis.memory import (
    MAX_QUERY_CHARS,
    ArchiveUse,
    Explanation,
    Memory,
    Mode,
    Scope,
    SearchHit,
    SearchQuery,
    SearchResult,
    Timings,
)
from noesis.ranking import Scores, contributions, diverse_order
from noesis.rows import by_memory, to_memory
from noesis.settings import Settings
from noesis.store import Column, Condition, Row, Store, Table
from noesis.store.filters import one_of
from noesis.text.normalise import clean_text, is_blank
from noesis.vectors import Vectors

_FETCH = 60
"""Candidates of each leg; on LoCoMo both legs' top 60 hold 94 % of the evidence."""

_QUERY_WORDS = 64
"""A longer question is cut to its end, where people put what they ask."""

_ENOUGH_ACTIVE = 2


class Candidate(msgspec.Struct):
    """One row that a leg brought, with what each leg says of it."""

    row: Row
    vector_rank: int | None = None
    vector_score: float = 0.0
    keyword_rank: int | None = None
    keyword_score: float = 0.0


class Search:
    """Answers questions."""

    def __init__(self, store: Store, vectors: Vectors, settings: Settings, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._vectors = vectors
        self._settings = settings
        self._now_ms = now_ms

    async def search(self, scope: Scope, query: SearchQuery) -> SearchResult:
        """The memories that answer the query, best first.

        When the embedder does not answer it goes by keyword and says so.  Raises InvalidInput,
        Forbidden or a StoreError; in the mode `vector` also an EmbedderError.
        """
        check_limit(query.limit)
        text = question(query.text)
        agent = agent_condition(scope.readable(cross_agent=query.cross_agent, agent=query.agent))
        run = _Run(
            self._store, self._vectors, query, text, agent & filter_condition(query.filter), self._now_ms()
        )
        candidates = await run.candidates()
        hits = self._ranked(candidates, query)
        hits = await self._whole(hits)
        return SearchResult(tuple(hits), run.timings(), run.reason is not None, run.reason)

    def _ranked(self, candidates: Sequence[Candidate], query: SearchQuery) -> list[SearchHit]:
        """The best chunk of each memory, in the order of the fused score and of diversity."""
        if not candidates:
            return []
        vector, keyword = scores_of(candidates)
        weight = {Mode.HYBRID: self._settings.vector_weight, Mode.VECTOR: 1.0, Mode.KEYWORD: 0.0}[query.mode]
        if not any(candidate.vector_rank or candidate.vector_score for candidate in candidates):
            weight = 0.0
        has_vector = np.array([candidate.row.vector is not None for candidate in candidates])
        priorities = np.array([candidate.row.priority for candidate in candidates], dtype=np.float32)
        parts = contributions(vector, keyword, priorities, weight, has_vector=has_vector)
        total = np.sum(list(parts.values()), axis=0)
        best = best_of_each([candidate.row.parent_id for candidate in candidates], total)
        vectors = matrix([candidates[index].row for index in best])
        order = diverse_order(total[best], vectors, query.limit, self._settings.mmr_lambda)
        chosen = [best[index] for index in order]
        return [
            SearchHit(
                to_memory([candidates[index].row]),
                round(float(total[index]), 4),
                explain(candidates[index], parts, index) if query.explain else None,
            )
            for index in chosen
        ]

    async def _whole(self, hits: Sequence[SearchHit]) -> list[SearchHit]:
        """The hits with the full text of memories that are stored in several chunks."""
        cut = [hit.memory for hit in hits if hit.memory.chunks > 1]
        if not cut:
            return list(hits)
        whole: dict[str, Memory] = {}
        for table, archived in ((self._store.active, False), (self._store.archive, True)):
            ids = [memory.id for memory in cut if memory.archived is archived]
            if ids:
                rows = by_memory(await table.rows(one_of(Column.PARENT_ID, ids)))
                whole |= {memory_id: to_memory(chunks) for memory_id, chunks in rows.items()}
        return [msgspec.structs.replace(hit, memory=whole.get(hit.memory.id, hit.memory)) for hit in hits]


class _Run:
    """One search while it collects its candidates."""

    def __init__(
        self, store: Store, vectors: Vectors, query: SearchQuery, text: str, condition: Condition, now_ms: int
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._query = query
        self._text = text
        self._condition = condition
        self._now_ms = now_ms
        self._started = time.perf_counter()
        self._embedding_s = 0.0
        self._store_s = 0.0
        self.reason: str | None = None

    def timings(self) -> Timings:
        """Where the time went until now, in ms."""
        total = time.perf_counter() - self._started
        return Timings(self._embedding_s * 1000, self._store_s * 1000, total * 1000)

    async def candidates(self) -> list[Candidate]:
        """The candidates of both legs from the tables that the query means."""
        vector = asyncio.create_task(self._embed())
        use = self._query.archive
        try:
            found = [] if use is ArchiveUse.ONLY else await self._active(vector)
            if use in (ArchiveUse.ONLY, ArchiveUse.ALWAYS) or (
                use is ArchiveUse.AUTO and len({item.row.parent_id for item in found}) < _ENOUGH_ACTIVE
            ):
                found += await self._archived(vector)
            return found
        finally:
            vector.cancel()

    async def _embed(self) -> Vector | None:
        if self._query.mode is Mode.KEYWORD:
            return None
        started = time.perf_counter()
        try:
            return await self._vectors.of_query(self._text)
        except EmbedderError as error:
            if self._query.mode is Mode.VECTOR:
                raise
            self.reason = f"Answered by keyword only: {error.message}"
            return None
        finally:
            self._embedding_s += time.perf_counter() - started

    async def _active(self, vector: asyncio.Task[Vector | None]) -> list[Candidate]:
        condition = live_condition(self._now_ms) & self._condition
        return await self._legs(self._store.active, condition, vector)

    async def _archived(self, vector: asyncio.Task[Vector | None]) -> list[Candidate]:
        """Archived candidates, without rows that a move left in both tables: there active wins."""
        found = await self._legs(self._store.archive, archived_condition() & self._condition, vector)
        if not found:
            return found
        ids = one_of(Column.PARENT_ID, {item.row.parent_id for item in found})
        active = {row_id for (row_id,) in await self._store.active.values([Column.PARENT_ID], ids)}
        return [item for item in found if item.row.parent_id not in active]

    async def _legs(
        self, table: Table, condition: Condition, vector: asyncio.Task[Vector | None]
    ) -> list[Candidate]:
        """Both legs side by side, then each leg's score for what only the other found."""
        found: dict[str, Candidate] = {}

        async def by_meaning() -> None:
            query = await vector
            if query is None:
                return
            started = time.perf_counter()
            rows, scores = await table.nearest(query, condition, _FETCH)
            self._store_s += time.perf_counter() - started
            for rank, (row, score) in enumerate(zip(rows, scores, strict=True), 1):
                item = found.setdefault(row.id, Candidate(row))
                item.vector_rank, item.vector_score = rank, float(score)

        async def by_words() -> None:
            if self._query.mode is Mode.VECTOR:
                return
            for rank, (row, score) in enumerate(zip(*await self._matching(table, condition), strict=True), 1):
                item = found.setdefault(row.id, Candidate(row))
                item.keyword_rank, item.keyword_score = rank, float(score)

        await asyncio.gather(by_meaning(), by_words())
        await self._complete(table, found, await vector)
        return list(found.values())

    async def _matching(self, table: Table, condition: Condition) -> tuple[list[Row], Scores]:
        started = time.perf_counter()
        try:
            return await table.matching(self._text, condition, _FETCH)
        finally:
            self._store_s += time.perf_counter() - started

    async def _complete(self, table: Table, found: dict[str, Candidate], query: Vector | None) -> None:
        """Give every candidate both scores, whichever leg brought it."""
        if query is not None:
            for item in found.values():
                if item.vector_rank is None and item.row.vector is not None:
                    item.vector_score = float(item.row.vector @ query)
        missing = [item.row.id for item in found.values() if item.keyword_rank is None]
        if missing and self._query.mode is Mode.HYBRID:
            started = time.perf_counter()
            for row_id, score in (await table.word_scores(self._text, missing)).items():
                found[row_id].keyword_score = score
            self._store_s += time.perf_counter() - started


def question(raw: str) -> str:
    """The text to search for.  Raises InvalidInput when it is blank, TooLarge when it is absurd."""
    if len(raw) > MAX_QUERY_CHARS:
        raise TooLarge(f"query must have at most {MAX_QUERY_CHARS:,} characters.", field="query")
    text = clean_text(raw)
    if is_blank(text):
        raise InvalidInput("query must not be empty or blank.", field="query")
    return " ".join(text.split()[-_QUERY_WORDS:])


def scores_of(candidates: Sequence[Candidate]) -> tuple[Scores, Scores]:
    """Both legs' scores as arrays."""
    return (
        np.array([item.vector_score for item in candidates], dtype=np.float32),
        np.array([item.keyword_score for item in candidates], dtype=np.float32),
    )


def best_of_each(keys: Sequence[str], scores: Scores) -> list[int]:
    """The index of the best-scored candidate of each key, so that one long text gives one hit."""
    best: dict[str, int] = {}
    for index, key in enumerate(keys):
        if key not in best or scores[index] > scores[best[key]]:
            best[key] = index
    return list(best.values())


def matrix(rows: Sequence[Row]) -> npt.NDArray[np.float32]:
    """The rows' vectors (n, dimensions), zeros where a row has none."""
    width = next((len(row.vector) for row in rows if row.vector is not None), 1)
    empty = np.zeros(width, dtype=np.float32)
    return np.stack([empty if row.vector is None else row.vector for row in rows])


def explain(candidate: Candidate, parts: dict[str, Scores], index: int) -> Explanation:
    """How the candidate came by its score."""
    return Explanation(
        vector_rank=candidate.vector_rank,
        vector_score=round(candidate.vector_score, 4),
        keyword_rank=candidate.keyword_rank,
        keyword_score=round(candidate.keyword_score, 4),
        contributions={name: round(float(values[index]), 4) for name, values in parts.items()},
    )
