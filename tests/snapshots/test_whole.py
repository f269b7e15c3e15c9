"""The product's own snapshots: pushed, fetched on another machine, restored, and without what lets people in."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from noesis.errors import BackupRefused, Conflict
from noesis.memory import MemoryFilter, NewMemory, Role, Scope
from noesis.runtime import Noesis
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS, crons
from tests.support import Clock, WordEmbedder, running

ADMIN = Scope(agent=None, role=Role.ADMIN)


def quiet(_done: int, _total: int | None) -> None:
    """Progress that nobody follows."""


def bare(path: Path) -> str:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return str(path)


async def remember(noesis: Noesis, *texts: str) -> list[str]:
    return [(await noesis.indexing.index(Scope("planner"), NewMemory(text=text))).id for text in texts]


async def texts(noesis: Noesis) -> set[str]:
    page = await noesis.browsing.page(ADMIN, MemoryFilter(), limit=200)
    return {memory.text for memory in page.memories}


async def test_a_snapshot_restores_on_an_empty_machine(
    tmp_path: Path, embedder: WordEmbedder, clock: Clock
) -> None:
    environ = {
        "NOESIS_GIT_LFS_ENABLED": "true",
        "NOESIS_GIT_LFS_REPO": await asyncio.to_thread(bare, tmp_path / "remote.git"),
    }
    async with running(tmp_path / "one", embedder=embedder, clock=clock, environ=environ) as first:
        noesis = first.noesis
        await remember(noesis, "The heron comes in the morning.", "The boat lies in the shed.")
        await noesis.tokens.create(Role.GATEWAY, ["*"], "the gateway's")
        await noesis.admin.set_password("a long enough sentence")
        taken = await noesis.snapshots.take(quiet)
        assert (taken.memories, taken.branch) == (2, "main")
        await remember(noesis, "Said after the snapshot.")
        # What lies in the folder is Git's alone: no link keeps a deleted memory's file there.
        left = {path.name for path in (tmp_path / "one" / "snapshots" / "repo").iterdir()}
        assert left == {".git"}
        assert await texts(noesis) >= {"Said after the snapshot."}
    async with running(tmp_path / "two", embedder=embedder, clock=clock, environ=environ) as second:
        noesis = second.noesis
        backup = await noesis.snapshots.fetch()
        assert (backup.memories, backup.verified_at is not None) == (2, True)
        restored = await noesis.backups.restore(noesis.backups.shelf.path(backup.name), made_for="test")
        assert restored.memories == 2
        assert await texts(noesis) == {"The heron comes in the morning.", "The boat lies in the shed."}
        assert await noesis.tokens.list() == []
        assert not await noesis.admin.is_set_up()


async def test_a_repository_that_holds_something_else_is_refused(
    tmp_path: Path, embedder: WordEmbedder, clock: Clock
) -> None:
    async with running(tmp_path / "one", embedder=embedder, clock=clock) as opened:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "manifest.json").write_text("{}")
        with pytest.raises(BackupRefused, match="no snapshot"):
            await opened.noesis.backups.take_in(tmp_path / "other", "x.tar.gz")


@pytest.mark.parametrize("enabled", ["true", "false"])
async def test_the_job_recurs_only_where_it_is_wanted(
    tmp_path: Path, embedder: WordEmbedder, clock: Clock, enabled: str
) -> None:
    environ = {"NOESIS_GIT_LFS_ENABLED": enabled, "NOESIS_GIT_LFS_SCHEDULE": "05:15"}
    async with running(tmp_path, embedder=embedder, clock=clock, environ=environ) as opened:
        found = [cron for cron in crons(opened.noesis.settings) if cron.job == "snapshot"]
        assert [str(cron.daily_at) for cron in found] == (["05:15:00"] if enabled == "true" else [])
        assert "snapshot" in HANDLERS


async def test_the_api_tells_how_they_stand(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> None:
    environ = {
        "NOESIS_GIT_LFS_ENABLED": "true",
        "NOESIS_GIT_LFS_REPO": await asyncio.to_thread(bare, tmp_path / "remote.git"),
    }
    async with running(tmp_path / "one", embedder=embedder, clock=clock, environ=environ) as opened:
        _, secret = await opened.noesis.tokens.create(Role.ADMIN, [], "admin")
        client = opened.client()
        client.headers["authorization"] = f"Bearer {secret}"
        state = (await client.get("/api/v1/snapshots")).json()
        assert (state["enabled"], state["snapshots"], state["pushed_at"]) == (True, [], None)
        await remember(opened.noesis, "The heron comes in the morning.")
        await opened.noesis.snapshots.take(quiet)
        state = (await client.get("/api/v1/snapshots")).json()
        assert [each["pushed"] for each in state["snapshots"]] == [True]
        assert state["branch"] == "main"
        assert (await client.post("/api/v1/snapshots")).status_code == 202
        fetched = await client.post("/api/v1/snapshots/fetch", json={})
        assert fetched.status_code == 202
        job = await opened.noesis.jobs.get(fetched.json()["job_id"])
        context = JobContext(opened.noesis, job)
        done = await HANDLERS["fetch_snapshot"].run(context, **job.args)
        assert done is not None
        assert done["memories"] == 1
        with pytest.raises(Conflict):
            await HANDLERS["fetch_snapshot"].run(context, **job.args)
        wrong = await client.post("/api/v1/snapshots/fetch", json={"commit": "--upload-pack=x"})
        assert wrong.status_code == 400
