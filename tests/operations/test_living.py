"""A search asks without the expiry first, and answers as if it had asked with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import httpx
import pytest

from noesis.browsing import agent_condition, live_condition
from noesis.candidates import FETCHED
from noesis.store import Condition, FoundRow, State, Table
from tests.operations.samples import bulk, index, search, texts
from tests.support import Clock, Product

ALIVE = [f"heron tale{number}" for number in range(FETCHED + 10)]
EXPIRING = [f"heron heron heron{number}" for number in range(20)]
LEGS = {"keyword": "matching", "vector": "nearest"}
WITHOUT, WITH = False, True


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[bool]]:
    """What each leg was asked for from the active table, in order: with the expiry, or without it."""
    seen: dict[str, list[bool]] = {"matching": [], "nearest": []}

    def noted(leg: str, read: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def run(table: Table, what: Any, condition: Condition, limit: int) -> Any:
            if table.name == "memories":
                seen[leg].append("expires_at" in condition.sql)
            return await read(table, what, condition, limit)

        return run

    for leg in seen:
        monkeypatch.setattr(Table, leg, noted(leg, getattr(Table, leg)))
    return seen


def taken(asked: dict[str, list[bool]]) -> dict[str, list[bool]]:
    """What was asked since the last time."""
    found = {leg: [*each] for leg, each in asked.items()}
    for each in asked.values():
        each.clear()
    return found


async def store_all(client: httpx.AsyncClient) -> None:
    """More than a leg brings, and what fits better and lives for a day."""
    await bulk(client, [{"text": text} for text in ALIVE])
    await bulk(client, [{"text": text, "ttl_days": 1} for text in EXPIRING])


async def test_while_nothing_has_expired_each_leg_is_asked_once_and_without_it(
    alpha: httpx.AsyncClient, asked: dict[str, list[bool]]
) -> None:
    await store_all(alpha)
    taken(asked)
    found = texts(await search(alpha, "heron", limit=200))
    assert set(EXPIRING) <= set(found)
    assert taken(asked) == {"matching": [WITHOUT], "nearest": [WITHOUT]}


@pytest.mark.parametrize("mode", LEGS)
async def test_a_leg_that_brings_an_expired_row_is_asked_again_and_brings_the_best_that_live(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, asked: dict[str, list[bool]], mode: str
) -> None:
    await store_all(alpha)
    before = texts(await search(alpha, "heron", mode=mode, limit=200))
    assert set(before) & set(EXPIRING)
    clock.advance(days=1)
    taken(asked)
    hits = (await search(alpha, "heron", mode=mode, limit=200))["hits"]
    other = "nearest" if mode == "keyword" else "matching"
    assert taken(asked) == {LEGS[mode]: [WITHOUT, WITH], other: []}
    assert {hit["text"] for hit in hits} == set(await best_living(product, clock, mode))
    assert len(hits) == FETCHED


async def best_living(product: Product, clock: Clock, mode: str) -> Iterable[str]:
    """The texts that a leg brings when it is asked with the expiry straight away."""
    condition = live_condition(clock()) & agent_condition("alpha")
    table, rows = product.noesis.store.active, list[FoundRow]()
    if mode == "keyword":
        rows, _ = await table.matching("heron", condition, FETCHED)
    else:
        rows, _ = await table.nearest(await product.noesis.vectors.of_query("heron"), condition, FETCHED)
    return [row.text for row in rows]


async def test_in_a_hybrid_search_each_leg_is_asked_again_by_itself(
    alpha: httpx.AsyncClient, clock: Clock, asked: dict[str, list[bool]]
) -> None:
    """The expired one has no word of the question: only the vector leg meets it."""
    await bulk(alpha, [{"text": "heron one"}, {"text": "heron two"}])
    await index(alpha, "badger", ttl_days=1)
    clock.advance(days=1)
    taken(asked)
    assert set(texts(await search(alpha, "heron", limit=200))) == {"heron one", "heron two"}
    assert taken(asked) == {"matching": [WITHOUT], "nearest": [WITHOUT, WITH]}


async def test_while_expired_rows_stand_there_the_expiry_is_asked_for_straight_away(
    alpha: httpx.AsyncClient, clock: Clock, asked: dict[str, list[bool]]
) -> None:
    await store_all(alpha)
    clock.advance(days=1)
    await search(alpha, "heron", mode="keyword")
    straight = {"matching": [WITH], "nearest": []}
    taken(asked)
    for seconds in (0, 59, 3600):
        clock.advance(seconds=seconds)
        await search(alpha, "heron", mode="keyword")
        assert taken(asked) == straight, "no commit has taken them away"
    await index(alpha, "a commit")
    await search(alpha, "heron", mode="keyword")
    assert taken(asked)["matching"] == [WITH], "one look a minute is enough"
    clock.advance(seconds=61)
    await search(alpha, "heron", mode="keyword")
    assert taken(asked)["matching"] == [WITHOUT, WITH], "after a commit they may be gone"


async def test_once_a_cleanup_took_them_away_the_legs_are_asked_without_it_again(
    alpha: httpx.AsyncClient, product: Product, clock: Clock, asked: dict[str, list[bool]]
) -> None:
    await store_all(alpha)
    clock.advance(days=1)
    await search(alpha, "heron")
    await product.noesis.retention.cleaning.run(None, confirm=True)
    clock.advance(seconds=61)
    taken(asked)
    found = texts(await search(alpha, "heron", limit=200))
    assert taken(asked) == {"matching": [WITHOUT], "nearest": [WITHOUT]}
    assert not set(found) & set(EXPIRING)


async def test_what_expired_and_was_archived_is_found_in_the_archive(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    await index(alpha, "heron of old", ttl_days=1)
    await index(alpha, "heron of today")
    clock.advance(days=1)
    await product.noesis.retention.cleaning.run(None, confirm=True)
    found = await search(alpha, "heron", archive="only")
    assert texts(found) == ["heron of old"]
    assert set(texts(await search(alpha, "heron"))) == {"heron of old", "heron of today"}


@pytest.mark.parametrize("change", ["edited", "deleted", "expired"])
async def test_a_hit_that_changes_while_it_is_ranked_is_shown_as_it_is_now(
    alpha: httpx.AsyncClient, clock: Clock, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    stored = await index(alpha, "heron one", ttl_days=1)
    await index(alpha, "heron two")
    path = f"/api/v1/memories/{stored['id']}"
    still = Table.still

    async def changed_first(table: Table, found: list[FoundRow], since: State) -> Any:
        monkeypatch.setattr(Table, "still", still)
        if change == "edited":
            assert (await alpha.patch(path, json={"text": "heron three"})).status_code == 200
        elif change == "deleted":
            assert (await alpha.delete(path)).status_code == 200
        else:
            clock.advance(days=1)
        return await still(table, found, since)

    monkeypatch.setattr(Table, "still", changed_first)
    found = set(texts(await search(alpha, "heron", archive="never")))
    # A search means one instant, its beginning: what expires later is still in its answer.
    expected = {"edited": {"heron three"}, "deleted": set[str](), "expired": {"heron one"}}
    assert found == {"heron two"} | expected[change]
    assert "heron one" not in texts(await search(alpha, "heron", archive="never"))
