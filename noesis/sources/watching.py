"""Tells when something may have changed in a folder.

What it gives are hints: what really changed is for a scan to find out, and a scan now and then finds
what no hint told of.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from enum import StrEnum
from pathlib import Path

import msgspec
from watchfiles import Change

from noesis.errors import NoesisError
from noesis.sources.file_events import EventsUnavailable, FileChange, FileEvents
from noesis.sources.safe_files import Limits, RootHandle, open_root, walk, walk_folders

PERIOD_MS = 5_000
POLL_MS = 2_000

_MOST_FAILURES = 5
_QUEUE_LENGTH = Path("/proc/sys/fs/inotify/max_queued_events")
_MOST_PATHS = 256
_EVENTS_OF_A_FILE = 8
_ANY_SIZE = Limits(file_bytes=None)


class Why(StrEnum):
    """What a hint is given for."""

    STARTED = "started"
    CHANGED = "changed"
    APPEARED = "appeared"
    VANISHED = "vanished"


class Hint(msgspec.Struct, frozen=True):
    """Something may have changed in `root`: at `paths` below it, or anywhere when they are None.

    `root` is as it was given.  A path may be a folder, or be gone.
    """

    root: Path
    paths: tuple[str, ...] | None
    why: Why


class Mode(StrEnum):
    """How changes are noticed."""

    EVENTS = "events"
    POLLING = "polling"
    OFF = "off"


class WatchState(msgspec.Struct, frozen=True):
    """How a watcher works, why not by events, and when it last looked (ms since 1970; 0: never)."""

    mode: Mode
    reason: str | None
    heartbeat_ms: int


class _Seen(msgspec.Struct, frozen=True):
    """A root as it was last seen: device and inode, and its folders (absolute) or a digest of its files."""

    identity: tuple[int, int]
    folders: frozenset[str] = frozenset()
    digest: bytes = b""


class Watcher:
    """Watches folders, those that are not there yet included; iterate over `hints()` once.

    With `poll` it looks every `poll_ms`.  Otherwise it takes the kernel's events, of which `debounce_ms`
    of quiet make one hint, and every `period_ms` sees whether its roots are still there; where events
    are not to be had it goes over to polling and calls `on_error` once with the reason.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        poll: bool,
        debounce_ms: int,
        on_error: Callable[[str], None],
        now_ms: Callable[[], int],
        period_ms: int = PERIOD_MS,
        poll_ms: int = POLL_MS,
    ) -> None:
        # Events name files below the path that was watched: made absolute, its links left as they are.
        self._roots = {os.path.abspath(root): root for root in roots}  # noqa: PTH100
        self._poll = poll
        self._debounce_ms = max(1, debounce_ms)
        self._on_error = on_error
        self._now_ms = now_ms
        self._period_ms = period_ms
        self._poll_ms = poll_ms
        self._seen: dict[str, _Seen | None] = {}
        self._unsure: set[str] = set()  # roots of which something may have been missed
        self._failures = 0
        self._state = WatchState(Mode.OFF, None, 0)

    @property
    def state(self) -> WatchState:
        """How it stands."""
        return self._state

    async def hints(self) -> AsyncGenerator[Hint, None]:
        """A hint for each root that is there, then one whenever something may have changed.

        Ends at once when there is nothing to watch, and otherwise when it is cancelled or closed
        (`contextlib.aclosing`), which takes one debounce at most.
        """
        if not self._roots:
            self._set(Mode.OFF, "there is no folder to watch")
            return
        try:
            if self._poll:
                self._set(Mode.POLLING, "polling is switched on")
            else:
                self._set(Mode.EVENTS, None)
                async with aclosing(self._by_events()) as events:
                    async for hint in events:
                        yield hint
            async with aclosing(self._by_polling()) as polled:
                async for hint in polled:
                    yield hint
        finally:
            self._set(Mode.OFF, "the watcher was stopped")

    def _set(self, mode: Mode, reason: str | None) -> None:
        self._state = WatchState(mode, reason, self._now_ms())

    def _beat(self) -> None:
        self._state = WatchState(self._state.mode, self._state.reason, self._now_ms())

    async def _by_polling(self) -> AsyncGenerator[Hint, None]:
        while True:
            seen = await asyncio.to_thread(self._look, _with_digest)
            self._beat()
            for hint in self._news(seen):
                yield hint
            await asyncio.sleep(self._poll_ms / 1000)

    async def _by_events(self) -> AsyncGenerator[Hint, None]:
        """Hints for as long as the system gives events; then it polls, and says so."""
        while self._failures < _MOST_FAILURES:
            seen = await asyncio.to_thread(self._look, _with_folders)
            try:
                events = await asyncio.to_thread(FileEvents, _folders_of(seen), self._debounce_ms)
            except FileNotFoundError:  # a folder went just now
                self._failures += 1
                await asyncio.sleep(self._debounce_ms / 1000)
                continue
            except EventsUnavailable as error:
                self._fall_back(str(error))
                return
            try:
                async with aclosing(self._while_same(events, seen)) as found:
                    async for hint in found:
                        yield hint
            finally:
                await events.close()
            self._unsure.update(self._roots)  # until events are caught again
            await asyncio.sleep(self._debounce_ms / 1000)
        self._fall_back("the system's file events kept failing")

    def _fall_back(self, reason: str) -> None:
        self._set(Mode.POLLING, reason)
        self._on_error(reason)

    async def _while_same(
        self, events: FileEvents, seen: Mapping[str, _Seen | None]
    ) -> AsyncGenerator[Hint, None]:
        """Hints for as long as the folders are those whose events are caught."""
        # Looked at again, since a folder may have come before its parent's events were caught.
        now = await asyncio.to_thread(self._look, _with_folders)
        for hint in self._news(now):
            yield hint
        caught = frozenset(_folders_of(seen))
        while not await asyncio.to_thread(self._differs, seen, now):
            changes = await events.wait(self._period_ms)
            self._beat()
            if changes is None:
                self._failures += 1
                return
            self._failures = 0
            for hint in self._hints_of(changes):
                yield hint
            if any(_is_folder_change(change, path, caught) for change, path in changes):
                return

    def _differs(self, seen: Mapping[str, _Seen | None], now: Mapping[str, _Seen | None]) -> bool:
        return now != seen or any(
            _identity(Path(root)) != (known.identity if known else None) for root, known in seen.items()
        )

    def _look(self, look: Callable[[RootHandle], _Seen]) -> dict[str, _Seen | None]:
        """Each root as it is now; None for one that is not there or cannot be read."""
        seen: dict[str, _Seen | None] = {}
        for root in self._roots:
            try:
                with open_root(Path(root)) as handle:
                    seen[root] = look(handle)
            except NoesisError:
                seen[root] = None
        return seen

    def _news(self, now: Mapping[str, _Seen | None]) -> Iterator[Hint]:
        """A hint for each root that is not as it was seen before."""
        for root, seen in now.items():
            before = self._seen.get(root)
            why = _why(before, seen, first=root not in self._seen)
            if why is None and root in self._unsure and seen is not None:
                why = Why.CHANGED
            self._seen[root] = seen
            self._unsure.discard(root)
            if why is not None:
                yield Hint(self._roots[root], None, why)

    def _hints_of(self, changes: Sequence[FileChange]) -> Iterator[Hint]:
        # A queue that runs over is not told of; but then very much has happened.
        crowded = len(changes) > min(_MOST_PATHS, _queue_length() // _EVENTS_OF_A_FILE)
        for root, given in self._roots.items():
            paths = sorted({path for change in changes if (path := _below(root, change[1]))})
            if paths:
                yield Hint(given, None if crowded else tuple(paths), Why.CHANGED)


def _why(before: _Seen | None, now: _Seen | None, *, first: bool) -> Why | None:
    if before == now:
        return None
    if now is None:
        return Why.VANISHED
    if first:
        return Why.STARTED
    if before is None or before.identity != now.identity:
        return Why.APPEARED
    return Why.CHANGED


def _with_folders(handle: RootHandle) -> _Seen:
    root = os.path.abspath(handle.path)  # noqa: PTH100
    folders = frozenset(os.path.join(root, folder).rstrip("/") or "/" for folder in walk_folders(handle))  # noqa: PTH118
    return _Seen((handle.device, handle.inode), folders=folders)


def _with_digest(handle: RootHandle) -> _Seen:
    digest = hashlib.blake2b()
    for entry in walk(handle, bool, _ANY_SIZE):  # every path
        digest.update(msgspec.msgpack.encode(entry))
    return _Seen((handle.device, handle.inode), digest=digest.digest())


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        with open_root(root) as handle:
            return handle.device, handle.inode
    except NoesisError:
        return None


def _folders_of(seen: Mapping[str, _Seen | None]) -> list[str]:
    return sorted(folder for each in seen.values() if each for folder in each.folders)


def _is_folder_change(change: Change, path: str, caught: frozenset[str]) -> bool:
    """Whether a folder came or went, so that other folders' events must be caught."""
    if change is Change.deleted:
        return path in caught
    name = os.path.basename(path)  # noqa: PTH119 - the path is text
    return change is Change.added and not name.startswith(".") and _is_folder(path)


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114


def _below(root: str, path: str) -> str:
    """The path relative to the root; empty when it is the root itself or outside of it."""
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else ""


def _queue_length() -> int:
    try:
        return int(_QUEUE_LENGTH.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return _MOST_PATHS * _EVENTS_OF_A_FILE
