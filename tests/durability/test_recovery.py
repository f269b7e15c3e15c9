"""After the loss of everything that was not synced, the newest readable version is found, and it is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from noesis.errors import StoreError
from noesis.memory import MemoryFilter, NewMemory, Scope
from tests.support import Product, running

ALPHA = Scope(agent="alpha")


def newest_manifest(data: Path) -> Path:
    """The newest manifest of the active table: names count down."""
    return min((data / "generations/0001/memories.lance/_versions").glob("*.manifest"))


async def texts(product: Product) -> set[str]:
    found = await product.noesis.browsing.page(ALPHA, MemoryFilter(), limit=100)
    return {memory.text for memory in found.memories}


async def write(data: Path, *new: str) -> None:
    async with running(data) as product:
        for text in new:
            await product.noesis.indexing.index(ALPHA, NewMemory(text=text))


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A store with two memories, then a third commit that is going to be damaged."""
    await write(tmp_path, "one", "two")
    return tmp_path


async def commit_unsynced(data: Path) -> list[Path]:
    """Write a third memory; the files that came with it."""
    before = set(data.rglob("*.lance"))
    await write(data, "three")
    return sorted(path for path in set(data.rglob("*.lance")) - before if path.is_file())


@pytest.mark.parametrize(
    "damage", ["manifest empty", "manifest cut", "data gone", "data empty", "data zeros"]
)
async def test_an_unsynced_commit_is_left_behind_and_said(data: Path, damage: str) -> None:
    files = await commit_unsynced(data)
    manifest = newest_manifest(data)
    match damage:
        case "manifest empty":
            manifest.write_bytes(b"")
        case "manifest cut":
            manifest.write_bytes(manifest.read_bytes()[:40])
        case "data gone":
            for path in files:
                path.unlink()
        case "data empty":
            for path in files:
                path.write_bytes(b"")
        case _:
            for path in files:
                path.write_bytes(bytes(path.stat().st_size))
    async with running(data) as product:
        assert await texts(product) == {"one", "two"}
        report = await product.noesis.health.report()
        store = next(part for part in report.parts if part.name == "store")
        assert store.state == "degraded"
        assert "could not be read" in store.summary
        await product.noesis.indexing.index(ALPHA, NewMemory(text="four"))
        assert await texts(product) == {"one", "two", "four"}
    assert list((data / "quarantine").iterdir()), "the manifest is kept"
    async with running(data) as product:
        assert await texts(product) == {"one", "two", "four"}
        store = next(part for part in (await product.noesis.health.report()).parts if part.name == "store")
        assert store.state == "degraded", "the next process tells of it as well"


async def test_a_store_with_no_readable_version_is_not_touched(data: Path) -> None:
    versions = data / "generations/0001/memories.lance/_versions"
    names = {path.name for path in versions.glob("*.manifest")}
    for path in (data / "generations/0001/memories.lance/data").iterdir():
        path.write_bytes(b"")
    for manifest in versions.glob("*.manifest"):
        manifest.write_bytes(b"")
    with pytest.raises(StoreError, match="No version"):
        async with running(data):
            pass
    assert {path.name for path in versions.glob("*.manifest")} == names


async def test_a_garbled_version_hint_does_not_matter(data: Path) -> None:
    (data / "generations/0001/memories.lance/_versions/latest_version_hint.json").write_bytes(b"\x00garbage")
    async with running(data) as product:
        assert await texts(product) == {"one", "two"}


async def test_what_a_kill_left_half_written_is_cleared_away(data: Path) -> None:
    left = data / "generations/0001/memories.lance/data/half.lance#1"
    left.write_bytes(b"half")
    shutil.copy(newest_manifest(data), str(newest_manifest(data)) + "#3")
    async with running(data) as product:
        assert await texts(product) == {"one", "two"}
    assert not left.exists()
    assert not list(data.rglob("*#*"))
