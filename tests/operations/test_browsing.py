"""Recall and lists: newest first, nothing expired, every memory once."""

from __future__ import annotations

from typing import Any

import httpx

from tests.operations.expire import archive
from tests.operations.samples import bulk, index, listed, recall, search, texts, words
from tests.support import Clock, Product


async def test_recall_gives_the_newest_first_and_only_so_many(alpha: httpx.AsyncClient, clock: Clock) -> None:
    for number in range(25):
        clock.advance(seconds=1)
        await index(alpha, f"memory {number}")
    newest = [f"memory {number}" for number in range(24, -1, -1)]
    assert await recall(alpha) == newest[:20]
    assert await recall(alpha, limit=3) == newest[:3]
    assert await recall(alpha, limit=200) == newest


async def test_recall_goes_by_when_it_happened_not_by_when_it_was_stored(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "second", created_at="2026-02-02T00:00:00Z")
    await index(alpha, "third", created_at="2026-02-03T00:00:00+01:00")
    await index(alpha, "first", created_at="2026-02-01T00:00:00Z")
    assert await recall(alpha) == ["third", "second", "first"]


async def test_recall_of_a_session_gives_that_session_alone(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "one", session_id="a")
    await index(alpha, "two", session_id="ab")
    await index(alpha, "three")
    assert await recall(alpha, session_id="a") == ["one"]
    assert await recall(alpha, session_id="A") == []


async def test_an_expired_memory_is_gone_at_that_very_instant(alpha: httpx.AsyncClient, clock: Clock) -> None:
    """Before any clean-up has run, in every way of reading."""
    await index(alpha, "heron lives a day", ttl_days=1)
    await index(alpha, "heron lives for ever", ttl_days=0)
    clock.advance(days=1, seconds=-0.001)
    assert len(await recall(alpha)) == 2
    clock.advance(seconds=0.001)
    assert await recall(alpha) == ["heron lives for ever"]
    assert [memory["text"] for memory in await listed(alpha)] == ["heron lives for ever"]
    for mode in ("hybrid", "keyword", "vector"):
        assert texts(await search(alpha, "heron lives", mode=mode)) == ["heron lives for ever"]
    assert (await alpha.get("/api/v1/stats")).json()["active"]["memories"] == 1


async def test_a_ttl_of_a_part_of_a_day_is_kept_to_the_millisecond(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    await index(alpha, "a minute", ttl_days=1 / 1440)
    clock.advance(seconds=59.999)
    assert await recall(alpha) == ["a minute"]
    clock.advance(seconds=0.001)
    assert await recall(alpha) == []


async def test_paging_gives_every_memory_once_in_order(alpha: httpx.AsyncClient) -> None:
    """Also where many have the same time."""
    times = [f"2026-03-{1 + number % 5:02}T00:00:00Z" for number in range(53)]
    await bulk(alpha, [{"text": f"m {n}", "created_at": time} for n, time in enumerate(times)])
    for limit in (1, 7, 50, 53, 54):
        found = await listed(alpha, limit)
        assert len({memory["id"] for memory in found}) == len(found) == 53
        assert [memory["created_at"] for memory in found] == sorted(times, reverse=True)


async def test_paging_goes_on_where_it_was_when_memories_come_and_go(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    for number in range(10):
        clock.advance(seconds=1)
        await index(alpha, f"m {number}")
    first = (await alpha.get("/api/v1/memories", params={"limit": 4})).json()
    clock.advance(seconds=1)
    await index(alpha, "newer")
    for memory in (first["memories"][3], first["memories"][0]):
        await alpha.delete(f"/api/v1/memories/{memory['id']}")
    rest = await alpha.get("/api/v1/memories", params={"limit": 50, "cursor": first["cursor"]})
    assert texts(rest.json()) == [f"m {number}" for number in range(5, -1, -1)]
    assert rest.json()["cursor"] is None


STRANGE_CURSORS = ["", "x", "AAAA", "WzEsMl0", "eyJhIjoxfQ", "é", "a" * 10_000, "' OR 1=1"]


async def test_a_cursor_that_was_not_given_out_is_refused(alpha: httpx.AsyncClient) -> None:
    for cursor in STRANGE_CURSORS:
        reply = await alpha.get("/api/v1/memories", params={"cursor": cursor})
        assert (reply.status_code, reply.json()["field"]) == (400, "cursor")


async def test_each_filter_of_a_list_does_what_it_says(alpha: httpx.AsyncClient) -> None:
    """The later bound is left out, the earlier one is not."""
    await index(alpha, "one", memory_type="decision", tags=["x", "y"], session_id="s", source="a.md")
    await index(alpha, "two", tags=["xy"], created_at="2026-01-01T00:00:00Z")
    await index(alpha, "three", tags=["y"], created_at="2026-01-02T00:00:00Z", source="b.md")
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"memory_type": "decision"}, {"one"}),
        ({"tag": "y"}, {"one", "three"}),
        ({"tag": "xy"}, {"two"}),
        ({"tag": "Y"}, set()),
        ({"session_id": "s"}, {"one"}),
        ({"source": "a.md"}, {"one"}),
        ({"source": "a"}, set()),
        ({"after": "2026-01-02T00:00:00Z"}, {"one", "three"}),
        ({"before": "2026-01-02T00:00:00Z"}, {"two"}),
        ({"after": "2026-01-01T00:00:00Z", "before": "2026-01-02T00:00:00Z"}, {"two"}),
        ({"agent_id": "alpha"}, {"one", "two", "three"}),
        ({"tag": "y", "source": "b.md"}, {"three"}),
    ]
    for params, expected in cases:
        assert {memory["text"] for memory in await listed(alpha, **params)} == expected, params


async def test_archived_memories_are_in_no_list_of_the_living(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    first = await index(alpha, "old")
    await index(alpha, "young")
    await archive(product, first["id"])
    assert [memory["text"] for memory in await listed(alpha)] == ["young"]
    assert await recall(alpha) == ["young"]


async def test_a_memory_of_many_chunks_is_listed_once_and_whole(alpha: httpx.AsyncClient) -> None:
    await index(alpha, words(1500))
    await index(alpha, "short")
    found = await listed(alpha, limit=1)
    assert {memory["text"] for memory in found} == {words(1500), "short"}
    assert len(found) == 2
