"""Take a snapshot: the store as a commit, pushed to the remote, history kept to a length."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from noesis.backup.values import Backup, Manifest
from noesis.control import Control
from noesis.crash_points import crash_point
from noesis.errors import Conflict, InvalidInput, NoesisError
from noesis.settings import Settings
from noesis.snapshots.git import TIMEOUT_S, Git, GitFailed
from noesis.snapshots.remote import Remote, remote_of
from noesis.snapshots.repository import INSIDE, Commit, Repository, sweep_remote
from noesis.snapshots.trouble import Kind

Progress = Callable[[int, int | None], None]


class Contents(Protocol):
    """Where a snapshot's files come from, and where a fetched one goes."""

    async def lay_out(self, folder: Path) -> Manifest:
        """Fill a folder with a consistent copy of everything but tokens and password."""
        ...

    async def take_in(self, folder: Path, name: str) -> Backup:
        """List what was laid out in a folder as a backup, once it was looked at."""
        ...


# Anything else could be read by Git as an option or as another kind of name.
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
_STATE = "snapshot_state"
_STEPS = 4


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a snapshot: its commit (None: nothing had changed), the remote's branch, what to know."""

    commit: str | None
    memories: int
    branch: str | None
    swept: int
    warning: str | None = None


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How the snapshots stand; times in ms, None: never.  `error` is that of the last try, if it failed."""

    tried_at: int | None = None
    pushed_at: int | None = None
    branch: str | None = None
    error: str | None = None
    warning: str | None = None


class Snapshots:
    """Owns <data>/snapshots."""

    def __init__(
        self,
        control: Control,
        settings: Settings,
        contents: Contents,
        now_ms: Callable[[], int],
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._control = control
        self._settings = settings
        self._contents = contents
        self._now_ms = now_ms
        self._timeout_s = timeout_s
        self._place = settings.data_dir / "snapshots"

    @property
    def enabled(self) -> bool:
        """Whether the settings ask for snapshots."""
        return self._settings.git_lfs_enabled

    @property
    def remote(self) -> Remote | None:
        """Where they are pushed to; None: they stay on this machine.  Raises SettingsError."""
        given = self._settings.git_lfs_repo
        return None if given is None else remote_of(given)

    async def take(self, progress: Progress) -> Taken:
        """Commit the store as it is now and push it; a failed push leaves the snapshot here.

        Raises Conflict when one is being taken, SnapshotFailed when Git or the remote fails, a StoreError.
        """
        try:
            async with self._alone():
                taken = await self._take(progress)
        except NoesisError as error:
            await self._note(error=error.message)
            raise
        await self._note(taken=taken)
        return taken

    async def log(self) -> list[Commit]:
        """The snapshots that are kept, newest first.  Raises SnapshotFailed."""
        return await self._repository(None).log()

    async def state(self) -> State:
        """How the last one went."""
        stored = await self._control.value(_STATE)
        return State() if stored is None else msgspec.json.decode(stored, type=State)

    def expect_fetchable(self, commit: str | None) -> Remote:
        """The remote to fetch from.  Raises Conflict when none is set, InvalidInput for what names no commit."""
        if commit is not None and not _COMMIT.fullmatch(commit):
            raise InvalidInput("A commit is named by 7 to 40 hexadecimal digits.", field="commit")
        remote = self.remote
        if remote is None:
            raise Conflict("No remote is set: name it in NOESIS_GIT_LFS_REPO.")
        return remote

    async def fetch(
        self, commit: str | None = None, progress: Progress = lambda _done, _total: None
    ) -> Backup:
        """Fetch a snapshot of the remote (the newest, or one of its commits) and list it as a backup.

        Raises Conflict when no remote is set or it was fetched before, SnapshotFailed, BackupRefused.
        """
        async with self._alone():
            folder = self._place / "fetched"
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            try:
                found = await self.clone(folder, commit)
                progress(1, 2)
                crash_point("snapshot: cloned")
                return await self._contents.take_in(folder / INSIDE, f"snapshot-{found[:12]}.tar.gz")
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def clone(self, folder: Path, commit: str | None = None) -> str:
        """Clone a snapshot into a new folder and check its large files; which commit it is.

        Raises Conflict when no remote is set, SnapshotFailed.
        """
        remote = self.expect_fetchable(commit)
        folder.mkdir(parents=True, mode=0o700)
        git = self._git(folder, remote)
        await git.run("init", "-q")
        await git.run("lfs", "install", "--local", "--force")
        await git.run("remote", "add", "origin", remote.address)
        await git.run("fetch", "-q", "origin", f"refs/heads/{self._settings.git_lfs_branch}")
        await git.run("checkout", "-q", "--detach", commit or "FETCH_HEAD")
        await git.run("lfs", "fsck")
        return (await git.run("rev-parse", "HEAD")).strip()

    async def _take(self, progress: Progress) -> Taken:
        remote = self.remote
        repository = self._repository(remote)
        await repository.prepare()
        progress(1, _STEPS)
        async with repository.emptied() as folder:
            manifest = await self._contents.lay_out(folder)
            crash_point("snapshot: laid out")
            commit = await repository.commit(_message(manifest), self._settings.git_lfs_keep)
        progress(2, _STEPS)
        branch, warning = None, None
        if remote is not None and await repository.log():
            branch, warning = await self._push(repository, remote, manifest)
        progress(3, _STEPS)
        swept = await repository.sweep()
        crash_point("snapshot: swept")
        if remote is not None and remote.way == "file":
            swept += await sweep_remote(Path(remote.address.removeprefix("file://")))
        return Taken(commit=commit, memories=manifest.memories, branch=branch, swept=swept, warning=warning)

    async def _push(
        self, repository: Repository, remote: Remote, manifest: Manifest
    ) -> tuple[str, str | None]:
        stamp = f"{datetime.fromtimestamp(manifest.created_at / 1000, UTC):%Y%m%dT%H%M%S}"
        aside = f"noesis/{manifest.instance}/{stamp}"
        try:
            branch = await repository.push(remote.address, aside)
        except GitFailed as error:
            if error.trouble.kind is Kind.OBJECTS:
                await repository.discard()
            raise
        if branch == aside:
            return branch, (
                f"Somebody else has pushed to {self._settings.git_lfs_branch} of the remote; nothing of theirs was"
                f" replaced, and the snapshot is on the branch {aside}."
            )
        if remote.way in ("https", "http") and await repository.is_public(remote.address):
            return (
                branch,
                "Everybody can read the remote: make the repository private, or the memories are public.",
            )
        return branch, None

    def _repository(self, remote: Remote | None) -> Repository:
        return Repository(self._git(self._place / "repo", remote), self._settings.git_lfs_branch)

    def _git(self, folder: Path, remote: Remote | None) -> Git:
        token = self._settings.git_lfs_token if remote is not None and remote.takes_token else None
        return Git(folder, user=self._settings.git_lfs_user, token=token, timeout_s=self._timeout_s)

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        self._place.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self._place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Conflict("A snapshot is being taken already.") from error
            yield
        finally:
            os.close(lock)

    async def _note(self, *, taken: Taken | None = None, error: str | None = None) -> None:
        before, now = await self.state(), self._now_ms()
        if taken is None:
            after = msgspec.structs.replace(before, tried_at=now, error=error)
        else:
            pushed = before.pushed_at if taken.branch is None else now
            after = State(tried_at=now, pushed_at=pushed, branch=taken.branch, warning=taken.warning)
        await self._control.set_value(_STATE, msgspec.json.encode(after).decode())


def _message(manifest: Manifest) -> str:
    """The subject of a commit: when, and what lies in it."""
    at = datetime.fromtimestamp(manifest.created_at / 1000, UTC)
    rows = sum(table.rows for table in manifest.tables.values())
    return f"Snapshot of {at:%Y-%m-%d %H:%M} UTC: {manifest.memories:,} memories in {rows:,} rows"
