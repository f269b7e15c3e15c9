"""A disk that is full or cannot be written: a clear 507, nothing half done, reading goes on."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from noesis.errors import SettingsError, StoreFull, StoreReadOnly
from noesis.store import Store
from noesis.store.filters import EVERYTHING
from tests.store.changes import Drop, Put
from tests.store.rows import content, make_row
from tests.support import NOW, Clock, running


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with 6 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if _mount("-t", "tmpfs", "-o", "size=6m", "none", str(place)) != 0:
        pytest.skip("no-mount: mounting a tmpfs needs CAP_SYS_ADMIN")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def _mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], stderr=subprocess.DEVNULL, check=False).returncode


def fill_up(place: Path) -> Path:
    """Leave no byte."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    return ballast


async def write_until_full(store: Store) -> list[str]:
    """The ids of the rows that were acknowledged."""
    stored: list[str] = []
    for number in range(1000):
        try:
            stored += [await store.submit(Put(make_row(number, text=f"{number} " + "long text " * 5000)))]
        except StoreFull:
            return stored
    raise AssertionError("the disk was never full")


async def test_a_full_disk_is_said_and_nothing_acknowledged_is_lost(small_disk: Path) -> None:
    store = await Store.open(small_disk / "store", now_ms=lambda: NOW)
    stored = await write_until_full(store)
    assert stored
    assert set(stored) <= set((await content(store))["active"])
    assert await store.active.damaged() == []
    rows, _ = await store.active.matching("long", EVERYTHING, 3)
    assert len(rows) == min(3, len(stored))
    with pytest.raises(StoreFull):
        await store.submit(Put(make_row(2000, text="long text " * 5000)))
    await store.close()

    again = await Store.open(small_disk / "store", now_ms=lambda: NOW)
    assert set(stored) <= set((await content(again))["active"])
    await again.close()


async def test_writing_goes_on_when_there_is_room_again(small_disk: Path) -> None:
    store = await Store.open(small_disk / "store", now_ms=lambda: NOW)
    await store.submit(Put(make_row(1)))
    ballast = fill_up(small_disk)
    for change in (Put(make_row(2)), Put(make_row(1, priority=99)), Drop(make_row(1).id)):
        with pytest.raises(StoreFull):
            await store.submit(change)
    assert [row.priority for row in await store.active.rows(EVERYTHING)] == [30]
    ballast.unlink()
    await store.submit(Put(make_row(2)))
    await store.submit(Drop(make_row(1).id))
    assert set((await content(store))["active"]) == {make_row(2).id}
    await store.close()


async def ask(client: httpx.AsyncClient) -> dict[str, int]:
    """The status of each kind of request."""
    requests = {
        "index": ("POST", "/api/v1/memories", {"text": "a new heron"}),
        "search": ("POST", "/api/v1/search", {"query": "heron"}),
        "recall": ("POST", "/api/v1/recall", {}),
        "list": ("GET", "/api/v1/memories", None),
        "stats": ("GET", "/api/v1/stats", None),
        "health": ("GET", "/health", None),
        "ready": ("GET", "/health/ready", None),
        "forbidden": ("GET", "/api/v1/tokens", None),
    }
    return {
        name: (await client.request(method, path, json=body)).status_code
        for name, (method, path, body) in requests.items()
    }


WELL = {"search": 200, "recall": 200, "list": 200, "stats": 200, "health": 200, "ready": 200}


async def test_over_http_a_full_disk_is_507_for_writers_alone(small_disk: Path, clock: Clock) -> None:
    """Also for a token whose last use should be noted, and for a refusal that should be recorded."""
    async with running(small_disk / "data", clock=clock) as product:
        client = await product.agent("alpha")
        assert (await client.post("/api/v1/memories", json={"text": "the heron"})).status_code == 201
        ballast = fill_up(small_disk)
        await asyncio.sleep(1.05)  # a token is looked up again after a second
        clock.advance(days=1)
        assert await ask(client) == {**WELL, "index": 507, "forbidden": 507}
        reply = await client.post("/api/v1/memories", json={"text": "another heron"})
        assert reply.json()["code"] == "store_full"
        ballast.unlink()
        assert await ask(client) == {**WELL, "index": 201, "forbidden": 403}


async def test_a_disk_that_became_read_only_refuses_writers_alone(small_disk: Path) -> None:
    store = await Store.open(small_disk / "store", now_ms=lambda: NOW)
    await store.submit(Put(make_row(1, text="the heron")))
    assert _mount("-o", "remount,ro", str(small_disk)) == 0
    for change in (Put(make_row(2)), Put(make_row(1, priority=99)), Drop(make_row(1).id)):
        with pytest.raises(StoreReadOnly):
            await store.submit(change)
    rows, _ = await store.active.matching("heron", EVERYTHING, 3)
    assert [row.priority for row in rows] == [30]
    other = await Store.open(small_disk / "store", now_ms=lambda: NOW)
    assert len((await content(other))["active"]) == 1
    await other.close()
    assert _mount("-o", "remount,rw", str(small_disk)) == 0
    await store.submit(Put(make_row(2)))
    assert len((await content(store))["active"]) == 2
    await store.close()


async def test_the_product_does_not_start_where_it_cannot_write(small_disk: Path) -> None:
    """With the reason and not with a traceback, whether or not there was something already."""
    async with running(small_disk / "data"):
        pass
    assert _mount("-o", "remount,ro", str(small_disk)) == 0
    for name in ("data", "new"):
        with pytest.raises((StoreReadOnly, SettingsError)):
            async with running(small_disk / name):
                pass


async def test_a_store_on_a_disk_that_cannot_be_written_says_so(small_disk: Path) -> None:
    assert _mount("-o", "remount,ro", str(small_disk)) == 0
    with pytest.raises(StoreReadOnly):
        await Store.open(small_disk / "store", now_ms=lambda: NOW)
