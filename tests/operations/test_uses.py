"""Uses are counted behind the answers' back, for their own agent, and may lengthen a life."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from noesis.extending import Life, is_due
from noesis.memory import DAY_MS, NEVER
from noesis.store import Column
from noesis.store.filters import equals
from noesis.uses import Use, Uses
from tests.operations.samples import MEMORIES, get, index, recall, search
from tests.support import NOW, Clock, Product, WordEmbedder, running


async def stats_uses(client: httpx.AsyncClient, product: Product) -> dict[str, Any]:
    await product.noesis.uses.flush()
    reply = await client.get("/api/v1/stats")
    assert reply.status_code == 200, reply.text
    uses: dict[str, Any] = reply.json()["uses"]
    return uses


async def test_searches_and_recalls_are_counted(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    tea, key, idle = [
        (await index(alpha, text))["id"] for text in ("green tea", "spare key", "nothing of it")
    ]
    await recall(alpha)
    clock.advance(days=1)
    await search(alpha, "green tea", limit=1)
    await search(alpha, "green tea", limit=1)
    await search(alpha, "spare key", limit=1)
    await product.noesis.uses.flush()
    counted = await product.noesis.uses.of([tea, key, idle, "no such id"])
    assert counted == {
        tea: Use(search=2, recall=1, last_at=NOW + DAY_MS),
        key: Use(search=1, recall=1, last_at=NOW + DAY_MS),
        idle: Use(recall=1, last_at=NOW),
    }


async def test_stats_name_what_is_used_most_and_what_never(
    alpha: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    ids = []
    for text in ("green tea", "spare key", "violin case"):
        ids.append((await index(alpha, text))["id"])
        clock.advance(seconds=1)
    assert (await stats_uses(alpha, product))["never"] == 3
    await search(alpha, "spare key", limit=1)
    uses = await stats_uses(alpha, product)
    assert [(each["id"], each["text"], each["search"]) for each in uses["most"]] == [(ids[1], "spare key", 1)]
    assert uses["most"][0]["last_used_at"] is not None
    assert (uses["never"], [each["text"] for each in uses["oldest_never"]]) == (
        2,
        ["green tea", "violin case"],
    )
    await alpha.delete(f"{MEMORIES}/{ids[1]}")
    uses = await stats_uses(alpha, product)
    assert (uses["most"], uses["never"]) == ([], 2)


async def test_an_agent_learns_nothing_of_others_uses(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient, product: Product
) -> None:
    theirs = (await index(alpha, "green tea"))["id"]
    mine = (await index(beta, "green tea too"))["id"]
    await search(alpha, "green tea")
    await admin.patch("/api/v1/agents/beta", json={"may_read_across": True})
    await search(beta, "green tea", cross_agent=True)
    uses = await stats_uses(beta, product)
    assert ([each["id"] for each in uses["most"]], uses["never"]) == ([mine], 0)
    assert (await product.noesis.uses.of([theirs]))[theirs].search == 1
    everybody = await stats_uses(admin, product)
    assert {each["id"] for each in everybody["most"]} == {mine, theirs}


async def test_an_administrators_search_is_no_use(
    alpha: httpx.AsyncClient, admin: httpx.AsyncClient, product: Product
) -> None:
    await index(alpha, "green tea")
    assert len((await search(admin, "green tea"))["hits"]) == 1
    assert (await stats_uses(alpha, product))["never"] == 1


async def test_a_database_that_fails_delays_no_answer_and_loses_no_count(
    alpha: httpx.AsyncClient, product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    tea = (await index(alpha, "green tea"))["id"]
    run = product.noesis.control.run

    async def locked(work: Any) -> Any:
        raise sa.exc.OperationalError("insert", {}, Exception("database is locked"))

    monkeypatch.setattr(product.noesis.control, "run", locked)
    assert len((await search(alpha, "green tea"))["hits"]) == 1
    await product.noesis.uses.flush()
    assert len((await search(alpha, "green tea"))["hits"]) == 1
    monkeypatch.setattr(product.noesis.control, "run", run)
    await product.noesis.uses.flush()
    assert (await product.noesis.uses.of([tea]))[tea].search == 2


async def test_they_are_written_by_themselves_and_at_the_end(product: Product) -> None:
    noesis = product.noesis
    alpha = await product.agent("alpha")
    tea = (await index(alpha, "green tea"))["id"]
    quick = Uses(noesis.control, noesis.store, noesis.now_ms, flush_after_s=0.01)
    quick.note([tea, "no such id"], "assemble")
    async with asyncio.timeout(10):
        written = await quick.of([tea])
        while not written:
            await asyncio.sleep(0.01)
            written = await quick.of([tea])
    slow = Uses(noesis.control, noesis.store, noesis.now_ms, flush_after_s=3600)
    slow.note([tea], "assemble")
    async with asyncio.timeout(10):
        await slow.close()
        await quick.close()
    assert (await quick.of([tea, "no such id"])) == {tea: Use(assemble=2, last_at=NOW)}


async def test_many_at_once_are_all_counted(product: Product) -> None:
    alpha = await product.agent("alpha")
    scope_ids = [(await index(alpha, f"memory {number}"))["id"] for number in range(12)]
    strangers = [f"stranger{number}" for number in range(1200)]
    product.noesis.uses.note([*strangers, *scope_ids], "recall")
    await product.noesis.uses.flush()
    assert set(await product.noesis.uses.of(scope_ids)) == set(scope_ids)
    assert await product.noesis.uses.used_ids(None) == set(scope_ids)


async def test_merged_and_purged_memories(alpha: httpx.AsyncClient, product: Product) -> None:
    tea, key = [(await index(alpha, text))["id"] for text in ("green tea", "spare key")]
    uses = product.noesis.uses
    uses.note([tea, key], "search")
    uses.note([key], "recall")
    await uses.merge([key], into=tea)
    assert await uses.of([tea, key]) == {tea: Use(search=2, recall=1, last_at=NOW)}
    await uses.drop([tea])
    assert await uses.of([tea, key]) == {}


@pytest.fixture
async def longer(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    """A product that renews lives on use."""
    environ = {"NOESIS_EXTEND_ON_USE": "true", "NOESIS_DEFAULT_TTL_DAYS": "10"}
    async with running(tmp_path, embedder=embedder, clock=clock, environ=environ) as product:
        yield product


async def days_left(product: Product, memory_id: str, clock: Clock) -> float:
    await product.noesis.uses.flush()
    about = equals(Column.PARENT_ID, memory_id)
    found = await product.noesis.store.active.values([Column.EXPIRES_AT], about)
    return float(found[0][0] - clock.now) / DAY_MS


async def test_a_memory_that_is_used_lives_longer(longer: Product, clock: Clock) -> None:
    alpha = await longer.agent("alpha")
    tea = (await index(alpha, "green tea"))["id"]
    clock.advance(days=4)
    await search(alpha, "green tea")
    assert await days_left(longer, tea, clock) == 6
    clock.advance(days=2)
    before = await get(alpha, tea)
    await search(alpha, "green tea")
    assert await days_left(longer, tea, clock) == 10
    after = await get(alpha, tea)
    assert {name for name in after if after[name] != before[name]} == {"expires_at"}
    history = (await alpha.get(f"{MEMORIES}/{tea}/history")).json()
    assert "use" in str(history)


async def test_unless_it_was_given_a_shorter_life_or_has_expired(longer: Product, clock: Clock) -> None:
    alpha = await longer.agent("alpha")
    short = (await index(alpha, "green tea", ttl_days=2))["id"]
    clock.advance(days=1.5)
    await search(alpha, "green tea")
    assert await days_left(longer, short, clock) == 0.5
    clock.advance(days=1)
    longer.noesis.uses.note([short], "search")
    assert await days_left(longer, short, clock) == -0.5


async def test_a_life_is_renewed_once_a_day(longer: Product, clock: Clock) -> None:
    """Also where lives are so short that half of one is over sooner."""
    alpha, admin = await longer.agent("alpha"), await longer.admin()
    await admin.patch("/api/v1/agents/alpha", json={"ttl_days": {"default": 0.5}})
    tea = (await index(alpha, "green tea"))["id"]
    clock.advance(days=0.3)
    await search(alpha, "green tea")
    assert await days_left(longer, tea, clock) == 0.5
    clock.advance(days=0.3)
    await search(alpha, "green tea")
    assert await days_left(longer, tea, clock) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("created", "expires", "days", "due"),
    [
        (-6, 4, 10, True),
        (-5, 5, 10, False),
        (-4, 6, 10, False),
        (-400, 4, 10, True),
        (-10, 0, 10, False),
        (-1, 1, 10, False),
        (-6, 4, 0, False),
        (-60, 30, 90, True),
    ],
)
def test_when_a_life_is_due(created: float, expires: float, days: float, due: bool) -> None:
    """Days from now; less than half of the type's life must be left, and it must have had one as long."""
    life = Life("id", "alpha", "fact", NOW + round(created * DAY_MS), NOW + round(expires * DAY_MS))
    assert is_due(life, days, NOW) is due


def test_what_never_expires_is_never_due() -> None:
    assert not is_due(Life("id", "alpha", "fact", NOW, NEVER), 10, NOW)
