"""Index labelled conversations and ask their questions, by the operations that serve everybody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from noesis.benchmark.figures import Asked
from noesis.benchmark.labelled import Conversation, LabelledQuestion
from noesis.errors import EmbedderUnavailable, InvalidInput, NoesisError
from noesis.filling import Filling
from noesis.indexing import Indexing
from noesis.memory import Mode, Scope, SearchQuery
from noesis.search import Search

Say = Callable[[str], None]

LIMIT = 10
"""Hits of a question: as many as the measures look at."""

_AT_ONCE = 64
_TRIES = 3
_BETWEEN_TRIES_S = 12.0
"""Longer than an embedder that was too slow is left alone."""


class Stored(msgspec.Struct, frozen=True):
    """A conversation in the store: whose it is, and which memory each of its ids became."""

    conversation: Conversation
    scope: Scope
    ids: Mapping[str, str]

    def gold(self, question: LabelledQuestion) -> frozenset[str]:
        """The memories that answer a question."""
        return frozenset(self.ids[each] for each in question.evidence)


async def index_all(
    conversations: Sequence[Conversation], indexing: Indexing, filling: Filling, say: Say
) -> list[Stored]:
    """Index every conversation for an agent of its own, each memory with its vector.

    Raises InvalidInput for a memory that cannot be stored, EmbedderUnavailable, or a StoreError.
    """
    stored: list[Stored] = []
    for number, conversation in enumerate(conversations, 1):
        scope = Scope(f"conversation-{number}")
        stored.append(Stored(conversation, scope, await _index(conversation, scope, indexing)))
        say(f"indexed {number} of {len(conversations)}: {conversation.name}")
    await _fill(filling, say)
    return stored


async def _index(conversation: Conversation, scope: Scope, indexing: Indexing) -> dict[str, str]:
    ids: dict[str, str] = {}
    for start in range(0, len(conversation.memories), _AT_ONCE):
        part = conversation.memories[start : start + _AT_ONCE]
        results = await indexing.index_many(scope, [memory.new() for memory in part])
        for memory, result in zip(part, results, strict=True):
            if isinstance(result, NoesisError):
                raise InvalidInput(f"{conversation.name}: memory {memory.id!r}: {result.message}")
            ids[memory.id] = result.id
    return ids


async def _fill(filling: Filling, say: Say) -> None:
    """Return when every memory has its vector: a busy machine may have stored some without."""
    left, in_vain = await filling.pending(), 0
    while left and in_vain < _TRIES:
        say(f"{left} vectors to fill in")
        try:
            await filling.fill(lambda _done, _total: None)
        except EmbedderUnavailable:
            await asyncio.sleep(_BETWEEN_TRIES_S)
        before, left = left, await filling.pending()
        in_vain = 0 if left < before else in_vain + 1
    if left:
        raise EmbedderUnavailable(f"{left} memories got no vector, so nothing was measured.")


async def ask_all(
    search: Search, stored: Sequence[Stored], say: Say, *, mode: Mode = Mode.HYBRID
) -> list[Asked]:
    """Ask every question that something answers.  Raises EmbedderUnavailable or a StoreError."""
    asked: list[Asked] = []
    for number, each in enumerate(stored, 1):
        # The first search of an agent also counts its words.
        await search.search(each.scope, SearchQuery(text="warm up", limit=LIMIT, mode=mode))
        asked += [await _ask(search, each, question, mode) for question in answered(each)]
        say(f"asked by {mode.value}, {number} of {len(stored)}: {each.conversation.name}")
    return asked


def answered(stored: Stored) -> list[LabelledQuestion]:
    """The questions of a conversation that something in it answers."""
    return [question for question in stored.conversation.questions if question.evidence]


async def _ask(search: Search, stored: Stored, question: LabelledQuestion, mode: Mode) -> Asked:
    result = await search.search(stored.scope, SearchQuery(text=question.question, limit=LIMIT, mode=mode))
    if result.reason is not None:
        raise EmbedderUnavailable(f"{result.reason} Nothing was measured.")
    return Asked(
        question.kind,
        stored.gold(question),
        tuple(hit.memory.id for hit in result.hits),
        result.timings,
    )
