"""How common each term is among an agent's memories, kept at hand for the ranking."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from noesis.ranking.bm25 import WordCount, WordStatistics
from noesis.store import Column, Condition, Table
from noesis.tasks import end_tasks
from noesis.text.terms import terms

_SAMPLE = 5_000
"""So many texts say how common a term is; counting more changes the third digit and costs time."""

_FRESH_MS = 60_000
_FEW = 200
"""So few texts are counted again after every change: each one moves the statistics."""

_AT_ONCE = 20
"""After so many texts, 3 ms where they have 260 words, others have their turn."""

_KEPT = 64


class _Known(msgspec.Struct):
    statistics: WordStatistics
    version: int
    at: int


class WordCounts:
    """Keeps the statistics of the agents asked for last.

    They are as old as a minute and more: a term's rarity moves slowly.  What is stale is used once
    more while it is counted anew.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._known: OrderedDict[tuple[str, str, str], _Known] = OrderedDict()
        self._counting: dict[tuple[str, str, str], asyncio.Task[WordStatistics]] = {}

    async def of(self, table: Table, whose: Condition) -> WordStatistics:
        """The statistics over the rows of a table that fit.  Raises StoreError."""
        key = (table.generation, table.name, whose.sql)
        known = self._known.get(key)
        if known is None:
            return await asyncio.shield(self._count(key, table, whose))
        self._known.move_to_end(key)
        few = known.statistics.texts < _FEW
        if not few and self._now_ms() - known.at < _FRESH_MS:
            return known.statistics
        if await table.version() == known.version:
            return known.statistics
        counting = self._count(key, table, whose)
        return await asyncio.shield(counting) if few else known.statistics

    async def close(self) -> None:
        """End what is still being counted."""
        await end_tasks(self._counting.values())

    def _count(
        self, key: tuple[str, str, str], table: Table, whose: Condition
    ) -> asyncio.Task[WordStatistics]:
        task = self._counting.get(key)
        if task is None:
            task = self._counting[key] = asyncio.create_task(self._counted(key, table, whose))
            # Nobody waits for one that counts behind a search; the next search meets its failure itself.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task

    async def _counted(self, key: tuple[str, str, str], table: Table, whose: Condition) -> WordStatistics:
        try:
            version, at = await table.version(), self._now_ms()
            texts = [text for (text,) in await table.values([Column.KEYWORD_TEXT], whose, _SAMPLE)]
            total = len(texts) if len(texts) < _SAMPLE else await table.count(whose)
            statistics = scaled(await _count_words(texts), total)
            self._known[key] = _Known(statistics, version, at)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return statistics
        finally:
            del self._counting[key]


async def _count_words(texts: Sequence[str]) -> WordStatistics:
    """Count on this thread, as the interpreter's lock would make two of them slower, and a piece at a time."""
    counted = WordCount()
    for start in range(0, len(texts), _AT_ONCE):
        for text in texts[start : start + _AT_ONCE]:
            counted.add(terms(text))
        await asyncio.sleep(0)
    return counted.statistics()


def scaled(sample: WordStatistics, total: int) -> WordStatistics:
    """The statistics of `total` texts of which `sample` was counted."""
    factor = total / max(sample.texts, 1)
    if factor <= 1:
        return sample
    counts = {term: round(count * factor) for term, count in sample.texts_with.items()}
    return WordStatistics(total, sample.length, counts)
