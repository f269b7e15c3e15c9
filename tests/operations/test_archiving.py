"""The archive: looked through by month, type and agent, searched, and memories brought back from it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from noesis.agents import Policy
from noesis.memory import DELETED, EXPIRED, SOURCE_GONE
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, bulk, get, index, recall, search, texts
from tests.support import Clock, Product

ARCHIVE = "/api/v1/archive"


async def shelf(client: httpx.AsyncClient, **params: Any) -> dict[str, Any]:
    reply = await client.get(ARCHIVE, params=params)
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


async def restore(client: httpx.AsyncClient, *ids: str, **values: Any) -> dict[str, Any]:
    reply = await client.post(f"{ARCHIVE}/restore", json={"ids": ids, **values})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def outcomes(answer: dict[str, Any]) -> list[str]:
    return [each["outcome"] for each in answer["results"]]


async def archived(product: Product, client: httpx.AsyncClient, text: str, **values: Any) -> str:
    """An archived memory; its id."""
    stored: str = (await index(client, text, **values))["id"]
    await archive(product, stored)
    return stored


async def test_it_is_listed_newest_first_with_counts_by_month_and_type(
    product: Product, alpha: httpx.AsyncClient
) -> None:
    await index(alpha, "lives on")
    for text, kind, day in (
        ("first", "fact", "2025-12-31T23:59:59Z"),
        ("second", "decision", "2026-01-01T00:00:00Z"),
        ("third", "fact", "2026-01-31T12:00:00Z"),
    ):
        await archived(product, alpha, text, memory_type=kind, created_at=day)
    everything = await shelf(alpha)
    assert texts(everything) == ["third", "second", "first"]
    assert everything["months"] == {"2026-01": 2, "2025-12": 1}
    assert list(everything["months"]) == ["2026-01", "2025-12"]
    assert everything["types"] == {"decision": 1, "fact": 2}
    assert texts(await shelf(alpha, month="2026-01")) == ["third", "second"]
    assert texts(await shelf(alpha, month="2025-12")) == ["first"]
    facts = await shelf(alpha, memory_type="fact")
    assert (texts(facts), facts["months"]) == (["third", "first"], {"2026-01": 1, "2025-12": 1})
    assert texts(await shelf(alpha, memory_type="fact", month="2026-01")) == ["third"]


async def test_it_is_read_page_by_page(product: Product, alpha: httpx.AsyncClient) -> None:
    for number in range(5):
        await archived(product, alpha, f"number {number}")
    found: list[str] = []
    cursor = None
    while True:
        page = await shelf(alpha, limit=2, **({} if cursor is None else {"cursor": cursor}))
        found += texts(page)
        cursor = page["cursor"]
        if cursor is None:
            break
    assert sorted(found) == [f"number {number}" for number in range(5)]


async def test_what_was_deleted_is_not_shown(product: Product, alpha: httpx.AsyncClient) -> None:
    await archive(product, (await index(alpha, "deleted"))["id"], DELETED)
    await archive(product, (await index(alpha, "its file is gone"))["id"], SOURCE_GONE)
    found = await shelf(alpha)
    assert (texts(found), found["months"], found["types"]) == (
        ["its file is gone"],
        {"2026-05": 1},
        {"fact": 1},
    )


@pytest.mark.parametrize("month", ["2026", "2026-13", "2026-00", "may", "0000-01", "2026-05-01"])
async def test_a_month_that_is_none_is_refused(alpha: httpx.AsyncClient, month: str) -> None:
    reply = await alpha.get(ARCHIVE, params={"month": month})
    assert (reply.status_code, reply.json()["field"]) == (400, "month")


async def test_another_agents_archive_is_seen_only_by_who_may_read_across(
    product: Product, alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    stored = await archived(product, alpha, "alpha's old locker 3300")
    nothing: dict[str, Any] = {"memories": [], "cursor": None, "months": {}, "types": {}}
    assert await shelf(beta) == nothing
    for params in ("agent_id=alpha", "cross_agent=true", "agent_id=alpha&cross_agent=true"):
        assert (await beta.get(f"{ARCHIVE}?{params}")).status_code == 403
    assert outcomes(await restore(beta, stored)) == ["not_found"]
    assert (await get(alpha, stored))["archived"]
    assert (await beta.get(f"{ARCHIVE}/expiring")).json()["memories"] == []
    assert (await beta.get(f"{ARCHIVE}/expiring", params={"agent_id": "alpha"})).status_code == 403
    assert texts(await shelf(admin)) == ["alpha's old locker 3300"]
    await product.noesis.agents.set_policy(Policy("beta", may_read_across=True))
    assert texts(await shelf(beta, cross_agent=True)) == ["alpha's old locker 3300"]
    assert outcomes(await restore(beta, stored)) == ["not_found"]


async def test_a_memory_is_brought_back_whole_with_a_new_life_and_is_found_again(
    product: Product, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    stored = await archived(product, alpha, "the heron database", tags=["db"], priority=77, ttl_days=1)
    before = await get(alpha, stored)
    clock.advance(days=10)
    answer = await restore(alpha, stored, ttl_days=3.5)
    assert answer["restored"] == 1
    after = await get(alpha, stored)
    assert {name for name in before if before[name] != after[name]} == {
        "updated_at",
        "expires_at",
        "archived",
        "archived_at",
        "archive_reason",
    }
    assert after["expires_at"] == answer["results"][0]["expires_at"] == "2026-06-11T08:26:40Z"
    assert texts(await search(alpha, "heron", archive="never")) == ["the heron database"]
    assert texts(await search(alpha, "heron", archive="only")) == []
    assert texts(await shelf(alpha)) == []


async def test_without_a_ttl_it_has_the_life_of_its_type_and_with_0_for_ever(
    product: Product, alpha: httpx.AsyncClient
) -> None:
    await product.noesis.agents.set_policy(Policy("alpha", ttl_days={"session": 2}))
    by_type = await archived(product, alpha, "one", memory_type="session", ttl_days=9)
    for_ever = await archived(product, alpha, "two")
    assert (await restore(alpha, by_type))["results"][0]["expires_at"] == "2026-05-30T20:26:40Z"
    assert (await restore(alpha, for_ever, ttl_days=0))["results"][0]["expires_at"] is None
    assert (await get(alpha, for_ever))["expires_at"] is None


async def test_each_id_has_an_outcome_of_its_own_in_order(
    product: Product, alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    back = await archived(product, alpha, "back")
    lives = (await index(alpha, "lives"))["id"]
    deleted = (await index(alpha, "deleted"))["id"]
    await alpha.delete(f"{MEMORIES}/{deleted}")
    others = await archived(product, beta, "beta's")
    answer = await restore(alpha, lives, "nothing", back, deleted, others, back)
    assert outcomes(answer) == ["active", "not_found", "restored", "deleted", "not_found", "restored"]
    assert sorted(await recall(alpha)) == ["back", "lives"]


async def test_a_memory_that_expired_and_was_not_archived_yet_is_brought_back_too(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    stored = (await index(alpha, "nearly gone", ttl_days=1))["id"]
    clock.advance(days=2)
    assert await recall(alpha) == []
    assert outcomes(await restore(alpha, stored)) == ["restored"]
    assert await recall(alpha) == ["nearly gone"]


async def test_up_to_a_thousand_are_brought_back_at_once(
    product: Product, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    answers = await bulk(alpha, [{"text": f"heron {number}", "ttl_days": 0.001} for number in range(100)])
    ids = [answer["id"] for answer in answers]
    clock.advance(days=1)
    assert (await product.noesis.retention.cleaning.run("alpha", confirm=True)).archived == 100
    nowhere = [f"id {number}" for number in range(900)]
    assert (await restore(alpha, *ids, *nowhere))["restored"] == 100
    assert (await shelf(alpha))["memories"] == []
    for wrong in ([], [*ids, *nowhere, "one more"]):
        reply = await alpha.post(f"{ARCHIVE}/restore", json={"ids": wrong})
        assert (reply.status_code, reply.json()["field"]) == (400, "ids")


@pytest.mark.parametrize("ttl_days", [-1, -0.001, 36501, 1e300])
async def test_an_impossible_life_is_refused_and_nothing_is_brought_back(
    product: Product, alpha: httpx.AsyncClient, ttl_days: float
) -> None:
    stored = await archived(product, alpha, "stays")
    reply = await alpha.post(f"{ARCHIVE}/restore", json={"ids": [stored], "ttl_days": ttl_days})
    assert (reply.status_code, reply.json()["field"]) == (400, "ttl_days")
    assert (await get(alpha, stored))["archive_reason"] == EXPIRED


async def test_bringing_back_keeps_to_the_agents_quota(product: Product, alpha: httpx.AsyncClient) -> None:
    first, second = await archived(product, alpha, "one"), await archived(product, alpha, "two")
    await product.noesis.agents.set_policy(Policy("alpha", max_memories=1))
    assert outcomes(await restore(alpha, first, second)) == ["restored", "no_room"]
    assert (await get(alpha, second))["archived"]


async def test_the_archive_is_searched_by_itself(product: Product, alpha: httpx.AsyncClient) -> None:
    await archived(product, alpha, "the old heron")
    await index(alpha, "the new heron")
    reply = await alpha.post(f"{ARCHIVE}/search", json={"query": "heron"})
    assert texts(reply.json()) == ["the old heron"]
    assert [hit["archived"] for hit in reply.json()["hits"]] == [True]
