"""Search: by meaning and by words, side by side, fused, whole memories out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from noesis.browsing import (
    agent_condition,
    archived_condition,
    check_limit,
    filter_condition,
)
from noesis.candidates import (
    NEIGHBOURS_OF,
    Candidate,
    Stopwatch,
    beside,
    from_legs,
    merged,
    read_passages,
)
from noesis.embedding.base import EmbedderIdentity, Vector
from noesis.errors import EmbedderError, InvalidInput, TooLarge
from noesis.living import Expired, Meant
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
from noesis.ranking.bm25 import Floats
from noesis.ranking.diversity import Chosen, best_of_each, diverse_order
from noesis.ranking.fusion import Fusion, shipped
from noesis.ranking.order import Judged, Wishes, by_similarity, learned, weighted
from noesis.ranking.passages import question_of
from noesis.ranking.pool import Pool, stretch
from noesis.ranking.succession import below_successors
from noesis.rows import by_memory, to_memory
from noesis.settings import Settings
from noesis.store import Column, FoundRow, Row, State, Table
from noesis.store.filters import one_of
from noesis.superseding import Superseding
from noesis.text.normalise import clean_text, is_blank
from noesis.word_statistics import WordCounts

_QUERY_WORDS = 64
"""A longer question is cut to its end, where people put what they ask."""

_ENOUGH_ACTIVE = 2


class Searched(Protocol):
    """What a search goes through: the live store, or a generation that is to take its place."""

    @property
    def active(self) -> Table:
        """The memories that live."""
        ...

    @property
    def archive(self) -> Table:
        """The others."""
        ...

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """Whose vectors both hold."""
        ...


class Questions(Protocol):
    """Who makes the vector of a question."""

    async def of_query(self, text: str) -> Vector:
        """The vector.  Raises an EmbedderError."""
        ...


class Found(msgspec.Struct, frozen=True):
    """The candidates of a question and all that ranking knows of them, in the same order."""

    candidates: Sequence[Candidate]
    pool: Pool


class Search:
    """Answers questions."""

    def __init__(
        self,
        store: Searched,
        vectors: Questions,
        words: WordCounts,
        settings: Settings,
        now_ms: Callable[[], int],
        fusion: Fusion | None = None,
        superseding: Superseding | None = None,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._words = words
        self._settings = settings
        self._now_ms = now_ms
        self._fusion = fusion
        self._superseding = superseding
        self._expired = Expired()

    async def search(self, scope: Scope, query: SearchQuery) -> SearchResult:
        """The memories that answer the query, best first.

        When the embedder does not answer it goes by keyword and says so.  Raises InvalidInput,
        Forbidden or a StoreError; in the mode `vector` also an EmbedderError.
        """
        check_limit(query.limit)
        run = self._run(scope, query)
        hits, gone = await self._hits(scope, query, run)
        if gone:
            # Edited, deleted or archived while it was being ranked: what it became may answer as well.
            hits, _ = await self._hits(scope, query, run)
        hits = await self._with_successors(hits)
        return SearchResult(tuple(hits), run.timings(), run.reason is not None, run.reason)

    async def pool(self, scope: Scope, query: SearchQuery) -> Found:
        """The candidates before any verdict, as fitting and explaining need them.  Raises as `search` does."""
        return await self._run(scope, query).found()

    def judge(self, scope: Scope, query: SearchQuery, pool: Pool) -> Judged:
        """The scores of a pool."""
        if query.mode is Mode.VECTOR:
            return by_similarity(pool)
        if self._settings.fusion == "weighted":
            return weighted(pool, self._settings.vector_weight)
        wishes = Wishes(self._now_ms(), self._settings.recency_half_life_days, scope.agent)
        return learned(pool, self._fusion or self._shipped(), wishes)

    def order(self, judged: Judged, found: Found, limit: int) -> list[Chosen]:
        """The best chunk of each memory, in the order of the score and of diversity."""
        best = best_of_each([candidate.row.parent_id for candidate in found.candidates], judged.totals)
        if not best:
            return []
        scores, likeness = stretch(judged.totals[best]), found.pool.likeness[np.ix_(best, best)]
        chosen = diverse_order(scores, likeness, limit, self._settings.mmr_lambda)
        return [Chosen(best[each.index], each.likeness) for each in chosen]

    def _shipped(self) -> Fusion:
        """The weights that were fitted on vectors like the store's."""
        made_with = self._store.embedder
        return shipped(None if made_with is None else made_with.model)

    def _run(self, scope: Scope, query: SearchQuery) -> _Run:
        agent = scope.readable(cross_agent=query.cross_agent, agent=query.agent)
        return _Run(self._store, self._vectors, self._words, query, agent, self._now_ms(), self._expired)

    async def _hits(self, scope: Scope, query: SearchQuery, run: _Run) -> tuple[list[SearchHit], int]:
        """The hits, and how many more there were that are gone by now."""
        found = await run.found()
        judged = self.judge(scope, query, found.pool)
        order = self.order(judged, found, query.limit)
        memories = await run.memories([found.candidates[chosen.index] for chosen in order])
        hits = [
            SearchHit(
                memories[memory_id],
                round(float(judged.scores[chosen.index]), 4),
                explain(found, judged, chosen) if query.explain else None,
            )
            for chosen in order
            for memory_id in [found.candidates[chosen.index].row.parent_id]
            if memory_id in memories
        ]
        return hits, len(order) - len(hits)

    async def _with_successors(self, hits: list[SearchHit]) -> list[SearchHit]:
        """The hits with what replaces them, and what is replaced below its replacement."""
        if self._superseding is None:
            return hits
        ids = [hit.memory.id for hit in hits]
        lines = await self._superseding.successors(ids)
        if not lines:
            return hits
        marked = [
            msgspec.structs.replace(hit, superseded_by=lines[hit.memory.id][0])
            if hit.memory.id in lines
            else hit
            for hit in hits
        ]
        return [marked[place] for place in below_successors(ids, lines)]


class _Run:
    """One search while it collects its candidates."""

    def __init__(
        self,
        store: Searched,
        vectors: Questions,
        words: WordCounts,
        query: SearchQuery,
        agent: str | None,
        now_ms: int,
        expired: Expired,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._words = words
        self._query = query
        self._text = question(query.text)
        self._agent = agent
        self._whose = agent_condition(agent)
        self._fits = self._whose & filter_condition(query.filter)
        self._now_ms = now_ms
        self._expired = expired
        self._started = time.perf_counter()
        self._embedding_s = 0.0
        self._watch = Stopwatch()
        self._since: dict[Table, State] = {}
        self.reason: str | None = None

    def timings(self) -> Timings:
        """Where the time went until now, in ms."""
        total = time.perf_counter() - self._started
        return Timings(self._embedding_s * 1000, self._watch.seconds * 1000, total * 1000)

    async def found(self) -> Found:
        """The candidates from the tables that the query means."""
        vector = asyncio.create_task(self._embed())
        use = self._query.archive
        try:
            found = [] if use is ArchiveUse.ONLY else await self._of_table(self._store.active, vector)
            if use in (ArchiveUse.ONLY, ArchiveUse.ALWAYS) or (
                use is ArchiveUse.AUTO and len({item.row.parent_id for item in found}) < _ENOUGH_ACTIVE
            ):
                found += await self._archived(vector)
            return Found(found, await self._pool(found, await vector))
        finally:
            vector.cancel()

    async def memories(self, candidates: Sequence[Candidate]) -> dict[str, Memory]:
        """The whole memories of these candidates by id, without those that are gone by now."""
        found: dict[str, Memory] = {}
        for table in (self._store.archive, self._store.active):
            rows = [candidate.row for candidate in candidates if candidate.table is table]
            if rows:
                found |= await self._watch.of(self._whole(table, rows))
        return found

    async def _whole(self, table: Table, found: Sequence[FoundRow]) -> dict[str, Memory]:
        """The memories of these rows by id; a row that is a whole memory is taken from where it was read."""
        single = [row for row in found if row.chunks == 1]
        rows: list[Row] = [*await table.still(single, self._since[table])]
        missing = {row.parent_id for row in found} - {row.parent_id for row in rows}
        if missing:
            condition = self._meant(table).condition & one_of(Column.PARENT_ID, sorted(missing))
            rows += await table.rows(condition, vectors=False)
        return {memory_id: to_memory(chunks) for memory_id, chunks in by_memory(rows).items()}

    def _meant(self, table: Table) -> Meant:
        """Which rows of a table the query means."""
        if table is self._store.archive:
            return Meant(table, self._agent, archived_condition() & self._fits, None, self._expired)
        return Meant(table, self._agent, self._fits, self._now_ms, self._expired)

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

    async def _archived(self, vector: asyncio.Task[Vector | None]) -> list[Candidate]:
        """Archived candidates, without rows that a move left in both tables: there active wins."""
        found = await self._of_table(self._store.archive, vector)
        if not found:
            return found
        ids = one_of(Column.PARENT_ID, {item.row.parent_id for item in found})
        active = {row_id for (row_id,) in await self._store.active.values([Column.PARENT_ID], ids)}
        return [item for item in found if item.row.parent_id not in active]

    async def _of_table(self, table: Table, vector: asyncio.Task[Vector | None]) -> list[Candidate]:
        meant = self._meant(table)
        self._since[table] = await table.state()
        found = await from_legs(meant, self._text, vector, self._query.mode, self._watch)
        if self._query.mode is not Mode.HYBRID or not found:
            return found
        best = sorted(found, key=lambda candidate: -candidate.promise)[:NEIGHBOURS_OF]
        near, _ = await asyncio.gather(beside(meant, best, self._watch), _reading(found))
        return merged(found, near)

    async def _pool(self, found: Sequence[Candidate], vector: Vector | None) -> Pool:
        return Pool(
            question_of(self._text, vector),
            [candidate.passage() for candidate in found],
            await self._words.of(self._store.active, self._whose),
        )


async def _reading(found: Sequence[Candidate]) -> None:
    """Begins once the read beside it waits for the store."""
    read_passages(found)


def question(raw: str) -> str:
    """The text to search for.  Raises InvalidInput when it is blank, TooLarge when it is absurd."""
    if len(raw) > MAX_QUERY_CHARS:
        raise TooLarge(f"query must have at most {MAX_QUERY_CHARS:,} characters.", field="query")
    text = clean_text(raw)
    if is_blank(text):
        raise InvalidInput("query must not be empty or blank.", field="query")
    return " ".join(text.split()[-_QUERY_WORDS:])


def explain(found: Found, judged: Judged, chosen: Chosen) -> Explanation:
    """How a hit came by its place."""
    index = chosen.index
    candidate = found.candidates[index]
    above = {
        found.candidates[int(each)].row.parent_id
        for each in np.flatnonzero(judged.totals > judged.totals[index])
    }
    return Explanation(
        vector_rank=candidate.vector_rank,
        vector_score=round(float(found.pool.similarities[index]), 4),
        keyword_rank=candidate.keyword_rank,
        keyword_score=round(float(found.pool.word_scores[index]), 4),
        covered=round(float(found.pool.covered[index]), 4),
        neighbour=not candidate.came_by_leg,
        rank=1 + len(above),
        likeness=round(chosen.likeness, 4),
        contributions=_at(judged.parts, index),
        features=_at(judged.features, index),
    )


def _at(values: Mapping[str, Floats], index: int) -> dict[str, float]:
    return {name: round(float(each[index]), 4) for name, each in values.items()}
