"""The watcher and the worker together: what is written to a followed folder is remembered soon after."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.tasks import end_tasks
from noesis.worker import run_worker
from noesis.worker.following import Pace, follow_sources
from noesis.worker.tasks import HANDLERS
from noesis.worker.worker import WorkerOptions
from tests.support import Clock, Product, WordEmbedder, running

QUICK = Pace(debounce_s=0.05, hand_over_s=0.05, sign_s=0.2, places_s=0.3, rest_s=0.1)
EAGER = WorkerOptions(poll_s=0.05, poll_alone_s=0.05, beat_s=0.2, grace_s=1.0)
SOON_S = 30.0


def note(subject: str) -> str:
    return (
        f"# About {subject}\n\nThe {subject} lies where it was left last autumn, behind the long shed by the water,"
        f" and somebody has to look after the {subject} before the first storm of the winter comes.\n"
    )


@asynccontextmanager
async def at_work(product: Product) -> AsyncIterator[None]:
    """A worker and its watcher."""
    stop = asyncio.Event()
    noesis = product.noesis
    worker = asyncio.create_task(run_worker(HANDLERS, noesis.jobs, runtime=noesis, stop=stop, options=EAGER))
    watcher = asyncio.create_task(follow_sources(noesis, QUICK))
    try:
        yield
    finally:
        await end_tasks([watcher])
        stop.set()
        await worker


async def soon(
    client: httpx.AsyncClient, wanted: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    """The agent's memories as soon as they are as wanted."""
    async with asyncio.timeout(SOON_S):
        while True:
            found: list[dict[str, Any]] = (await client.get("/api/v1/memories?limit=200")).json()["memories"]
            if wanted(found):
                return found
            await asyncio.sleep(0.05)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of whom a product on `data` follows."""
    return tmp_path / "data-home"


async def test_an_added_folder_is_read_and_followed(product: Product, tmp_path: Path) -> None:
    alpha, admin = await product.agent("alpha"), await product.admin()
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text(note("boat"))
    async with at_work(product):
        answer = await admin.post("/api/v1/sources", json={"agent_id": "alpha", "path": str(folder)})
        assert answer.status_code == 201
        await soon(alpha, lambda found: len(found) == 1)
        (folder / "deep").mkdir()
        (folder / "deep" / "b.md").write_text(note("van"))
        await soon(alpha, lambda found: len(found) == 2)
        (folder / "a.md").write_text(note("boat").replace("autumn", "spring"))
        await soon(alpha, lambda found: any("last spring" in memory["text"] for memory in found))
        (folder / "a.md").unlink()
        await soon(alpha, lambda found: [memory["source"] for memory in found] == ["notes/deep/b.md"])
        fresh = (await alpha.get("/api/v1/freshness")).json()
        assert (fresh["clean"], fresh["watcher"]["mode"]) == (True, "events")
        assert fresh["watcher"]["seen_at"] is not None


async def test_what_openclaw_writes_is_found_without_being_told(product: Product) -> None:
    main = await product.agent("main")
    data = product.noesis.settings.data_dir
    home = data.with_name(f"{data.name}-home")
    workspace = home / ".openclaw" / "workspace"
    sessions = home / ".openclaw" / "agents" / "main" / "sessions"
    for folder in (workspace, sessions):
        folder.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text(note("boat"))
    (workspace / "draft.md").write_text(note("secret draft"))
    async with at_work(product):
        await soon(main, lambda found: [memory["source"] for memory in found] == ["workspace/MEMORY.md"])
        head = {"type": "session", "version": 3, "id": "talk", "timestamp": "2026-05-01T09:00:00Z"}
        message = {"role": "user", "content": [{"type": "text", "text": "We decided to sell the blue van."}]}
        said = {"type": "message", "id": "e1", "timestamp": "2026-05-01T10:00:00Z", "message": message}
        (sessions / "talk.jsonl").write_text(json.dumps(head) + "\n" + json.dumps(said) + "\n")
        found = await soon(main, lambda found: len(found) == 2)
        assert {memory["memory_type"] for memory in found} == {"fact", "decision"}
        (workspace / "memory").mkdir()
        (workspace / "memory" / "2026-05-02.md").write_text(note("day"))
        await soon(main, lambda found: len(found) == 3)


@pytest.mark.parametrize(
    ("setting", "followed"),
    [
        ({"NOESIS_WATCH_MEMORY_DIRS": "false"}, {"transcripts"}),
        ({"NOESIS_INDEX_SESSIONS": "false"}, {"markdown"}),
        ({"NOESIS_WATCH_MEMORY_DIRS": "off", "NOESIS_INDEX_SESSIONS": "off"}, set()),
    ],
)
async def test_each_watcher_can_be_switched_off(
    tmp_path: Path, home: Path, setting: dict[str, str], followed: set[str]
) -> None:
    (home / ".openclaw" / "workspace").mkdir(parents=True)
    (home / ".openclaw" / "agents" / "main" / "sessions").mkdir(parents=True)
    async with running(tmp_path / "data", clock=Clock(), environ=setting) as product:
        roots = await product.noesis.inflow.following.followed()
        assert {root.kind for root in roots} == followed
        # What is not followed is nothing that memory could be behind.
        fresh = (await (await product.agent("main")).get("/api/v1/freshness")).json()
        assert {each["source"]["kind"] for each in fresh["sources"]} == followed
        part = next(part for part in (await product.noesis.health.report()).parts if part.name == "sources")
        assert (part.state == "ok") is not bool(followed)


async def test_switched_off_the_files_are_read_once_at_the_start_when_told_so(
    tmp_path: Path, home: Path
) -> None:
    workspace = home / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "MEMORY.md").write_text(note("boat"))
    off = {"NOESIS_WATCH_MEMORY_DIRS": "off", "NOESIS_INDEX_SESSIONS": "off", "NOESIS_AUTO_MIGRATE": "on"}
    async with running(tmp_path / "data", embedder=WordEmbedder(), environ=off) as product, at_work(product):
        await soon(await product.agent("main"), lambda found: len(found) == 1)


async def test_by_polling_changes_are_noticed_without_events(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    async with (
        running(tmp_path / "data", environ={"NOESIS_WATCH_POLLING": "true"}) as product,
        at_work(product),
    ):
        admin, alpha = await product.admin(), await product.agent("alpha")
        await admin.post("/api/v1/sources", json={"agent_id": "alpha", "path": str(folder)})
        (folder / "a.md").write_text(note("boat"))
        await soon(alpha, lambda found: len(found) == 1)
        (folder / "b.md").write_text(note("van"))
        await soon(alpha, lambda found: len(found) == 2)
        watcher = (await alpha.get("/api/v1/freshness")).json()["watcher"]
        assert watcher["mode"] == "polling"


async def test_without_a_worker_nothing_is_called_watched(product: Product, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    await product.noesis.inflow.following.add("alpha", str(tmp_path / "notes"))
    health = await product.noesis.health.report()
    part = next(part for part in health.parts if part.name == "sources")
    assert part.state == "degraded"
    assert part.summary.startswith("Changes are not noticed.")


async def test_a_root_that_comes_later_is_read_when_it_is_there(product: Product, tmp_path: Path) -> None:
    alpha = await product.agent("alpha")
    folder = tmp_path / "mounted"
    folder.mkdir()
    (folder / "a.md").write_text(note("boat"))
    await product.noesis.inflow.following.add("alpha", str(folder))
    folder.rename(tmp_path / "aside")
    async with at_work(product):
        await asyncio.sleep(0.5)
        (tmp_path / "aside").rename(folder)
        await soon(alpha, lambda found: len(found) == 1)
