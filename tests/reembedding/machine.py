"""A product whose embedder is another one at its next start, and the switch itself."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from noesis.embedding import EmbeddingFailure, Vector
from noesis.memory import Memory, Mode, NewMemory, Role, Scope, SearchQuery
from noesis.reembedding.operation import Reembedding
from noesis.reembedding.values import Reembedded
from noesis.runtime import Noesis
from noesis.store import Row
from noesis.store.filters import EVERYTHING
from tests.support import WordEmbedder

ALPHA = Scope("alpha", Role.AGENT, actor="test")
NOUNS = (
    "kettle",
    "lantern",
    "bicycle",
    "harbour",
    "violin",
    "meadow",
    "compass",
    "orchard",
    "pebble",
    "tram",
)
ADJECTIVES = ("red", "quiet", "wooden", "broken", "narrow", "golden")


def text(number: int) -> str:
    """A text of its own for each number, which shares words with others."""
    noun, adjective = NOUNS[number % len(NOUNS)], ADJECTIVES[number % len(ADJECTIVES)]
    return f"The {adjective} {noun} stands in room number{number}. It was seen there by guest{number % 17}."


class GatedEmbedder(WordEmbedder):
    """Embeds one batch of documents and waits for `go` before the next one."""

    def __init__(self, dimension: int = 32, model: str = "other") -> None:
        super().__init__(dimension, model)
        self.go = asyncio.Event()

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        if self.seen:
            await self.go.wait()
        return await super().embed_documents(texts)


class LoggingEmbedder(WordEmbedder):
    """Writes down what it embeds, one line a text, and kills its process before the text that follows `die_after`."""

    def __init__(self, log: Path, die_after: int | None, dimension: int = 64, model: str = "words") -> None:
        super().__init__(dimension, model)
        self._log = log
        self._die_after = die_after
        self._count = 0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        if self._die_after is not None and self._count >= self._die_after:
            os.kill(os.getpid(), signal.SIGKILL)
        self._count += len(texts)
        with self._log.open("a", encoding="utf-8") as log:
            log.writelines(f"{each}\n" for each in texts)
        return await super().embed_documents(texts)


async def fill(noesis: Noesis, numbers: range) -> None:
    """Store memories with these numbers."""
    await noesis.indexing.index_many(ALPHA, [NewMemory(text=text(number)) for number in numbers])


async def write(noesis: Noesis, what: str) -> Memory:
    """Store one memory."""
    indexed = await noesis.indexing.index(ALPHA, NewMemory(text=what))
    return await noesis.browsing.get(ALPHA, indexed.id)


async def until(there: Callable[[], bool]) -> None:
    """Wait for something that another task does."""
    async with asyncio.timeout(20):
        while not there():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)


def switching(noesis: Noesis) -> Reembedding:
    """The operation on this product's store."""
    return Reembedding(noesis.store, noesis.vectors, noesis.settings, noesis.now_ms)


async def switch(noesis: Noesis, made_for: str = "test", *, force: bool = False) -> Reembedded:
    """Make the switch."""
    return await switching(noesis).run(
        made_for=made_for, force=force, tell=lambda _done, _total: None, cancelled=lambda: False
    )


async def rows(noesis: Noesis) -> dict[str, Row]:
    """Every row of both tables by its id."""
    found = [await table.rows(EVERYTHING) for table in (noesis.store.active, noesis.store.archive)]
    assert sum(map(len, found)) == len({row.id for each in found for row in each})
    return {row.id: row for each in found for row in each}


def lasting(row: Row) -> dict[str, object]:
    """All of a row that a switch must leave as it is."""
    values = msgspec.structs.asdict(row)
    return {name: value for name, value in values.items() if name != "vector" and "embedding" not in name}


async def found(noesis: Noesis, question: str, mode: Mode = Mode.HYBRID) -> list[str]:
    """The texts that a search finds, best first."""
    result = await noesis.search.search(ALPHA, SearchQuery(text=question, mode=mode, limit=10))
    return [hit.memory.text for hit in result.hits]
