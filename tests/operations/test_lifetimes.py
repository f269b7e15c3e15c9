"""How long memories live: by what a caller says, else by the agent's policy, else by the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.errors import SettingsError
from noesis.settings import load
from tests.operations.samples import MEMORIES, get, index, listed, recall, search, texts
from tests.support import Clock, Product, WordEmbedder, running

DAY_S = 86_400


@pytest.fixture
async def product(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    environ = {"NOESIS_DEFAULT_TTL_DAYS": "10", "NOESIS_TTL_DAYS_BY_TYPE": "session=0.5, decision=0"}
    async with running(tmp_path, embedder=embedder, clock=clock, environ=environ) as opened:
        yield opened


def days(memory: dict[str, Any]) -> float | None:
    """The life that a memory got when it was last given one, None when it never expires."""
    if memory["expires_at"] is None:
        return None
    ends, began = (datetime.fromisoformat(memory[name]) for name in ("expires_at", "updated_at"))
    return (ends - began).total_seconds() / DAY_S


async def life(client: httpx.AsyncClient, memory_type: str, **values: Any) -> float | None:
    stored = await index(client, f"{memory_type} {values}", memory_type=memory_type, **values)
    return days(await get(client, stored["id"]))


async def test_a_type_has_its_own_life_and_all_others_the_default(alpha: httpx.AsyncClient) -> None:
    lives = [await life(alpha, kind) for kind in ("fact", "decision", "session")]
    assert lives == [10, None, 0.5]


async def test_what_the_caller_says_counts_most(alpha: httpx.AsyncClient) -> None:
    lives = [await life(alpha, kind, ttl_days=1.25) for kind in ("fact", "decision", "session")]
    assert lives == [1.25, 1.25, 1.25]
    assert await life(alpha, "session", ttl_days=0) is None


async def test_an_agents_policy_counts_before_the_settings_and_for_it_alone(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    wanted = {"default": 3, "decision": 40.5}
    reply = await admin.patch("/api/v1/agents/alpha", json={"ttl_days": wanted})
    assert reply.json()["ttl_days"] == wanted
    assert [await life(alpha, kind) for kind in ("fact", "decision", "session")] == [3, 40.5, 3]
    assert [await life(beta, kind) for kind in ("fact", "decision", "session")] == [10, None, 0.5]
    shown = {each["agent"]: each["ttl_days"] for each in (await admin.get("/api/v1/agents")).json()["agents"]}
    assert shown == {"alpha": wanted, "beta": {}}
    await admin.patch("/api/v1/agents/alpha", json={"ttl_days": None})
    assert await life(alpha, "session", tags=["again"]) == 0.5


@pytest.mark.parametrize("lives", [{"fact": -1}, {"fact": 36501}, {"facts": 1}, {"default": 1e300}])
async def test_a_policy_with_no_possible_life_is_refused(
    admin: httpx.AsyncClient, lives: dict[str, float]
) -> None:
    reply = await admin.patch("/api/v1/agents/alpha", json={"ttl_days": lives})
    assert (reply.status_code, reply.json()["field"]) == (400, "ttl_days")


@pytest.mark.parametrize(
    "raw",
    ["session", "session=", "sessions=1", "fact=-1", "fact=nan", "fact=inf", "fact=1,fact=2", "fact=36501"],
)
def test_a_setting_with_no_possible_life_stops_the_start_and_is_named(raw: str) -> None:
    with pytest.raises(SettingsError, match="NOESIS_TTL_DAYS_BY_TYPE"):
        load({"NOESIS_TTL_DAYS_BY_TYPE": raw})


@pytest.mark.parametrize("raw", ["-1", "nan", "inf", "36501", "soon"])
def test_a_default_that_is_no_life_stops_the_start_and_is_named(raw: str) -> None:
    for name in ("NOESIS_DEFAULT_TTL_DAYS", "NOESIS_ARCHIVE_TTL_DAYS", "NOESIS_DELETED_KEEP_DAYS"):
        with pytest.raises(SettingsError, match=name):
            load({name: raw})


async def test_a_pinned_memory_never_expires_and_an_unpinned_one_has_the_life_of_its_type(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    stored = (await index(alpha, "the spare key", memory_type="session"))["id"]
    assert days((await alpha.patch(f"{MEMORIES}/{stored}", json={"pinned": True})).json()) is None
    clock.advance(days=400)
    assert await recall(alpha) == ["the spare key"]
    assert days((await alpha.patch(f"{MEMORIES}/{stored}", json={"pinned": False})).json()) == 0.5
    clock.advance(days=0.5)
    assert await recall(alpha) == []


async def test_unpinning_what_is_not_pinned_leaves_its_life(alpha: httpx.AsyncClient, clock: Clock) -> None:
    stored = (await index(alpha, "the spare key", ttl_days=4))["id"]
    before = (await get(alpha, stored))["expires_at"]
    clock.advance(days=1)
    reply = await alpha.patch(f"{MEMORIES}/{stored}", json={"pinned": False})
    assert reply.json()["expires_at"] == before


async def test_unpinning_with_another_type_gives_the_life_of_that_type(alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, "the spare key", ttl_days=0))["id"]
    change = {"pinned": False, "memory_type": "session"}
    assert days((await alpha.patch(f"{MEMORIES}/{stored}", json=change)).json()) == 0.5


async def test_a_pin_and_a_ttl_at_once_are_refused(alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, "the spare key"))["id"]
    reply = await alpha.patch(f"{MEMORIES}/{stored}", json={"pinned": True, "ttl_days": 3})
    assert (reply.status_code, reply.json()["field"]) == (400, "pinned")


async def test_a_memory_that_is_brought_back_too_late_has_the_life_of_its_type(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    stored = (await index(alpha, "the spare key", memory_type="session"))["id"]
    await alpha.delete(f"{MEMORIES}/{stored}")
    clock.advance(days=2)
    assert days((await alpha.post(f"{MEMORIES}/{stored}/undelete")).json()) == 0.5


async def test_expired_is_gone_from_every_active_answer_at_that_instant(
    product: Product, alpha: httpx.AsyncClient, admin: httpx.AsyncClient, clock: Clock
) -> None:
    """Although no cleanup has run: search, recall, list and stats, the agent's own and the administrator's."""
    await index(alpha, "heron lives a day", ttl_days=1)
    await index(alpha, "heron lives on", ttl_days=0)

    async def answers() -> list[object]:
        kept = {"archive": "never"}
        found = [
            texts(await search(alpha, "heron", mode=mode, **kept)) for mode in ("hybrid", "vector", "keyword")
        ]
        stats = [
            (await client.get("/api/v1/stats")).json()["active"]["memories"] for client in (alpha, admin)
        ]
        lists = [[memory["text"] for memory in await listed(client)] for client in (alpha, admin)]
        return [sorted(each) for each in (*found, *lists, await recall(alpha))] + stats

    both, one = ["heron lives a day", "heron lives on"], ["heron lives on"]
    clock.advance(seconds=DAY_S - 0.001)
    assert await answers() == [both] * 6 + [2, 2]
    clock.advance(seconds=0.001)
    assert await answers() == [one] * 6 + [1, 1]
