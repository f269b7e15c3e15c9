"""Look through one agent's active memories for duplicates and for newer statements on a matter."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.browsing import agent_condition, live_condition
from noesis.duplicates.grouping import Candidate, grouped, newest_of_each
from noesis.duplicates.pairs import BLOCK, Near, near_rows
from noesis.duplicates.values import Finding, Kind, Member, Wanted
from noesis.memory import MemoryType
from noesis.rows import by_memory, join_chunks
from noesis.store import Column, Condition, Row, Store
from noesis.store.filters import equals, one_of
from noesis.text.said import Said, plain, said
from noesis.text.sameness import Comparison, Likeness, compare

Progress = Callable[[int, int | None], None]
Stop = Callable[[], bool]
Pairs = dict[tuple[str, str], float]

MOST_PAIRS = 200_000
"""Pairs whose words are compared: a few minutes; what is further apart is left out and counted."""

_READ = 2048
_COMPARED_AT_ONCE = 256
_KNOWN_TEXTS = 20_000
_LONGEST_CHARS = 20_000
"""Longer texts are compared as a whole only, by their hash."""

_NAMESPACE = uuid.UUID("0f8a3d36-1a0e-5c0f-8f4b-2f1c3c1c7e55")
_STATEMENTS = (MemoryType.FACT.value, MemoryType.DECISION.value, MemoryType.PREFERENCE.value)


class Stopped(Exception):
    """Somebody wants the work to end."""


class Found(msgspec.Struct, frozen=True):
    """The findings, most certain first, and what was looked at."""

    findings: tuple[Finding, ...]
    checked: int
    without_vector: int
    left_out: int


class Looking:
    """One look through one agent's memories.

    Held in memory are the vectors (4 bytes times their width each, 150 MB for 100,000 of width 384) and a
    few hundred bytes a memory; texts are read again when two are compared.
    """

    def __init__(self, store: Store, agent: str, wanted: Wanted, now_ms: int) -> None:
        self._store = store
        self._agent = agent
        self._wanted = wanted
        self._condition = self._meant(now_ms)
        self._candidates: dict[str, Candidate] = {}
        self._said: OrderedDict[str, Said] = OrderedDict()

    async def find(
        self, apart: Collection[tuple[str, str]], linked: Collection[str], progress: Progress, stop: Stop
    ) -> Found:
        """Everything that is alike, but for the pairs `apart`; `linked` are superseded already.

        Progress counts memories.  Raises Stopped, or a StoreError.
        """
        ids, vectors, without = await self._read(stop)
        best = self._best_of_each()
        exact = self._exact(best, apart)
        # Compared is the one of equals that is to be kept: what is near one of them is near it.
        ids = [best[self._candidates[memory_id].digest] for memory_id in ids]
        near = await self._near(vectors, progress, stop)
        order = np.argsort(-near.cosines, kind="stable")
        left_out = near.left_out + max(0, len(order) - MOST_PAIRS)
        pairs = [
            (ids[near.first[place]], ids[near.second[place]], float(near.cosines[place]))
            for place in order[:MOST_PAIRS]
        ]
        same, newer = await self._compared(pairs, apart, stop)
        duplicates = self._duplicates(exact | self._with_twins(same, exact, apart))
        # What is to be merged into another memory needs no successor of its own.
        settled = {member.id for finding in duplicates for member in finding.members[1:]} | {*linked}
        findings = [*duplicates, *self._newer(newer, settled)]
        return Found(tuple(findings), len(self._candidates), without, left_out)

    def _meant(self, now_ms: int) -> Condition:
        meant = agent_condition(self._agent) & live_condition(now_ms) & equals(Column.CHUNK, 0)
        kind = self._wanted.memory_type
        return meant if kind is None else meant & equals(Column.MEMORY_TYPE, kind.value)

    async def _read(self, stop: Stop) -> tuple[list[str], npt.NDArray[np.float32], int]:
        """Note every memory; the ids and vectors of the first of each digest, and how many have no vector."""
        ids: list[str] = []
        parts: list[npt.NDArray[np.float32]] = []
        digests: set[bytes] = set()
        without = 0
        async for rows in self._store.active.batches(self._condition, _READ):
            if stop():
                raise Stopped
            vectors = []
            for row, candidate in zip(rows, await asyncio.to_thread(_candidates, rows), strict=True):
                self._candidates[candidate.id] = candidate
                without += row.vector is None
                if row.vector is not None and candidate.digest not in digests:
                    digests.add(candidate.digest)
                    ids.append(candidate.id)
                    vectors.append(row.vector)
            if vectors:
                parts.append(np.stack(vectors))
        return ids, np.concatenate(parts) if parts else np.zeros((0, 1), np.float32), without

    def _best_of_each(self) -> dict[bytes, str]:
        """Of the memories with the same words the one to keep."""
        best: dict[bytes, Candidate] = {}
        for candidate in self._candidates.values():
            known = best.setdefault(candidate.digest, candidate)
            if candidate.worth > known.worth:
                best[candidate.digest] = candidate
        return {digest: candidate.id for digest, candidate in best.items()}

    def _exact(self, best: Mapping[bytes, str], apart: Collection[tuple[str, str]]) -> Pairs:
        """The pairs of the best of each digest with the others of it."""
        found: Pairs = {}
        for each in self._candidates.values():
            keep = self._candidates[best[each.digest]]
            pair = ordered(keep.id, each.id)
            if each is not keep and pair not in apart and _one_voice(keep, each):
                found[pair] = 1.0
        return found

    async def _near(self, vectors: npt.NDArray[np.float32], progress: Progress, stop: Stop) -> Near:
        found = Near(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))
        parts = [found]
        for start in range(0, len(vectors), BLOCK):
            if stop():
                raise Stopped
            parts.append(await asyncio.to_thread(near_rows, vectors, start, self._wanted.threshold))
            progress(min(start + BLOCK, len(vectors)), len(vectors))
        return Near(
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.second for part in parts]),
            np.concatenate([part.cosines for part in parts]),
            sum(part.left_out for part in parts),
        )

    async def _compared(
        self, pairs: Sequence[tuple[str, str, float]], apart: Collection[tuple[str, str]], stop: Stop
    ) -> tuple[Pairs, list[tuple[str, str, float]]]:
        """The pairs that say the same, and those (older, newer) of which the newer says something else."""
        same: Pairs = {}
        newer: list[tuple[str, str, float]] = []
        asked = [pair for pair in pairs if ordered(*pair[:2]) not in apart]
        for start in range(0, len(asked), _COMPARED_AT_ONCE):
            if stop():
                raise Stopped
            some = asked[start : start + _COMPARED_AT_ONCE]
            await self._learn({memory_id for pair in some for memory_id in pair[:2]})
            for (one, other, cosine), verdict in await asyncio.to_thread(self._verdicts, some):
                if verdict.likeness is not Likeness.OTHER:
                    same[ordered(one, other)] = cosine
                elif verdict.replaces and (pair := self._in_time(one, other)):
                    newer.append((*pair, cosine))
            self._forget()
        return same, newer

    async def _learn(self, ids: Collection[str]) -> None:
        missing = sorted(memory_id for memory_id in ids if memory_id not in self._said)
        if missing:
            rows = await self._store.active.rows(one_of(Column.PARENT_ID, missing), vectors=False)
            self._said |= await asyncio.to_thread(_features, by_memory(rows))

    def _forget(self) -> None:
        while len(self._said) > _KNOWN_TEXTS:
            self._said.popitem(last=False)

    def _verdicts(
        self, pairs: Iterable[tuple[str, str, float]]
    ) -> list[tuple[tuple[str, str, float], Comparison]]:
        return [
            (pair, compare(self._said[pair[0]], self._said[pair[1]]))
            for pair in pairs
            if pair[0] in self._said
            and pair[1] in self._said
            and _one_voice(self._candidates[pair[0]], self._candidates[pair[1]])
        ]

    def _in_time(self, one: str, other: str) -> tuple[str, str] | None:
        """Older and newer, where a newer statement may replace an older one.

        Sections of one file stand side by side, and what was said in passing replaces nothing.
        """
        older, newer = sorted(
            (self._candidates[one], self._candidates[other]), key=lambda each: each.created_at
        )
        fits = (
            older.created_at < newer.created_at
            and older.memory_type == newer.memory_type
            and older.memory_type in _STATEMENTS
            and (older.source is None or older.source != newer.source)
        )
        return (older.id, newer.id) if fits else None

    def _with_twins(self, same: Pairs, exact: Pairs, apart: Collection[tuple[str, str]]) -> Pairs:
        """The pairs, and those of each of them with what has the same words as the other."""
        twins: dict[str, set[str]] = {}
        for one, other in exact:
            twins.setdefault(one, set()).add(other)
            twins.setdefault(other, set()).add(one)
        found = dict(same)
        for (one, other), cosine in same.items():
            for pair in (
                *(ordered(twin, other) for twin in twins.get(one, ())),
                *(ordered(one, twin) for twin in twins.get(other, ())),
            ):
                if pair not in apart:
                    found[pair] = cosine
        return found

    def _duplicates(self, pairs: Pairs) -> list[Finding]:
        groups = grouped(self._candidates, pairs)
        found = [self._finding(self._kind(group), group) for group in groups]
        return sorted(found, key=lambda each: (each.kind is not Kind.EXACT, -each.similarity, each.id))

    def _kind(self, group: Sequence[tuple[str, float]]) -> Kind:
        digests = {self._candidates[memory_id].digest for memory_id, _ in group}
        return Kind.EXACT if len(digests) == 1 else Kind.NEAR

    def _newer(self, pairs: Sequence[tuple[str, str, float]], settled: Set[str]) -> Iterator[Finding]:
        standing = [pair for pair in pairs if settled.isdisjoint(pair[:2])]
        for older, newer, cosine in newest_of_each(self._candidates, standing):
            yield self._finding(Kind.NEWER, [(newer, 1.0), (older, cosine)])

    def _finding(self, kind: Kind, group: Sequence[tuple[str, float]]) -> Finding:
        ids = sorted(memory_id for memory_id, _ in group)
        return Finding(
            id=str(uuid.uuid5(_NAMESPACE, "\x1f".join((self._agent, kind.value, *ids)))),
            agent=self._agent,
            kind=kind,
            members=tuple(
                Member(memory_id, round(cosine, 4), self._candidates[memory_id].content_hash)
                for memory_id, cosine in group
            ),
        )


def ordered(one: str, other: str) -> tuple[str, str]:
    """A pair with the smaller id first."""
    return (one, other) if one < other else (other, one)


def _one_voice(one: Candidate, other: Candidate) -> bool:
    """What two people say of themselves is not one thing, though the words are the same."""
    return one.author is None or other.author is None or one.author == other.author


def _candidates(rows: Sequence[Row]) -> list[Candidate]:
    return [_candidate(row) for row in rows]


def _candidate(row: Row) -> Candidate:
    text = plain(row.text) if row.chunks == 1 else row.content_hash
    return Candidate(
        id=row.parent_id,
        digest=hashlib.blake2b(text.encode(), digest_size=16).digest(),
        content_hash=row.content_hash,
        memory_type=row.memory_type,
        source=row.source,
        author=row.author,
        priority=row.priority,
        by_hand=row.priority_set_by != "type",
        created_at=row.created_at,
        length=len(row.text) * row.chunks,
    )


def _features(memories: Mapping[str, Sequence[Row]]) -> dict[str, Said]:
    texts = {memory_id: join_chunks(rows) for memory_id, rows in memories.items()}
    return {memory_id: said(text) for memory_id, text in texts.items() if len(text) <= _LONGEST_CHARS}
