"""Snapshots with real Git LFS: to a repository on this machine, and over HTTP to a host behind a token."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from noesis.backup.values import Backup, Manifest
from noesis.control import Control
from noesis.errors import Conflict, InvalidInput, SettingsError, SnapshotFailed
from noesis.runtime import open_control
from noesis.settings import Settings
from noesis.snapshots.operation import Snapshots
from noesis.store.whole import TableSum
from tests.fakes.git_server import TOKEN, GitHost, git_host
from tests.support import NOW, Clock


class Contents:
    """What a snapshot holds: files by name, laid out as often as one is taken."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"memories.lance/data/1.lance": b"one" * 1000, "manifest.json": b"{}"}

    async def lay_out(self, folder: Path) -> Manifest:
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        rows = {"memories": TableSum(len(self.files), "0")}
        return Manifest(
            format=1,
            schema_version=1,
            product_version="0",
            instance="abc123",
            created_at=NOW,
            embedder=None,
            tables=rows,
            memories=len(self.files),
            files=(),
        )

    async def take_in(self, folder: Path, name: str) -> Backup:
        raise AssertionError("Only the product's own contents are taken in.")


@pytest.fixture
def contents() -> Contents:
    return Contents()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    with git_host(tmp_path / "host") as opened:
        yield opened


Opened = Callable[..., Snapshots]


@pytest.fixture
def opened(tmp_path: Path, contents: Contents, clock: Clock) -> Iterator[Opened]:
    """Makes the snapshots of a data directory; the control databases are closed at the end."""
    controls: list[Control] = []

    def make(repo: str | None, data: str = "data", timeout_s: float = 60.0, **settings: Any) -> Snapshots:
        wanted = Settings(data=tmp_path / data, git_lfs_enabled=True, git_lfs_repo=repo, **settings)
        controls.append(open_control(wanted))
        return Snapshots(controls[-1], wanted, contents, clock, timeout_s)

    yield make
    for control in controls:
        control.close()


def quiet(_done: int, _total: int | None) -> None:
    """Progress that nobody follows."""


def bare(path: Path) -> str:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return f"file://{path}"


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "somebody", f"GIT_{who}_EMAIL": "somebody@localhost"}
    return subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=environment
    ).stdout


def held(folder: Path) -> dict[str, bytes]:
    """The files of a work tree."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts and path.name != ".gitattributes"
    }


async def test_a_snapshot_comes_back_as_it_was(tmp_path: Path, opened: Opened, contents: Contents) -> None:
    snapshots = opened(bare(tmp_path / "remote.git"))
    taken = await snapshots.take(quiet)
    assert (taken.memories, taken.branch, taken.warning) == (2, "main", None)
    (commit,) = await snapshots.log()
    assert (commit.id, commit.pushed) == (taken.commit, True)
    assert commit.subject == "Snapshot of 2026-05-28 20:26 UTC: 2 memories in 2 rows"
    await snapshots.clone(tmp_path / "back")
    assert held(tmp_path / "back" / "noesis") == contents.files
    # The large file went by LFS: what Git itself holds is a pointer.
    pointer = git(tmp_path / "remote.git", "show", "main:noesis/memories.lance/data/1.lance")
    assert pointer.startswith("version https://git-lfs")


async def test_it_goes_over_http_with_the_token_in_no_argument_address_or_file(
    tmp_path: Path, opened: Opened, contents: Contents, host: GitHost
) -> None:
    snapshots = opened(host.repository("memories"), git_lfs_token=TOKEN)
    taken = await snapshots.take(quiet)
    assert (taken.branch, taken.warning) == ("main", None)
    assert contents.files["memories.lance/data/1.lance"] in host.objects().values()
    await snapshots.clone(tmp_path / "back")
    assert held(tmp_path / "back" / "noesis") == contents.files
    assert not any(TOKEN in path for _, path in host.asked)
    for path in (tmp_path / "data").rglob("*"):
        assert not (path.is_file() and TOKEN.encode() in path.read_bytes()), path


async def test_a_remote_that_everybody_can_read_is_warned_of(opened: Opened, host: GitHost) -> None:
    snapshots = opened(host.repository("open"), git_lfs_token=TOKEN)
    host.faults.public = True
    taken = await snapshots.take(quiet)
    assert taken.warning is not None
    assert "Everybody can read the remote" in taken.warning
    assert (await snapshots.state()).warning == taken.warning


async def test_nothing_new_is_no_snapshot(tmp_path: Path, opened: Opened, clock: Clock) -> None:
    snapshots = opened(bare(tmp_path / "remote.git"))
    await snapshots.take(quiet)
    clock.advance(days=1)
    assert (await snapshots.take(quiet)).commit is None
    assert len(await snapshots.log()) == 1
    assert (await snapshots.state()).pushed_at == clock()


async def test_history_is_kept_to_its_length_here_and_there(
    tmp_path: Path, opened: Opened, contents: Contents
) -> None:
    remote = tmp_path / "remote.git"
    snapshots = opened(bare(remote), git_lfs_keep=3)
    sizes = []
    for number in range(7):
        contents.files = {f"memories.lance/data/{number}.lance": os.urandom(200_000), "manifest.json": b"{}"}
        await snapshots.take(quiet)
        sizes.append([_size(folder / "lfs") for folder in (tmp_path / "data/snapshots/repo/.git", remote)])
    assert len(await snapshots.log()) == 3
    assert git(remote, "rev-list", "--count", "main").strip() == "3"
    assert max(sizes[-1]) <= 3 * 200_000 + 100_000
    # What is kept is whole, the oldest too.
    oldest = (await snapshots.log())[-1].id
    await snapshots.clone(tmp_path / "back", oldest)
    assert sorted(held(tmp_path / "back" / "noesis")) == ["manifest.json", "memories.lance/data/4.lance"]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def test_what_somebody_else_pushed_is_never_replaced(
    tmp_path: Path, opened: Opened, contents: Contents
) -> None:
    remote = tmp_path / "remote.git"
    snapshots = opened(bare(remote))
    await snapshots.take(quiet)
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(remote), str(other))
    (other / "theirs.json").write_text("{}")
    git(other, "add", "theirs.json")
    git(other, "commit", "-q", "-m", "theirs")
    git(other, "push", "-q", "origin", "HEAD:main")
    theirs = git(remote, "rev-parse", "main")
    contents.files["memories.lance/data/2.lance"] = b"two" * 1000
    taken = await snapshots.take(quiet)
    assert git(remote, "rev-parse", "main") == theirs
    assert taken.branch == "noesis/abc123/20260528T202640"
    assert git(remote, "rev-parse", taken.branch).strip() == taken.commit
    assert taken.warning is not None
    assert "nothing of theirs was replaced" in taken.warning


async def test_a_remote_with_other_contents_is_left_alone(tmp_path: Path, opened: Opened) -> None:
    remote = tmp_path / "remote.git"
    address = bare(remote)
    git(tmp_path, "init", "-q", "-b", "main", str(tmp_path / "own"))
    (tmp_path / "own" / "a").write_text("a")
    git(tmp_path / "own", "add", "a")
    git(tmp_path / "own", "commit", "-q", "-m", "a")
    git(tmp_path / "own", "push", "-q", str(remote), "main")
    taken = await opened(address).take(quiet)
    assert taken.branch is not None
    assert taken.branch.startswith("noesis/")
    assert git(remote, "log", "--format=%s", "main").strip() == "a"


@pytest.mark.parametrize(
    ("fault", "words", "again"),
    [
        ({"batch_status": 401}, "did not let us in", False),
        ({"batch_status": 403, "batch_text": "Forbidden"}, "did not let us in", False),
        ({"batch_status": 507, "batch_text": "Over its storage limit"}, "no more room for LFS", False),
        (
            {"batch_status": 422, "batch_text": "This repository exceeded its LFS budget."},
            "no more room",
            False,
        ),
        ({"upload_status": 413}, "refused a file as too large", False),
        ({"batch_status": 503}, "does not answer", True),
        ({"upload_status": 500}, "does not answer", True),
    ],
)
async def test_a_failed_push_is_told_in_plain_words_and_the_snapshot_is_kept(
    opened: Opened, host: GitHost, fault: dict[str, Any], words: str, again: bool
) -> None:
    snapshots = opened(host.repository("memories"), git_lfs_token=TOKEN)
    for name, value in fault.items():
        setattr(host.faults, name, value)
    with pytest.raises(SnapshotFailed) as caught:
        await snapshots.take(quiet)
    assert words in caught.value.message
    assert caught.value.retryable is again
    assert TOKEN not in caught.value.message
    assert [commit.pushed for commit in await snapshots.log()] == [False]
    assert (await snapshots.state()).error == caught.value.message
    for name, value in {"batch_status": 200, "upload_status": 200}.items():
        setattr(host.faults, name, value)
    assert (await snapshots.take(quiet)).branch == "main"
    assert [commit.pushed for commit in await snapshots.log()] == [True]
    assert (await snapshots.state()).error is None


@pytest.mark.parametrize(
    ("token", "repository", "words"),
    [
        ("wrong", "memories", "did not let us in"),
        (None, "memories", "did not let us in"),
        (TOKEN, "absent", "no repository at this address"),
    ],
)
async def test_a_wrong_token_or_address_is_told(
    opened: Opened, host: GitHost, token: str | None, repository: str, words: str
) -> None:
    host.repository("memories")
    snapshots = opened(f"{host.url}/{repository}.git", git_lfs_token=token)
    with pytest.raises(SnapshotFailed, match=words):
        await snapshots.take(quiet)


async def test_a_remote_that_is_away_or_hangs_is_given_up(
    tmp_path: Path, opened: Opened, host: GitHost
) -> None:
    snapshots = opened(host.repository("memories"), git_lfs_token=TOKEN, timeout_s=3.0)
    host.faults.hang_s = 30
    with pytest.raises(SnapshotFailed, match="took longer than 3 seconds"):
        await snapshots.take(quiet)
    assert not _working_in(tmp_path / "data")
    away = opened("http://127.0.0.1:9/none.git", data="other", git_lfs_token=TOKEN)
    with pytest.raises(SnapshotFailed, match="does not answer"):
        await away.take(quiet)


def _working_in(folder: Path) -> list[str]:
    """The processes whose working directory lies in a folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink().is_relative_to(folder):
                found.append(link.parent.name)
        except OSError:
            continue
    return found


async def test_a_hook_that_declines_is_told(tmp_path: Path, opened: Opened) -> None:
    address = bare(tmp_path / "remote.git")
    hook = tmp_path / "remote.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(SnapshotFailed, match="by a rule of its own"):
        await opened(address).take(quiet)


async def test_a_lock_left_by_a_kill_is_cleared_and_that_of_a_living_git_is_not(
    tmp_path: Path, opened: Opened
) -> None:
    snapshots = opened(None)
    await snapshots.take(quiet)
    repo = tmp_path / "data" / "snapshots" / "repo"
    (repo / ".git" / "index.lock").touch()
    await snapshots.take(quiet)
    (repo / ".git" / "index.lock").touch()
    living = await asyncio.create_subprocess_exec("sleep", "60", cwd=repo)
    with pytest.raises(SnapshotFailed, match="still runs"):
        await snapshots.take(quiet)
    living.kill()
    await living.wait()
    await snapshots.take(quiet)


async def test_two_at_once_are_one(opened: Opened) -> None:
    snapshots = opened(None)
    both = await asyncio.gather(snapshots.take(quiet), snapshots.take(quiet), return_exceptions=True)
    assert sorted(type(each).__name__ for each in both) == ["Conflict", "Taken"]
    assert any(isinstance(each, Conflict) for each in both)


async def test_lost_local_files_are_noticed_and_the_next_snapshot_begins_anew(
    tmp_path: Path, opened: Opened, contents: Contents, host: GitHost
) -> None:
    snapshots = opened(host.repository("memories"), git_lfs_token=TOKEN)
    host.faults.batch_status = 503
    with pytest.raises(SnapshotFailed):
        await snapshots.take(quiet)
    host.faults.batch_status = 200
    for path in (tmp_path / "data/snapshots/repo/.git/lfs/objects").rglob("*"):
        if path.is_file():
            path.unlink()
    contents.files = {"memories.lance/data/9.lance": b"nine" * 900, "manifest.json": b"{}"}
    with pytest.raises(SnapshotFailed, match="made anew"):
        await snapshots.take(quiet)
    assert (await snapshots.take(quiet)).branch == "main"
    await snapshots.clone(tmp_path / "back")
    assert held(tmp_path / "back" / "noesis") == contents.files


async def test_a_file_lost_on_the_remote_is_found_by_fetching(
    tmp_path: Path, opened: Opened, host: GitHost
) -> None:
    snapshots = opened(host.repository("memories"), git_lfs_token=TOKEN)
    await snapshots.take(quiet)
    host.faults.lose = set(host.objects())
    with pytest.raises(SnapshotFailed):
        await snapshots.clone(tmp_path / "back")


async def test_without_a_remote_they_stay_here(opened: Opened) -> None:
    snapshots = opened(None)
    taken = await snapshots.take(quiet)
    assert (taken.branch, [commit.pushed for commit in await snapshots.log()]) == (None, [False])
    with pytest.raises(Conflict, match="NOESIS_GIT_LFS_REPO"):
        await snapshots.clone(Path("nowhere"))


async def test_an_address_with_a_password_is_refused(opened: Opened) -> None:
    snapshots = opened("https://me:hunter2-example@host.example/r.git")
    with pytest.raises(SettingsError) as caught:
        await snapshots.take(quiet)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("commit", ["--help", "HEAD", "main", "0123", "../x", "0" * 41, "ABCDEF0", ""])
async def test_a_commit_is_named_by_its_digits_alone(tmp_path: Path, opened: Opened, commit: str) -> None:
    snapshots = opened(bare(tmp_path / "remote.git"))
    with pytest.raises(InvalidInput):
        await snapshots.fetch(commit)
    with pytest.raises(InvalidInput):
        await snapshots.clone(tmp_path / "back", commit)
    assert not (tmp_path / "back").exists()
