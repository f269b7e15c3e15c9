"""Which of the candidates fit into a prompt, and in which order they stand there."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import msgspec

from noesis.context.block import entry_of, entry_tokens, frame_tokens
from noesis.context.values import PRIORITY, RECALLED
from noesis.memory import Memory, SearchHit

NO_ROOM = "no room in the budget"


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that could go in: why, how it would stand there, and the tokens it takes."""

    memory: Memory
    why: tuple[str, ...]
    entry: str
    tokens: int
    score: float | None = None


def candidates(standing: Sequence[Memory], hits: Sequence[SearchHit]) -> list[Candidate]:
    """Each memory once, the most useful first: by turns the next recalled one and the next by priority.

    So neither a long list of standing memories nor a talkative recall takes all the room.
    """
    scores = {hit.memory.id: hit.score for hit in hits}
    important = {memory.id for memory in standing}
    found: dict[str, Candidate] = {}
    pairs = itertools.zip_longest([hit.memory for hit in hits], standing)
    for memory in itertools.chain.from_iterable(pairs):
        if memory is None or memory.id in found:
            continue
        entry = entry_of(memory)
        reasons = (PRIORITY, memory.id in important), (RECALLED, memory.id in scores)
        found[memory.id] = Candidate(
            memory=memory,
            why=tuple(reason for reason, holds in reasons if holds),
            entry=entry,
            tokens=entry_tokens(entry),
            score=scores.get(memory.id),
        )
    return list(found.values())


def chosen(
    wanted: Sequence[Candidate], budget: int, block_id: str, left_out: Counter[str]
) -> list[Candidate]:
    """As many as fit into the budget (tokens of the whole block), the most useful first."""
    room = budget - frame_tokens(block_id)
    picked = []
    for each in wanted:
        if each.tokens <= room:
            room -= each.tokens
            picked.append(each)
        else:
            left_out[NO_ROOM] += 1
    return picked


def laid_out(picked: Sequence[Candidate], before: Sequence[str]) -> list[Candidate]:
    """In the order in which the session was shown them, new ones after those, from the oldest to the newest."""
    places = {memory_id: place for place, memory_id in enumerate(before)}
    new = len(places)
    return sorted(
        picked,
        key=lambda each: (places.get(each.memory.id, new), each.memory.created_at, each.memory.id),
    )
