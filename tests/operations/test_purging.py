"""What is purged is gone from both tables and from every index, and only what is still meant is purged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from noesis.memory import Scope
from noesis.purging import PurgeChange
from noesis.store import Row
from noesis.store.filters import EVERYTHING
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, bulk, index, listed, recall, search, texts
from tests.operations.test_mirroring import SECTIONS, text_of
from tests.support import Clock, Product, running

TEXT = "The staging database is called heron-2"


def always(_row: Row) -> bool:
    return True


async def test_a_purged_memory_is_found_nowhere(product: Product, alpha: httpx.AsyncClient) -> None:
    active, archived = (await index(alpha, TEXT))["id"], (await index(alpha, "Herons nest early"))["id"]
    await archive(product, archived)
    for memory_id in (active, archived):
        assert await product.noesis.store.submit(PurgeChange(Scope("alpha"), memory_id, "test", always))
        assert (await alpha.get(f"{MEMORIES}/{memory_id}")).status_code == 404
    for mode in ("keyword", "vector"):
        assert texts(await search(alpha, "heron", mode=mode, archive="always")) == []


async def test_a_memory_is_purged_once(product: Product, alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, TEXT))["id"]
    change = PurgeChange(None, stored, "test", always)
    assert await product.noesis.store.submit(change)
    assert not await product.noesis.store.submit(change)


async def test_another_agents_memory_is_not_purged(product: Product, alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, TEXT))["id"]
    assert not await product.noesis.store.submit(PurgeChange(Scope("beta"), stored, "test", always))
    assert (await alpha.get(f"{MEMORIES}/{stored}")).status_code == 200


async def test_a_memory_that_is_meant_no_longer_is_kept(product: Product, alpha: httpx.AsyncClient) -> None:
    stored = (await index(alpha, TEXT))["id"]
    seen: list[Row] = []

    def still_archived(row: Row) -> bool:
        seen.append(row)
        return row.archived_at is not None

    change = PurgeChange(None, stored, "test", still_archived)
    assert not await product.noesis.store.submit(change)
    await archive(product, stored)
    assert await product.noesis.store.submit(change)
    assert [row.parent_id for row in seen] == [stored, stored]


@pytest.fixture
async def short(tmp_path: Path, clock: Clock) -> AsyncIterator[Product]:
    """The archive keeps for ten days, and what was deleted for five."""
    environ = {"NOESIS_ARCHIVE_TTL_DAYS": "10", "NOESIS_DELETED_KEEP_DAYS": "5"}
    async with running(tmp_path / "short", clock=clock, environ=environ) as opened:
        yield opened


async def left(product: Product) -> set[str]:
    return {row.parent_id for row in await product.noesis.store.archive.rows(EVERYTHING)}


async def test_the_archive_is_purged_after_its_ttl_and_what_was_deleted_after_its_own(
    short: Product, clock: Clock
) -> None:
    alpha = await short.agent("alpha")
    expired, deleted = (await index(alpha, "herons expire"))["id"], (await index(alpha, "herons go"))["id"]
    await archive(short, expired)
    await alpha.delete(f"{MEMORIES}/{deleted}")
    cleaning = short.noesis.retention.cleaning
    clock.advance(days=5, seconds=-0.001)
    assert (await cleaning.run(None)).purged == 0
    clock.advance(seconds=0.001)
    assert (await cleaning.plan(None)).purge == 1
    assert (await cleaning.run(None)).purged == 1
    assert await left(short) == {expired}
    assert (await alpha.post(f"{MEMORIES}/{deleted}/undelete")).status_code == 404
    clock.advance(days=5, seconds=-0.001)
    assert (await cleaning.run(None)).purged == 0
    clock.advance(seconds=0.001)
    assert (await cleaning.run(None)).purged == 1
    assert await left(short) == set()
    for mode in ("keyword", "vector"):
        assert texts(await search(alpha, "herons", mode=mode, archive="always")) == []
    lines = [(line.actor, line.action, line.target) for line in await short.noesis.audit.newest(9)]
    assert lines.count(("cleanup", "purged", "1 memories of the archive")) == 2


async def test_what_was_brought_back_is_not_purged_and_begins_anew_when_it_comes_again(
    short: Product, clock: Clock
) -> None:
    alpha = await short.agent("alpha")
    stored = (await index(alpha, "herons expire"))["id"]
    await archive(short, stored)
    clock.advance(days=9)
    await alpha.post("/api/v1/archive/restore", json={"ids": [stored], "ttl_days": 1})
    clock.advance(days=1)
    done = await short.noesis.retention.cleaning.run(None)
    assert (done.archived, done.purged) == (1, 0)
    clock.advance(days=9)
    assert (await short.noesis.retention.cleaning.run(None)).purged == 0


async def test_0_keeps_for_ever(tmp_path: Path, clock: Clock) -> None:
    environ = {"NOESIS_ARCHIVE_TTL_DAYS": "0", "NOESIS_DELETED_KEEP_DAYS": "0"}
    async with running(tmp_path / "ever", clock=clock, environ=environ) as product:
        alpha = await product.agent("alpha")
        await archive(product, (await index(alpha, "one"))["id"])
        await alpha.delete(f"{MEMORIES}/{(await index(alpha, 'two'))['id']}")
        clock.advance(days=20_000)
        assert (await product.noesis.retention.cleaning.run(None, confirm=True)).purged == 0
        assert len(await left(product)) == 2
        assert (await alpha.get("/api/v1/archive/expiring")).json()["memories"] == []


async def test_the_preview_names_what_goes_next_and_when(short: Product, clock: Clock) -> None:
    alpha = await short.agent("alpha")
    for number, text in enumerate(("first", "second", "third")):
        stored = (await index(alpha, text))["id"]
        if number == 2:
            await alpha.delete(f"{MEMORIES}/{stored}")
        else:
            await archive(short, stored)
        clock.advance(days=1)
    answer = (await alpha.get("/api/v1/archive/expiring")).json()
    assert (answer["archive_ttl_days"], answer["deleted_keep_days"]) == (10, 5)
    told = [(each["memory"]["text"], each["purge_at"][:10]) for each in answer["memories"]]
    assert told == [("third", "2026-06-04"), ("first", "2026-06-07"), ("second", "2026-06-08")]
    few = (await alpha.get("/api/v1/archive/expiring?limit=1")).json()["memories"]
    assert [each["memory"]["text"] for each in few] == ["third"]


async def test_a_large_share_of_an_archive_waits_for_a_word(short: Product, clock: Clock) -> None:
    alpha = await short.agent("alpha")
    answers = await bulk(alpha, [{"text": f"heron {number}", "ttl_days": 0.5} for number in range(30)])
    clock.advance(days=1)
    cleaning = short.noesis.retention.cleaning
    await cleaning.run(None, confirm=True)
    clock.advance(days=10)
    done = await cleaning.run(None)
    assert (done.state, done.purged, done.held_purge) == ("needs confirmation", 0, 30)
    assert await left(short) == {answer["id"] for answer in answers}
    assert (await cleaning.run(None, confirm=True)).purged == 30


async def test_a_clock_that_jumped_purges_nothing(short: Product, clock: Clock) -> None:
    alpha = await short.agent("alpha")
    await archive(short, (await index(alpha, "heron"))["id"])
    await short.noesis.retention.cleaning.run(None)
    clock.advance(days=3652)
    done = await short.noesis.retention.cleaning.run(None)
    assert (done.state, done.purged, done.held_purge) == ("needs confirmation", 0, 1)
    assert len(await left(short)) == 1


async def test_a_deleted_memory_that_its_file_still_holds_is_kept_so_that_it_stays_away(
    tmp_path: Path, clock: Clock
) -> None:
    """Without its row, the next look at the file would make it anew."""
    notes = tmp_path / "notes"
    notes.mkdir()
    boats, keys, _ = (text_of({title: body}) for title, body in SECTIONS.items())
    file = notes / "note.md"
    file.write_text(boats + keys)
    async with running(tmp_path / "data", clock=clock) as product:
        noesis, alpha = product.noesis, await product.agent("alpha")
        root = await noesis.inflow.following.add("alpha", str(notes))

        async def scan() -> list[str]:
            clock.advance(seconds=5)
            await noesis.inflow.scanning.scan(root.key, lambda _done, _total: None, lambda: False)
            return [text.splitlines()[0] for text in await recall(alpha)]

        assert sorted(await scan()) == ["# Boats", "# Keys"]
        (boat,) = [m["id"] for m in await listed(alpha) if m["text"].startswith("# Boats")]
        await alpha.delete(f"{MEMORIES}/{boat}")
        clock.advance(days=31)
        assert (await noesis.retention.cleaning.run(None, confirm=True)).purged == 0
        assert (await alpha.get("/api/v1/archive/expiring")).json()["memories"] == []
        file.write_text(boats + keys.replace("back", "front"))
        assert await scan() == ["# Keys"]
        file.write_text(keys)
        assert await scan() == ["# Keys"]
        assert (await noesis.retention.cleaning.run(None, confirm=True)).purged == 1
        assert await left(product) == set()


async def test_nothing_is_kept_of_what_was_purged(short: Product, clock: Clock) -> None:
    """Its links and its counts of use go with it."""
    alpha = await short.agent("alpha")
    old, new = (await index(alpha, "the old heron"))["id"], (await index(alpha, "the new heron"))["id"]
    await alpha.post(f"{MEMORIES}/{old}/supersede", json={"by": new})
    noesis = short.noesis
    await noesis.uses.flush()
    await archive(short, old)
    clock.advance(days=10)
    assert (await noesis.retention.cleaning.run(None)).purged == 1
    assert await noesis.superseding.links([old, new]) == []
    assert await noesis.uses.of([old]) == {}
