"""How common a term is follows what is stored, and a search never waits long to learn it."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import httpx
import pytest

from noesis import word_statistics
from noesis.browsing import agent_condition
from noesis.errors import StoreError
from noesis.ranking.bm25 import WordStatistics
from noesis.store import Table
from noesis.store.filters import EVERYTHING
from noesis.text.terms import terms
from noesis.word_statistics import WordCounts
from tests.operations.samples import bulk, index, search
from tests.support import Clock, Product

ALPHA = agent_condition("alpha")


async def score_of(client: httpx.AsyncClient) -> float:
    """What the word `heron` counts in the one memory that holds it."""
    (hit,) = (await search(client, "heron", mode="keyword", explain=True))["hits"]
    return float(hit["explanation"]["keyword_score"])


async def known(counts: WordCounts, product: Product) -> WordStatistics:
    return await counts.of(product.noesis.store.active, ALPHA)


async def test_a_word_grows_rarer_with_every_memory_that_lacks_it(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    await index(alpha, "heron")
    scores = [await score_of(alpha)]
    for number in range(3):
        await index(alpha, f"badger {number}")
        scores.append(await score_of(alpha))
    assert scores == sorted(set(scores))
    await bulk(beta, [{"text": f"heron {number}"} for number in range(9)])
    assert await score_of(alpha) == scores[-1], "another agent's memories do not count"


async def test_few_texts_are_counted_again_after_every_write(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    counts = WordCounts(clock)
    assert (await known(counts, product)).texts == 0
    memory = await index(alpha, "heron")
    assert (await known(counts, product)).texts_with["heron"] == 1
    assert (await alpha.delete(f"/api/v1/memories/{memory['id']}")).status_code == 200
    assert "heron" not in (await known(counts, product)).texts_with


async def test_many_texts_are_counted_again_behind_a_search_and_a_minute_later_at_the_earliest(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    counts = WordCounts(clock)
    await bulk(alpha, [{"text": f"badger {number}"} for number in range(250)])
    first = await known(counts, product)
    assert first.texts == 250
    await index(alpha, "heron")
    clock.advance(seconds=59)
    assert await known(counts, product) is first
    assert not counts._counting
    clock.advance(seconds=1)
    assert await known(counts, product) is first
    await asyncio.gather(*counts._counting.values())
    assert (await known(counts, product)).texts_with["heron"] == 1


async def test_those_who_ask_at_once_share_one_count(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    values = Table.values

    async def counted(self: Table, *arguments: Any) -> list[tuple[Any, ...]]:
        read.append(self)
        return await values(self, *arguments)

    await index(alpha, "heron")
    monkeypatch.setattr(Table, "values", counted)
    counts = WordCounts(clock)
    found = await asyncio.gather(*(known(counts, product) for _ in range(5)))
    assert len(read) == 1
    assert all(each is found[0] for each in found)


async def test_only_those_asked_for_last_are_kept(product: Product, clock: Clock) -> None:
    counts = WordCounts(clock)
    for number in range(70):
        await counts.of(product.noesis.store.active, agent_condition(f"agent{number}"))
    assert len(counts._known) == 64
    assert not counts._counting


async def test_a_count_that_fails_is_the_error_of_who_waits_and_silent_behind_a_search(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("The store could not be read: broken")

    forgotten: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: forgotten.append(context))
    counts = WordCounts(clock)
    await bulk(alpha, [{"text": f"badger {number}"} for number in range(200)])
    first = await known(counts, product)
    await index(alpha, "heron")
    clock.advance(seconds=60)
    monkeypatch.setattr(Table, "values", fail)
    assert await known(counts, product) is first
    await asyncio.wait(list(counts._counting.values()))
    with pytest.raises(StoreError):
        await counts.of(product.noesis.store.active, EVERYTHING)
    await asyncio.sleep(0)
    gc.collect()
    assert forgotten == []
    assert not counts._counting


async def test_closing_ends_what_is_being_counted(
    product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def hang(*_: object) -> None:
        begun.set()
        await asyncio.sleep(3600)

    monkeypatch.setattr(Table, "values", hang)
    counts = WordCounts(clock)
    waiting = asyncio.create_task(known(counts, product))
    await begun.wait()
    await counts.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_others_have_their_turn_while_many_texts_are_counted(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0
    counted_in: list[int] = []

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def noted(text: str) -> list[str]:
        counted_in.append(turns)
        return terms(text)

    await bulk(alpha, [{"text": f"badger {number}"} for number in range(250)])
    monkeypatch.setattr(word_statistics, "terms", noted)
    busy = asyncio.create_task(other())
    found = await known(WordCounts(clock), product)
    busy.cancel()
    assert (found.texts, found.texts_with["badger"], found.length) == (250, 250, 5.0), "two words and a date"
    assert len(counted_in) == 250
    assert len(set(counted_in)) == 13
