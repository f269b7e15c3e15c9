"""Why a memory was not among the hits of a question, and what would have brought it back."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from noesis.browsing import check_limit, filter_condition, find_rows
from noesis.candidates import FETCHED, passage_of
from noesis.memory import DELETED, MAX_LIMIT, ArchiveUse, Memory, MemoryFilter, Mode, Scope, SearchQuery
from noesis.ranking.diversity import best_of_each
from noesis.ranking.pool import stretch
from noesis.rows import to_memory
from noesis.search import Found, Search, question
from noesis.store import Column, Row, Store
from noesis.store.filters import one_of


class Stage(enum.StrEnum):
    """Where on its way through a search a memory dropped out."""

    RETURNED = "returned"
    SCOPE = "scope"
    DELETED = "deleted"
    FILTER = "filter"
    EXPIRED = "expired"
    ARCHIVE = "archive"
    LEG = "leg"
    LIMIT = "limit"
    DIVERSITY = "diversity"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Where a memory dropped out, why, and what would bring it back.

    `rank` is its place (from 1) among `candidates` by score alone, None when it was none.
    """

    stage: Stage
    reason: str
    remedy: str | None = None
    rank: int | None = None
    candidates: int | None = None
    score: float | None = None


class WhyNot:
    """Follows one memory through a search."""

    def __init__(self, store: Store, search: Search, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._search = search
        self._now_ms = now_ms

    async def explain(self, scope: Scope, query: SearchQuery, memory_id: str) -> Verdict:
        """The stage at which a memory of the caller's dropped out of a search.

        Raises NotFound when the caller may not see it or there is none, and what `search` raises.
        An archived memory is followed through the archive too, whether or not the search came to it.
        """
        check_limit(query.limit)
        question(query.text)
        rows = await find_rows(self._store, scope, memory_id)
        return await self._kept_out(scope, query, to_memory(rows)) or await self._ranked_out(
            scope, query, rows
        )

    async def _kept_out(self, scope: Scope, query: SearchQuery, memory: Memory) -> Verdict | None:
        """What keeps it from the legs: scope, deletion, filter, expiry, archive."""
        readable = scope.readable(cross_agent=query.cross_agent, agent=query.agent)
        if readable is not None and memory.agent_id != readable:
            return Verdict(
                stage=Stage.SCOPE,
                reason=f"It belongs to the agent {memory.agent_id}; the search looked at {readable}.",
                remedy="Search as that agent, or across agents.",
            )
        if memory.archive_reason == DELETED:
            return Verdict(
                stage=Stage.DELETED, reason="It was deleted.", remedy="Undo the deletion on its page."
            )
        return (
            await self._filtered_out(query.filter, memory)
            or (in_archive(query) if memory.archived else None)
            or self._expired(memory)
            or not_archived(query, memory)
        )

    async def _filtered_out(self, wanted: MemoryFilter, memory: Memory) -> Verdict | None:
        table = self._store.archive if memory.archived else self._store.active
        for name, alone in each_filter(wanted):
            fits = one_of(Column.PARENT_ID, [memory.id]) & filter_condition(alone)
            if not await table.count(fits):
                return Verdict(
                    stage=Stage.FILTER,
                    reason=f"It does not fit the filter {name}.",
                    remedy=f"Search without {name}.",
                )
        return None

    def _expired(self, memory: Memory) -> Verdict | None:
        if memory.archived or memory.expires_at > self._now_ms():
            return None
        return Verdict(
            stage=Stage.EXPIRED,
            reason="It has expired and waits for the cleanup, which moves it to the archive.",
            remedy="Give it a longer life on its page.",
        )

    async def _ranked_out(self, scope: Scope, query: SearchQuery, rows: Sequence[Row]) -> Verdict:
        """Whether it was a candidate at all, and if so where its score and diversity put it."""
        found = await self._search.pool(scope, query)
        judged = self._search.judge(scope, query, found.pool)
        ids = [candidate.row.parent_id for candidate in found.candidates]
        wanted = rows[0].parent_id
        if wanted not in ids:
            return await self._no_candidate(scope, query, rows, found)
        best = best_of_each(ids, judged.totals)
        # As the search itself orders them, so that equals are not taken for held back by diversity.
        by_score = np.argsort(-stretch(judged.totals[best]), kind="stable")
        ranked = [ids[best[place]] for place in by_score]
        order = [ids[chosen.index] for chosen in self._search.order(judged, found, len(best))]
        scores = {ids[index]: float(judged.scores[index]) for index in best}
        return placed(
            limit=query.limit,
            rank=1 + ranked.index(wanted),
            place=1 + order.index(wanted),
            candidates=len(best),
            score=round(scores[wanted], 4),
        )

    async def _no_candidate(
        self, scope: Scope, query: SearchQuery, rows: Sequence[Row], found: Found
    ) -> Verdict:
        """Neither leg brought it, nor does it stand beside what they brought."""
        if rows[0].archived_at is not None and query.archive is ArchiveUse.AUTO:
            everywhere = msgspec.structs.replace(query, archive=ArchiveUse.ALWAYS)
            found = await self._search.pool(scope, everywhere)
            if any(candidate.row.parent_id == rows[0].parent_id for candidate in found.candidates):
                return LEFT_IN_ARCHIVE
        return no_candidate(query, rows, found)


def each_filter(wanted: MemoryFilter) -> Iterator[tuple[str, MemoryFilter]]:
    """Every filter that is set, by itself."""
    for name in MemoryFilter.__struct_fields__:
        value = getattr(wanted, name)
        if value not in (None, ()):
            yield name, MemoryFilter(**{name: value})


def in_archive(query: SearchQuery) -> Verdict | None:
    """An archived memory is out of reach of a search that leaves the archive alone."""
    if query.archive is not ArchiveUse.NEVER:
        return None
    return Verdict(
        stage=Stage.ARCHIVE,
        reason="It is archived, and the archive was not searched.",
        remedy="Search with archive=always.",
    )


def not_archived(query: SearchQuery, memory: Memory) -> Verdict | None:
    """An active memory is out of reach of a search in the archive."""
    if memory.archived or query.archive is not ArchiveUse.ONLY:
        return None
    return Verdict(
        stage=Stage.ARCHIVE,
        reason="Only the archive was searched, and it is not archived.",
        remedy="Search with archive=auto.",
    )


LEFT_IN_ARCHIVE = Verdict(
    stage=Stage.ARCHIVE,
    reason="It is archived; the archive is only searched when hardly any living memory fits.",
    remedy="Search with archive=always.",
)


def no_candidate(query: SearchQuery, rows: Sequence[Row], found: Found) -> Verdict:
    """Why the legs did not bring it."""
    never = query.mode is Mode.VECTOR and all(row.vector is None for row in rows)
    return Verdict(
        stage=Stage.LEG,
        reason=f"{by_meaning(rows, found)} {by_words(query, rows, found)}",
        remedy=(
            "Search with mode=hybrid."
            if never
            else "Use words that it holds, or narrow the search by type, tag, session or time."
        ),
        candidates=len({candidate.row.parent_id for candidate in found.candidates}),
    )


def by_meaning(rows: Sequence[Row], found: Found) -> str:
    """What the vector leg saw of it."""
    asked = found.pool.question.vector
    if asked is None:
        return "The search went by words only."
    near = [float(row.vector @ asked) for row in rows if row.vector is not None]
    if not near:
        return "It has no vector yet, so it cannot be found by meaning."
    leg = [
        float(similarity)
        for candidate, similarity in zip(found.candidates, found.pool.similarities, strict=True)
        if candidate.vector_rank is not None
    ]
    last = f", the last of the {len(leg)} nearest has {min(leg):.2f}" if leg else ""
    return f"By meaning its similarity is {max(near):.2f}{last}."


def by_words(query: SearchQuery, rows: Sequence[Row], found: Found) -> str:
    """What the keyword leg saw of it."""
    if query.mode is Mode.VECTOR:
        return "The search went by meaning only."
    held = {term for row in rows for term in passage_of(row).keyword}
    shared = [term for term in found.pool.terms if term in held]
    if not shared:
        return "It shares no word with the question."
    return f"It shares {len(shared)} of the question's {len(found.pool.terms)} words, and {FETCHED} others fit better by words."


def placed(*, limit: int, rank: int, place: int, candidates: int, score: float) -> Verdict:
    """What the limit and diversity did to a candidate."""
    verdict = Verdict(
        stage=Stage.LIMIT,
        reason=f"It was candidate {rank} of {candidates} by score; {limit} were asked for.",
        remedy=(
            f"Search with a limit of {place}."
            if place <= MAX_LIMIT
            else "Narrow the search, or use words that it holds."
        ),
        rank=rank,
        candidates=candidates,
        score=score,
    )
    if place <= limit:
        return msgspec.structs.replace(
            verdict, stage=Stage.RETURNED, reason=f"It is hit {place} of this search.", remedy=None
        )
    if rank <= limit:
        reason = f"By score alone it would be hit {rank}, but it says nearly the same as hits above it."
        return msgspec.structs.replace(verdict, stage=Stage.DIVERSITY, reason=reason)
    return verdict
