"""A watcher hints at every change, notices when it cannot, and stops when it is told to."""

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from noesis.sources.watching import Hint, Mode, Watcher, Why

PATIENCE_SECONDS = 15.0
DEBOUNCE_MS = 40
QUIET_SECONDS = 0.4


class Watched:
    """A watcher at work and the hints it gave."""

    def __init__(self, watcher: Watcher, complaints: list[str]) -> None:
        self.watcher = watcher
        self.complaints = complaints
        self.hints: list[Hint] = []
        self._came = asyncio.Event()
        self.task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async for hint in self.watcher.hints():
            self.hints.append(hint)
            self._came.set()

    async def until(self, holds: Callable[[list[Hint]], bool]) -> list[Hint]:
        """The hints since the last call, once `holds` is true of them."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds(self.hints):
                await self._came.wait()
                self._came.clear()
        found, self.hints = self.hints, []
        return found

    async def started(self, count: int = 1) -> list[Hint]:
        return await self.until(lambda hints: sum(hint.why is Why.STARTED for hint in hints) == count)

    async def quiet(self) -> list[Hint]:
        """What comes although nothing should."""
        await asyncio.sleep(QUIET_SECONDS)
        return self.hints


@asynccontextmanager
async def watching(*roots: Path, poll: bool = False) -> AsyncIterator[Watched]:
    ticks = iter(range(1, 1_000_000))
    complaints: list[str] = []
    watcher = Watcher(
        roots,
        poll=poll,
        debounce_ms=DEBOUNCE_MS,
        on_error=complaints.append,
        now_ms=lambda: next(ticks),
        period_ms=100,
        poll_ms=30,
    )
    watched = Watched(watcher, complaints)
    try:
        yield watched
    finally:
        watched.task.cancel()
        await asyncio.wait([watched.task], timeout=PATIENCE_SECONDS)
        assert watched.task.done()
        assert watcher.state.mode is Mode.OFF


def run(*command: str) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode


def touch(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number}.md").touch()


def names(path: str) -> Callable[[list[Hint]], bool]:
    """Whether one of the hints covers the path."""
    return lambda hints: any(hint.paths is None or path in hint.paths for hint in hints)


def says(why: Why) -> Callable[[list[Hint]], bool]:
    return lambda hints: any(hint.why is why for hint in hints)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "memory").mkdir(parents=True)
    return root


async def test_each_root_is_to_be_looked_at_when_watching_starts(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with watching(root, other) as watched:
        assert await watched.started(2) == [Hint(root, None, Why.STARTED), Hint(other, None, Why.STARTED)]
        assert watched.watcher.state.mode is Mode.EVENTS
        assert watched.watcher.state.reason is None


async def test_a_change_is_hinted_at_with_its_path(root: Path) -> None:
    async with watching(root) as watched:
        await watched.started()
        (root / "memory" / "2026-03-02.md").write_text("new")
        assert await watched.until(bool) == [Hint(root, ("memory/2026-03-02.md",), Why.CHANGED)]
        (root / "memory" / "2026-03-02.md").rename(root / "b.md")
        await watched.until(names("b.md"))
        (root / "b.md").unlink()
        await watched.until(names("b.md"))


async def test_reading_is_no_change(root: Path) -> None:
    (root / "a.md").write_text("text")
    async with watching(root) as watched:
        await watched.started()
        (root / "a.md").read_text()
        list(root.iterdir())
        assert await watched.quiet() == []


async def test_a_burst_becomes_few_hints(root: Path) -> None:
    async with watching(root) as watched:
        await watched.started()
        for number in range(2000):
            (root / f"{number}.md").write_text("x")
        await watched.until(names("1999.md"))
        assert len(watched.hints) + 1 < 50


async def test_very_many_changes_become_one_hint_at_all(root: Path) -> None:
    (root / "memory").rmdir()
    async with watching(root) as watched:
        await watched.started()
        await asyncio.to_thread(touch, root, 1500)
        await watched.until(lambda hints: any(hint.paths is None for hint in hints))


async def test_a_new_folder_is_watched_too(root: Path) -> None:
    async with watching(root) as watched:
        await watched.started()
        (root / "new" / "deep").mkdir(parents=True)
        (root / "new" / "deep" / "early.md").write_text("x")
        await watched.until(lambda hints: Hint(root, None, Why.CHANGED) in hints)
        await watched.quiet()
        watched.hints.clear()
        (root / "new" / "deep" / "late.md").write_text("x")
        await watched.until(names("new/deep/late.md"))
        assert watched.complaints == []


async def test_a_folder_that_was_made_again_is_watched_again(root: Path) -> None:
    async with watching(root) as watched:
        await watched.started()
        (root / "memory").rmdir()
        (root / "memory").mkdir()
        await watched.until(lambda hints: Hint(root, None, Why.CHANGED) in hints)
        await watched.quiet()
        watched.hints.clear()
        (root / "memory" / "a.md").write_text("x")
        await watched.until(names("memory/a.md"))


async def test_links_and_hidden_folders_are_not_watched(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "linked").symlink_to(outside)
    (root / ".git").mkdir()
    async with watching(root) as watched:
        await watched.started()
        (outside / "a.md").write_text("x")
        (root / ".git" / "a.md").write_text("x")
        assert await watched.quiet() == []


@pytest.mark.parametrize("poll", [False, True])
async def test_a_missing_root_is_hinted_at_when_it_appears_and_when_it_vanishes(
    root: Path, poll: bool
) -> None:
    missing = root.with_name("missing")
    async with watching(missing, poll=poll) as watched:
        assert await watched.quiet() == []
        root.rename(missing)
        await watched.until(says(Why.APPEARED))
        (missing / "a.md").write_text("x")
        await watched.until(names("a.md"))
        shutil.rmtree(missing)
        await watched.until(says(Why.VANISHED))
        (missing / "memory").mkdir(parents=True)
        await watched.until(says(Why.APPEARED))
        assert watched.complaints == []


@pytest.mark.parametrize("poll", [False, True])
async def test_a_root_that_is_mounted_over_is_another_one(root: Path, poll: bool) -> None:
    async with watching(root, poll=poll) as watched:
        await watched.started()
        if await asyncio.to_thread(run, "mount", "-t", "tmpfs", "tmpfs", str(root)):
            pytest.skip("no-mount: mount needs CAP_SYS_ADMIN")
        try:
            await watched.until(says(Why.APPEARED))
            (root / "on-mount.md").write_text("x")
            await watched.until(names("on-mount.md"))
        finally:
            assert await asyncio.to_thread(run, "umount", "--lazy", str(root)) == 0
        await watched.until(says(Why.APPEARED))


async def test_one_missing_root_does_not_hold_back_another(root: Path, tmp_path: Path) -> None:
    async with watching(tmp_path / "missing", root) as watched:
        assert await watched.started() == [Hint(root, None, Why.STARTED)]
        (root / "a.md").write_text("x")
        await watched.until(names("a.md"))


async def test_a_root_reached_by_a_link_and_one_within_another_get_their_hints(
    root: Path, tmp_path: Path
) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    async with watching(alias, alias / "memory") as watched:
        await watched.started(2)
        (alias / "memory" / "a.md").write_text("x")
        hints = await watched.until(lambda found: len(found) >= 2)
        assert {(hint.root, hint.paths) for hint in hints} == {
            (alias, ("memory/a.md",)),
            (alias / "memory", ("a.md",)),
        }


async def test_a_name_that_is_no_text_makes_everything_be_looked_at(root: Path) -> None:
    async with watching(root) as watched:
        await watched.started()
        Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
        await watched.until(lambda hints: Hint(root, None, Why.CHANGED) in hints)
        assert watched.watcher.state.mode is Mode.EVENTS
        (root / "a.md").write_text("x")
        await watched.until(names("a.md"))


async def test_polling_hints_at_changes_and_at_nothing_else(root: Path) -> None:
    (root / "a.md").write_text("one")
    async with watching(root, poll=True) as watched:
        await watched.started()
        assert watched.watcher.state.mode is Mode.POLLING
        assert await watched.quiet() == []
        (root / "memory" / "b.md").write_text("x")
        assert await watched.until(bool) == [Hint(root, None, Why.CHANGED)]
        (root / "a.md").write_text("other")
        await watched.until(bool)
        (root / "a.md").unlink()
        await watched.until(bool)
        assert watched.complaints == []


async def test_the_heart_beats_while_nothing_happens(root: Path) -> None:
    for poll in (False, True):
        async with watching(root, poll=poll) as watched:
            await watched.started()
            before = watched.watcher.state.heartbeat_ms
            await watched.quiet()
            assert watched.watcher.state.heartbeat_ms > before


async def test_nothing_to_watch_is_said() -> None:
    async with watching() as watched:
        await watched.task
        assert watched.watcher.state.mode is Mode.OFF
        assert watched.watcher.state.reason == "there is no folder to watch"


async def test_a_watcher_that_is_stopped_leaves_no_thread_and_no_descriptor(root: Path) -> None:
    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    async with watching(root):
        pass
    before = descriptors()
    for _ in range(5):
        async with watching(root) as watched:
            await watched.started()
    await asyncio.sleep(0.1)
    assert descriptors() <= before + 1


LIMITED = """
    import asyncio, sys
    from pathlib import Path
    from noesis.sources.watching import Watcher

    async def main() -> None:
        root, complaints = Path(sys.argv[1]), []
        watcher = Watcher([root], poll=False, debounce_ms=20, on_error=complaints.append,
                          now_ms=lambda: 0, period_ms=100, poll_ms=30)
        async for hint in watcher.hints():
            if hint.why == "started":
                (root / "9" / "a.md").write_text("x")
            else:
                print(hint.why, watcher.state.mode, len(complaints), complaints[0] == watcher.state.reason)
                return

    asyncio.run(main())
"""


@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_at_the_systems_limit_it_polls_and_says_so_once(root: Path, limit: str) -> None:
    for number in range(10):
        (root / str(number)).mkdir()
    namespace = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    setting = f"echo 1 > /proc/sys/user/{limit}"
    if run(*namespace, setting):
        pytest.skip("no-mount: the limits are set in a user namespace")
    # One instance is taken away first, so that none is left.
    holder = "import ctypes; ctypes.CDLL(None).inotify_init()\n" if "instances" in limit else ""
    done = subprocess.run(
        [
            *namespace,
            f'{setting}; exec "$@"',
            "sh",
            sys.executable,
            "-c",
            holder + textwrap.dedent(LIMITED),
            root,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("changed polling 1 True\n", "")
