"""The repository of the snapshots: its work tree, its bounded chain of commits, what is kept of its large files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from noesis.crash_points import crash_point
from noesis.errors import SnapshotFailed
from noesis.snapshots.git import NO_LFS, Git, GitFailed
from noesis.snapshots.trouble import Kind

PUSHED = "refs/noesis/pushed"
"""What the remote's branch was when we pushed last: the lease that a forced push is bound to."""

PUSHING = "refs/noesis/pushing"
"""What is being pushed; where it still stands at the next push, nobody knows whether it arrived."""

INSIDE = "noesis"
"""The folder of the work tree that holds a snapshot."""

_ATTRIBUTES = "* filter=lfs diff=lfs merge=lfs -text\n*.json -filter -diff -merge\n.gitattributes -filter -diff -merge\n"
_FIELDS = "%H%x1f%ct%x1f%s"


class Commit(msgspec.Struct, frozen=True):
    """One snapshot: its commit, when it was made (ms), what it says of itself, and whether the remote has it."""

    id: str
    at: int
    subject: str
    pushed: bool


class Repository:
    """Owns the folder; one process at a time works in it, which the caller sees to."""

    def __init__(self, git: Git, branch: str) -> None:
        self._git = git
        self._folder = git.folder
        self._branch = branch

    async def prepare(self) -> None:
        """Make the repository if there is none, and clear away what a kill left.  Raises SnapshotFailed."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if await asyncio.to_thread(_is_worked_in, self._folder):
            raise SnapshotFailed(
                "A Git process of an earlier snapshot still runs. Try again later.", again=True
            )
        await asyncio.to_thread(_unlock, self._folder / ".git")
        if not (self._folder / ".git" / "HEAD").is_file():
            await self._git.run("init", "-q", "-b", self._branch)
        if await self._git.value("lfs", "version") is None:
            raise GitFailed(NO_LFS)
        await self._git.run("lfs", "install", "--local", "--force")
        # Linking a file changes its ctime and nothing else; by size and mtime Git knows it again unread.
        for name, value in (("core.trustctime", "false"), ("core.checkStat", "minimal"), ("gc.auto", "0")):
            await self._git.run("config", name, value)

    async def discard(self) -> None:
        """Throw the local repository away: what it lacks cannot be had again."""
        await asyncio.to_thread(shutil.rmtree, self._folder / ".git", ignore_errors=True)

    @asynccontextmanager
    async def emptied(self) -> AsyncIterator[Path]:
        """A folder of the work tree, to be filled with what the snapshot holds; it is empty before and afterwards.

        Its files are links to the live store's, which must not outlive their use there.
        """
        await asyncio.to_thread(_empty, self._folder)
        (self._folder / ".gitattributes").write_text(_ATTRIBUTES, encoding="ascii")
        try:
            (self._folder / INSIDE).mkdir(mode=0o700)
            yield self._folder / INSIDE
        finally:
            await asyncio.to_thread(_empty, self._folder)

    async def commit(self, message: str, keep: int) -> str | None:
        """Commit what lies in the work tree onto the last `keep` - 1 snapshots; None when nothing has changed.

        Raises SnapshotFailed.
        """
        await self._git.run("add", "-A")
        tree = (await self._git.run("write-tree")).strip()
        if tree == await self._git.value("rev-parse", "-q", "--verify", "HEAD^{tree}"):
            return None
        parent = await self._shortened(keep - 1)
        new = await self._commit_tree(tree, parent, message)
        await self._git.run("update-ref", f"refs/heads/{self._branch}", new)
        crash_point("snapshot: committed")
        return new

    async def push(self, address: str, aside: str) -> str:
        """Push the branch; returns its name on the remote.

        The branch there is replaced only if it is what we pushed last; if somebody else has pushed, ours goes
        to the branch `aside`.  Raises GitFailed.
        """
        await self._git.run("config", "remote.origin.url", address)
        await self._settle()
        await self._git.run("update-ref", PUSHING, "HEAD")
        before = await self._git.value("rev-parse", "-q", "--verify", PUSHED) or ""
        target = f"refs/heads/{self._branch}"
        lease = f"--force-with-lease={target}:{before}"
        try:
            await self._git.run("push", "-q", lease, "origin", f"HEAD:{target}")
        except GitFailed as error:
            if error.trouble.kind is not Kind.LEASE:
                raise
            await self._git.run("push", "-q", "origin", f"HEAD:refs/heads/{aside}")
            await self._git.run("update-ref", "-d", PUSHING)
            return aside
        crash_point("snapshot: pushed")
        await self._git.run("update-ref", PUSHED, "HEAD")
        await self._git.run("update-ref", "-d", PUSHING)
        return self._branch

    async def _settle(self) -> None:
        """Find out whether a push that was killed, or not answered, arrived: else ours would pass for another's."""
        pushing = await self._git.value("rev-parse", "-q", "--verify", PUSHING)
        if pushing is None:
            return
        there = await self._git.lines("ls-remote", "origin", f"refs/heads/{self._branch}")
        if there and there[0].split()[0] == pushing:
            await self._git.run("update-ref", PUSHED, pushing)
        await self._git.run("update-ref", "-d", PUSHING)

    async def is_public(self, address: str) -> bool:
        """Whether anybody can read the remote: it answers without a token."""
        nobody = Git(self._folder, timeout_s=30)
        return await nobody.value("ls-remote", address) is not None

    async def log(self) -> list[Commit]:
        """The snapshots that are kept, newest first."""
        if not (self._folder / ".git" / "HEAD").is_file():
            return []
        pushed = await self._git.value("rev-parse", "-q", "--verify", PUSHED)
        there = set(await self._git.lines("rev-list", PUSHED)) if pushed else set()
        lines = (await self._git.value("log", f"--format={_FIELDS}") or "").splitlines()
        return [
            Commit(commit, int(at) * 1000, subject, commit in there)
            for commit, at, subject in (line.split("\x1f") for line in lines)
        ]

    async def sweep(self) -> int:
        """Delete large files that no kept snapshot refers to; returns how many.

        Not `git lfs prune`, which would take files of kept snapshots that the next push needs.
        """
        await self._git.run("reflog", "expire", "--expire=now", "--all")
        await self._git.run("prune", "--expire=now")
        return await _sweep(self._git, self._folder / ".git" / "lfs" / "objects")

    async def _shortened(self, most: int) -> str | None:
        """The newest commit of a chain of at most `most`; the oldest of them loses its parent."""
        kept = await self._kept(most)
        if not kept:
            return None
        if len(await self._git.lines("rev-list", "HEAD")) <= most:
            return kept[-1]
        parent: str | None = None
        for commit in kept:
            parent = await self._copied(commit, parent)
        return parent

    async def _kept(self, most: int) -> Sequence[str]:
        if most < 1 or await self._git.value("rev-parse", "-q", "--verify", "HEAD") is None:
            return []
        return await self._git.lines("rev-list", f"--max-count={most}", "--reverse", "HEAD")

    async def _copied(self, commit: str, parent: str | None) -> str:
        shown = await self._git.run("log", "-1", "--format=%T%n%cI%n%B", commit)
        tree, at, message = shown.split("\n", 2)
        return await self._commit_tree(tree, parent, message.strip(), at)

    async def _commit_tree(self, tree: str, parent: str | None, message: str, at: str | None = None) -> str:
        parents = () if parent is None else ("-p", parent)
        when = {} if at is None else {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
        made = await self._git.run("commit-tree", tree, *parents, given=message.encode(), extra=when)
        return made.strip()


async def sweep_remote(folder: Path) -> int:
    """Delete large files of a bare repository on this machine that none of its branches refers to."""
    if not (folder / "lfs" / "objects").is_dir():
        return 0
    return await _sweep(Git(folder), folder / "lfs" / "objects")


async def _sweep(git: Git, objects: Path) -> int:
    listed = await git.lines("lfs", "ls-files", "--all", "--long")
    wanted = {line.split(" ", 1)[0] for line in listed}
    return await asyncio.to_thread(_delete_others, objects, wanted)


def _delete_others(objects: Path, wanted: set[str]) -> int:
    others = [path for path in objects.rglob("*") if path.is_file() and path.name not in wanted]
    for path in others:
        path.unlink()
    return len(others)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name == ".git":
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _unlock(git_folder: Path) -> None:
    """Delete the locks of Git processes that are gone."""
    for lock in git_folder.rglob("*.lock"):
        lock.unlink(missing_ok=True)


def _is_worked_in(folder: Path) -> bool:
    """Whether a process has the folder as its working directory: a Git that outlived whoever started it."""
    for link in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if link.readlink() == folder:
                return True
        except OSError:
            continue
    return False
