"""Scan: read what changed in a watched place, and say how far memory is behind it."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from noesis.activity import ActivityLog
from noesis.errors import NoesisError, StoreError
from noesis.following import is_followed
from noesis.freshness import Changed, Difference, Renamed, compare, too_many_gone
from noesis.memory import Scope
from noesis.mirroring import Mirror
from noesis.reading import FileReader, Read, Stop
from noesis.settings import Settings
from noesis.sources.book import Book, FileNote, Stamp
from noesis.sources.looking import OpenedRoot, RootMissing, look, open_root
from noesis.sources.packed import Packed
from noesis.sources.roots import Root, Roots
from noesis.tasks import end_tasks

_AT_ONCE = 64
_FIRST_RETRY_MS = 30_000
_LAST_RETRY_MS = 6 * 3_600_000
_FORGOTTEN_AT_ONCE = 500

Progress = Callable[[int, int | None], None]


class Scanned(msgspec.Struct, kw_only=True):
    """What a scan did, counted in files, and what became of their memories."""

    on_disk: int = 0
    read: int = 0
    unchanged: int = 0
    renamed: int = 0
    gone: int = 0
    held: int = 0
    refused: int = 0
    failed: int = 0
    memories: dict[str, int] = {}
    note: str | None = None


class Freshness(msgspec.Struct, frozen=True, kw_only=True):
    """How far memory is behind a root: files on the disk, those indexed as they lie there, those that wait,
    those whose file is gone and those that cannot be read; `waits_since` is the change time of the oldest
    that waits (ms since 1970).
    """

    root: Root
    available: bool
    on_disk: int = 0
    indexed: int = 0
    waiting: int = 0
    gone: int = 0
    refused: int = 0
    failed: int = 0
    waits_since: int | None = None
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether everything that can be read is in memory as it lies on the disk."""
        return self.available and not (self.waiting or self.gone or self.failed or self.root.held)


class Scanning:
    """Looks at roots and reads their files."""

    def __init__(
        self,
        roots: Roots,
        book: Book,
        reader: FileReader,
        mirror: Mirror,
        activity: ActivityLog,
        now_ms: Callable[[], int],
        settings: Settings,
    ) -> None:
        self._roots = roots
        self._book = book
        self._reader = reader
        self._mirror = mirror
        self._activity = activity
        self._now_ms = now_ms
        self._settings = settings
        self._most_bytes = settings.max_file_mb << 20

    async def scan(self, key: str, progress: Progress, stop: Stop, *, confirmed: bool = False) -> Scanned:
        """Read what changed in a root since it was last read, and forget what is gone.

        `confirmed` says that files that vanished all at once are meant to be gone.  A root that is not
        there is reported and nothing of it is removed.  Raises NotFound or a StoreError.
        """
        root = await self._roots.get(key)
        try:
            opened = await asyncio.to_thread(open_root, root)
        except RootMissing as error:
            await self._roots.change(key, available=False, note=error.message, scanned_at=self._now_ms())
            return Scanned(note=error.message)
        with opened:
            return await _Scan(self, root, opened, progress, stop, confirmed=confirmed).run()

    async def freshness(self, scope: Scope, *, also_unwatched: bool = False) -> list[Freshness]:
        """How far memory is behind each followed root of the caller's, by a look at the disk now.

        `also_unwatched` adds those that the settings say not to follow.
        """
        return [
            await self._freshness(root)
            for root in await self._roots.all()
            if scope.whose in (None, root.agent) and (also_unwatched or is_followed(root, self._settings))
        ]

    async def _freshness(self, root: Root) -> Freshness:
        try:
            found = await asyncio.to_thread(self._look, root)
        except RootMissing:
            return Freshness(root=root, available=False)
        return Freshness(root=root, available=False) if found is None else fresh(root, found)

    def _look(self, root: Root) -> Difference | None:
        with open_root(root) as opened:
            return self.difference(opened)

    def difference(self, opened: OpenedRoot) -> Difference | None:
        """What is to be done for a place; None when another file system seems to be mounted there at other times.

        For a thread of its own: it reads the disk and the book, side by side.  Raises RootMissing.
        """
        root = opened.root
        found = compare(look(opened, self._most_bytes), self._book.in_order(root.key), self._now_ms())
        emptied = found.known and not found.on_disk
        return None if emptied and root.device not in (None, opened.device) else found


def fresh(root: Root, found: Difference) -> Freshness:
    """The figures of one root."""
    renamed = sum(not each.is_changed for each in found.renamed)
    # What failed and is tried again is told as failed: nobody is behind with a file that stays as it was.
    news = sum(not each.is_again for each in found.changed)
    since = min((each.stamp.modified_ns for each in found.changed if not each.is_again), default=None)
    return Freshness(
        root=root,
        available=True,
        on_disk=found.on_disk,
        indexed=found.indexed,
        waiting=news + renamed,
        gone=len(found.gone),
        refused=found.refused,
        failed=found.failed,
        waits_since=None if since is None else since // 1_000_000,
        problems=found.problems,
    )


class _Scan:
    """One scan of one root."""

    def __init__(
        self,
        scanning: Scanning,
        root: Root,
        opened: OpenedRoot,
        progress: Progress,
        stop: Stop,
        *,
        confirmed: bool,
    ) -> None:
        self._of = scanning
        self._root = root
        self._opened = opened
        self._progress = progress
        self._stop = stop
        self._confirmed = confirmed
        self._done = 0
        self._memories: Counter[str] = Counter()
        self._result = Scanned()

    async def run(self) -> Scanned:
        root, result = self._root, self._result
        found = await asyncio.to_thread(self._of.difference, self._opened)
        if found is None:
            note = "The folder is empty and lies on another file system than before: is it mounted?"
            await self._of._roots.change(root.key, available=False, note=note, scanned_at=self._of._now_ms())
            return Scanned(note=note)
        result.on_disk, result.refused = found.on_disk, found.refused_on_disk
        device = self._opened.device
        for each in found.renamed:
            await self._rename(each)
        await self._read_all(found.changed, {each.path for each in found.renamed if each.is_changed})
        if not self._stop():
            await self._forget(found.gone, found.known)
        result.memories = dict(self._memories)
        await self._finish(device)
        return result

    async def _finish(self, device: int) -> None:
        result = self._result
        await self._of._roots.change(
            self._root.key,
            available=True,
            device=device,
            note=None,
            held=result.held,
            scanned_at=self._of._now_ms(),
        )

    async def _rename(self, file: Renamed) -> None:
        root = self._root
        if root.kind == "markdown":
            filed = await self._of._book.sections(root.key, file.old)
            source = f"{root.label}/{file.path}"
            await self._of._mirror.rename([each.memory_id for each in filed], source)
        stamp = Stamp.unread(file.stamp) if file.is_changed else file.stamp
        await self._of._book.rename(root.key, file.old, file.path, stamp)
        self._result.renamed += 1

    async def _read_all(self, files: Packed[Changed], renamed: set[str]) -> None:
        """Several documents at once, so that their sections are embedded and committed together."""
        at_once = _AT_ONCE if self._root.kind == "markdown" else 1
        waiting = iter(files)
        self._progress(0, len(files))

        async def work() -> None:
            for file in waiting:
                if self._stop():
                    return
                noted = file.is_known or file.path in renamed
                note = await self._of._book.note(self._root.key, file.path) if noted else None
                await self._read(file.path, file.stamp, note)
                self._done += 1
                self._progress(self._done, len(files))

        workers = [asyncio.create_task(work()) for _ in range(min(at_once, len(files)))]
        try:
            await asyncio.gather(*workers)
        finally:
            await end_tasks(workers)

    async def _read(self, path: str, stamp: Stamp, note: FileNote | None) -> None:
        try:
            read = await self._by_kind(path, stamp, note)
        except StoreError:
            raise
        except NoesisError as error:
            await self._fail(path, stamp, note, error.message)
            return
        if read.refused is not None:
            self._result.refused += 1
        elif read.unchanged:
            self._result.unchanged += 1
        else:
            self._result.read += 1
        self._memories.update(read.memories)

    async def _by_kind(self, path: str, stamp: Stamp, note: FileNote | None) -> Read:
        reader, root = self._of._reader, self._root
        if root.kind == "database":
            return await reader.database(root, stamp, note, self._stop)
        if root.kind == "transcripts":
            return await reader.transcript(root, self._opened, path, note, self._stop)
        return await reader.document(root, self._opened, path, note, most_bytes=self._of._most_bytes)

    async def _fail(self, path: str, stamp: Stamp, note: FileNote | None, reason: str) -> None:
        """Note why a file could not be read; it is tried again later even if it stays as it is."""
        tries = (note.tries if note else 0) + 1
        wait = min(_FIRST_RETRY_MS * 4 ** min(tries - 1, 10), _LAST_RETRY_MS)
        now = self._of._now_ms()
        before = note or FileNote(path=path, stamp=stamp, state="failed")
        failed = msgspec.structs.replace(
            before, stamp=stamp, state="failed", reason=reason, tries=tries, retry_at=now + wait, read_at=now
        )
        await self._of._book.write(self._root.key, failed)
        self._result.failed += 1

    async def _forget(self, gone: Packed[str], known: int) -> None:
        root = self._root
        if too_many_gone(len(gone), known) and not self._confirmed:
            self._result.held = len(gone)
            if root.held != len(gone):
                said = f"{len(gone)} of {known} files vanished at once from {root.label}; say whether they are meant to be gone."
                await self._of._activity.record("source", said, level="warning", agent=root.agent)
            return
        for paths in _batched(gone):
            await self._forget_files(paths)
        self._result.gone = len(gone)

    async def _forget_files(self, paths: Sequence[str]) -> None:
        root = self._root
        for path in paths:
            if root.kind == "markdown" and root.vanished != "keep":
                filed = await self._of._book.sections(root.key, path)
                ids = [each.memory_id for each in filed]
                removed = await self._of._mirror.remove(ids, delete=root.vanished == "delete")
                self._memories["removed"] += removed
        await self._of._book.forget(root.key, paths)


def _batched(paths: Iterable[str]) -> Iterator[list[str]]:
    waiting = iter(paths)
    while batch := list(itertools.islice(waiting, _FORGOTTEN_AT_ONCE)):
        yield batch
