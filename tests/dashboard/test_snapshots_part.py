"""Snapshots on the page of backups: how they stand, taken and fetched by a button, faults in plain words."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import httpx
import pytest

from noesis.errors import Conflict, SnapshotFailed
from noesis.runtime import Noesis
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS
from tests.dashboard.conftest import remember


async def shown(admin: httpx.AsyncClient, address: str = "/backups") -> str:
    """The part about snapshots without its tags, blanks run together."""
    part = (await admin.get(address)).text.split('<section id="snapshots"', 1)[1].split("</main>")[0]
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", part).split()))


async def test_while_they_are_off_none_is_taken_or_fetched(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    answer = await admin.post("/backups/snapshots/take")
    assert answer.status_code == 409
    assert "Snapshots are off" in answer.text
    answer = await admin.post("/backups/snapshots/fetch", data={"commit": ""})
    assert answer.status_code == 409
    assert "No remote is set: name it in NOESIS_GIT_LFS_REPO." in answer.text
    assert (await noesis.jobs.list()).jobs == []


class TestWithARemote:
    @pytest.fixture
    def environ(self, tmp_path: Path) -> dict[str, str]:
        remote = tmp_path / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        return {"NOESIS_GIT_LFS_ENABLED": "true", "NOESIS_GIT_LFS_REPO": str(remote)}

    async def take(self, admin: httpx.AsyncClient, noesis: Noesis) -> None:
        answer = await admin.post("/backups/snapshots/take")
        assert answer.headers["location"] == "/backups?said=snapshot-started#snapshots"
        job = await noesis.jobs.ledger.claim({"snapshot": 1}, noesis.now_ms())
        assert job is not None
        await HANDLERS["snapshot"].run(JobContext(noesis, job))
        await noesis.jobs.ledger.finish(job, {}, noesis.now_ms())

    async def carry_out(self, noesis: Noesis) -> None:
        """Run the waiting fetch, as a worker does."""
        job = await noesis.jobs.ledger.claim({"fetch_snapshot": 1}, noesis.now_ms())
        assert job is not None
        done = await HANDLERS["fetch_snapshot"].run(JobContext(noesis, job), **job.args)
        await noesis.jobs.ledger.finish(job, done, noesis.now_ms())

    async def test_one_is_taken_pushed_and_fetched_back_as_a_backup(
        self, admin: httpx.AsyncClient, noesis: Noesis
    ) -> None:
        assert "not pushed yet" in await shown(admin)
        assert "None was taken yet." in await shown(admin)
        await remember(noesis, "The heron comes in the morning.")
        await self.take(admin, noesis)
        page = await shown(admin)
        assert "pushed just now to main" in page
        assert "1 memories in 1 rows" in page
        (commit,) = await noesis.snapshots.log()
        answer = await admin.post("/backups/snapshots/fetch", data={"commit": commit.id})
        assert (answer.status_code, answer.headers["location"]) == (303, "/backups?said=snapshot-fetched")
        assert "Fetch a snapshot back" in (await admin.get("/backups")).text
        await self.carry_out(noesis)
        (backup,) = await noesis.backups.list()
        assert backup.memories == 1
        await admin.post("/backups/snapshots/fetch", data={"commit": ""})
        with pytest.raises(Conflict, match="There is a backup of this name already"):
            await self.carry_out(noesis)

    @pytest.mark.parametrize("commit", ["--upload-pack=x", "HEAD~1", "main", "0" * 40])
    async def test_what_is_no_commit_of_the_remote_is_refused(
        self, admin: httpx.AsyncClient, noesis: Noesis, commit: str
    ) -> None:
        await self.take(admin, noesis)
        answer = await admin.post("/backups/snapshots/fetch", data={"commit": commit})
        if answer.status_code == 303:
            with pytest.raises(SnapshotFailed):
                await self.carry_out(noesis)
        else:
            assert answer.status_code == 400
        assert await noesis.backups.list() == []

    async def test_a_push_that_failed_is_told_with_its_reason(
        self, admin: httpx.AsyncClient, noesis: Noesis, tmp_path: Path
    ) -> None:
        (tmp_path / "remote.git").rename(tmp_path / "gone.git")
        with pytest.raises(SnapshotFailed):
            await self.take(admin, noesis)
        page = await shown(admin)
        assert "The last try, just now , failed:" in page
        assert "here only" in page


class TestWithAWrongRemote:
    @pytest.fixture
    def environ(self) -> dict[str, str]:
        return {"NOESIS_GIT_LFS_REPO": "https://anna:hunter2@git.example.org/me/memories.git"}

    async def test_the_page_says_what_is_wrong_and_not_the_password(self, admin: httpx.AsyncClient) -> None:
        answer = await admin.get("/backups")
        assert "must not hold a name or a password" in answer.text
        assert "hunter2" not in answer.text


async def test_only_who_is_logged_in_takes_or_fetches(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    for what in ("take", "fetch"):
        assert (await visitor.post(f"/backups/snapshots/{what}")).headers["location"] == "/login"
    assert (await noesis.jobs.list()).jobs == []
