"""The candidates of a question: what two legs bring from a table, and the neighbours of the best."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Iterable, Sequence
from typing import TypeVar

import msgspec

from noesis.embedding.base import Vector
from noesis.living import Meant
from noesis.memory import Mode
from noesis.ranking.passages import Passage, facts_of
from noesis.rows import keyword_date, keyword_speaker
from noesis.store import Column, Condition, FoundRow, Row, Table
from noesis.store.filters import either, one_of
from noesis.store.places import Place, chunk_number, place_number
from noesis.text.terms import terms

T = TypeVar("T")

FETCHED = 60
"""Candidates of each leg; on LoCoMo both legs' top 60 hold 88 % of the evidence.

100 hold more, but the first ten were no better for it (docs/retrieval.md).
"""

NEIGHBOURS_OF = 40
"""Of so many of the best, what stands beside them comes in too."""

_DAY_MS = 86_400_000
_RANKS_WORTH = 10
_BESIDE = 2
_CHUNKS_AROUND = 1


class Candidate(msgspec.Struct, gc=False):
    """One row, where it lies, and how it came in: by the vector leg, the keyword leg, both, or as a neighbour."""

    row: FoundRow
    table: Table
    vector_rank: int | None = None
    keyword_rank: int | None = None
    read: Passage | None = None

    def passage(self) -> Passage:
        """What ranking knows of it, which is read from it once."""
        if self.read is None:
            self.read = passage_of(self.row)
        return self.read

    @property
    def came_by_leg(self) -> bool:
        """Whether a leg brought it, and not a neighbour."""
        return self.vector_rank is not None or self.keyword_rank is not None

    @property
    def promise(self) -> float:
        """How likely its neighbours are worth a look: its ranks in both legs (Cormack et al. 2009)."""
        ranks = (self.vector_rank, self.keyword_rank)
        return sum(1 / (_RANKS_WORTH + rank) for rank in ranks if rank is not None)


class Stopwatch:
    """Adds up how long the store was waited for (s); calls that run side by side count each."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def of(self, work: Awaitable[T]) -> T:
        """Wait for some work and count it."""
        started = time.perf_counter()
        try:
            return await work
        finally:
            self.seconds += time.perf_counter() - started


async def from_legs(
    meant: Meant, text: str, vector: asyncio.Task[Vector | None], mode: Mode, watch: Stopwatch
) -> list[Candidate]:
    """What the legs of a mode bring from one table.  Raises StoreError, and what the vector's task raises."""
    table = meant.table
    found: dict[str, Candidate] = {}

    async def by_meaning() -> None:
        query = await vector
        if query is None:
            return

        async def ask(condition: Condition) -> Sequence[FoundRow]:
            return (await table.nearest(query, condition, FETCHED))[0]

        for rank, row in enumerate(filter(meant.holds, await watch.of(meant.best(ask))), 1):
            found.setdefault(row.id, Candidate(row, table)).vector_rank = rank

    async def by_words() -> None:
        if mode is Mode.VECTOR:
            return

        async def ask(condition: Condition) -> Sequence[FoundRow]:
            return (await table.matching(text, condition, FETCHED))[0]

        for rank, row in enumerate(filter(meant.holds, await watch.of(meant.best(ask))), 1):
            found.setdefault(row.id, Candidate(row, table)).keyword_rank = rank

        # While the question's vector is made, or its nearest are looked for.
        read_passages(found.values())

    await asyncio.gather(by_meaning(), by_words())
    return list(found.values())


def read_passages(candidates: Iterable[Candidate]) -> None:
    """Read what ranking will ask of them: 40 us each, for which something else need not wait."""
    for candidate in candidates:
        candidate.passage()


async def beside(meant: Meant, best: Sequence[Candidate], watch: Stopwatch) -> list[Candidate]:
    """The rows that stand next to the best candidates in their session, source or memory."""
    around = _around(best)
    if not around.places:
        return []
    rows = await watch.of(meant.table.rows_at(meant.fits & _taking(around), around.places))
    return [Candidate(row, meant.table) for row in rows if around.holds(row) and meant.holds(row)]


class _Around(msgspec.Struct, frozen=True):
    """Where the neighbours are: the turns (agent, session, source, position), the chunks of long memories,
    and the places (session, source, position) of both.
    """

    turns: set[tuple[str, str | None, str | None, int]] = msgspec.field(default_factory=set)
    chunks: set[tuple[str, int]] = msgspec.field(default_factory=set)
    places: set[Place] = msgspec.field(default_factory=set)

    def holds(self, row: Row) -> bool:
        """Whether a row is one of them; the sessions of two agents may have the same name."""
        turn = (row.agent_id, row.session_id, row.source, row.position)
        return turn in self.turns or (row.parent_id, row.chunk) in self.chunks


def _around(best: Sequence[Candidate]) -> _Around:
    found = _Around()
    for candidate in best:
        row = candidate.row
        if row.position is not None and (row.session_id or row.source):
            for place in range(row.position - _BESIDE, row.position + _BESIDE + 1):
                found.turns.add((row.agent_id, row.session_id, row.source, place))
                found.places.add((row.session_id, row.source, place))
        if row.chunks > 1:
            near = range(row.chunk - _CHUNKS_AROUND, row.chunk + _CHUNKS_AROUND + 1)
            found.chunks.update((row.parent_id, chunk) for chunk in near)
            found.places.add((row.session_id, row.source, row.position))
    return found


def _taking(around: _Around) -> Condition:
    """A condition that takes all of them, and a few too many."""
    parts: list[Condition] = []
    turns = {place_number(session, source, position) for _, session, source, position in around.turns}
    chunks = {chunk_number(parent, chunk) for parent, chunk in around.chunks}
    for column, numbers in ((Column.PLACE, turns), (Column.CHUNK_PLACE, chunks)):
        if numbers:
            parts.append(one_of(column, sorted(numbers)))
    return either(*parts)


def merged(first: Iterable[Candidate], more: Iterable[Candidate]) -> list[Candidate]:
    """Both, each row once; the first list's candidates win."""
    found = {candidate.row.id: candidate for candidate in first}
    for candidate in more:
        found.setdefault(candidate.row.id, candidate)
    return list(found.values())


def passage_of(row: Row) -> Passage:
    """What ranking knows of a row."""
    thread, place = _thread(row)
    facts = facts_of(row.text)
    return Passage(
        row_id=row.id,
        memory_id=row.parent_id,
        agent=row.agent_id,
        thread=thread,
        place=place,
        author=row.author,
        created_at=row.created_at,
        priority=row.priority,
        keyword=_date_terms(row.created_at // _DAY_MS) + _speaker_terms(row.author, row.source) + facts.terms,
        text=facts,
        vector=row.vector,
    )


# The date and the speaker, which the index reads before the text: apart there are few of each.
@functools.lru_cache(maxsize=2048)
def _date_terms(day: int) -> tuple[str, ...]:
    """The terms of a date (in days since 1970)."""
    return tuple(terms(keyword_date(day * _DAY_MS)))


@functools.lru_cache(maxsize=2048)
def _speaker_terms(author: str | None, source: str | None) -> tuple[str, ...]:
    return tuple(terms(keyword_speaker(author, source)))


def _thread(row: Row) -> tuple[str | None, tuple[int, int] | None]:
    """The line of memories in which a row has neighbours, and where it stands in it."""
    named = row.session_id or row.source
    if named is not None and (row.position is not None or row.chunks == 1):
        place = None if row.position is None else (row.position, row.chunk)
        kind = "session" if row.session_id else "source"
        return f"{row.agent_id}\x1f{kind}\x1f{named}", place
    if row.chunks > 1:
        return f"memory\x1f{row.parent_id}", (0, row.chunk)
    return None, None
