"""Verification: of an archive, of the live store, and by a drill that restores the latest backup for real."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from noesis.backup.archive import Cancel
from noesis.backup.aside import aside
from noesis.backup.restoring import Restoring
from noesis.backup.shelf import Shelf
from noesis.backup.taking import Tell
from noesis.backup.unpacking import Unpacked, examine, unpack
from noesis.backup.values import Backup, Verified
from noesis.control import Control, sqlite_url
from noesis.errors import BackupRefused, Cancelled, Conflict, StoreError, StoreIncompatible
from noesis.store import Store
from noesis.store.checksums import changed, record, sum_files
from noesis.store.generations import is_as_written, open_as_it_is
from noesis.store.whole import Contents, probe, read_whole

LIVE = "the live store"


class Checking:
    """Compares backups with what they say of themselves, and the live store with its hashes."""

    def __init__(
        self, store: Store, shelf: Shelf, now_ms: Callable[[], int], *, key_file: Path | None
    ) -> None:
        self._store = store
        self._shelf = shelf
        self._now_ms = now_ms
        self._key_file = key_file

    async def archive(self, path: Path, tell: Tell, cancelled: Cancel) -> Verified:
        """Look at all of an archive; whatever is wrong with it is told, not raised.

        Raises StoreFull when there is no room to unpack it, SettingsError without its key, Cancelled.
        """
        began = time.monotonic()
        async with self._store.scratch() as folder:
            done = [0]

            def on_bytes(count: int) -> None:
                done[0] += count
                tell(done[0], 0)

            async def look() -> Verified:
                try:
                    unpacked = await unpack(path, folder, self._key_file, on_bytes, cancelled)
                except (BackupRefused, StoreIncompatible) as error:
                    return _wrong(path.name, error.message, began)
                found = await examine(unpacked, lambda _: None, cancelled)
                return _verified(path.name, unpacked, found.contents, found.queries, found.problems, began)

            return await aside(look)

    async def backup(self, name: str, tell: Tell, cancelled: Cancel) -> Verified:
        """The same for one of the backups; that it is in order is noted.  Raises NotFound too."""
        found = await self.archive(self._shelf.path(name), tell, cancelled)
        backup = self._shelf.get(name)
        verified_at = self._now_ms() if found.ok else None
        self._shelf.note(
            msgspec.structs.replace(
                backup,
                rows=found.rows if found.ok else backup.rows,
                memories=found.memories if found.ok else backup.memories,
                verified_at=verified_at,
                proven_at=backup.proven_at if found.ok else None,
            )
        )
        return found

    async def live(self, tell: Tell, cancelled: Cancel) -> Verified:
        """Look at all of the live store as it is at one moment: files, rows, searches.

        What is in order is remembered file by file, so that the next time finds any bit that changed,
        also in an index.  Raises StoreBusy, Cancelled.
        """
        began = time.monotonic()
        async with self._store.scratch() as folder:
            place = folder / "store"
            try:
                await self._store.link_to(place)
            except StoreError as error:
                if error.retryable:
                    raise
                return _wrong(LIVE, error.message, began)
            directory = self._store.directory
            return await aside(lambda: _look_at_all(place, directory, began, tell, cancelled))

    async def drill(self, tell: Tell, cancelled: Cancel) -> Backup:
        """Restore the newest backup onto an empty scratch machine and compare; noted as its proof.

        Raises Conflict when there is no backup, BackupRefused or StoreError when it does not restore.
        """
        newest = next(iter(self._shelf.list()), None)
        if newest is None:
            raise Conflict("There is no backup yet that a drill could restore.")
        async with self._store.scratch() as folder:
            await aside(lambda: self._restore_beside(folder, newest.name, tell, cancelled))
        proven = msgspec.structs.replace(newest, verified_at=self._now_ms(), proven_at=self._now_ms())
        self._shelf.note(proven)
        return proven

    async def _restore_beside(self, folder: Path, name: str, tell: Tell, cancelled: Cancel) -> None:
        control = Control.open(sqlite_url(folder / "control.sqlite"))
        store = await Store.open(folder / "machine", now_ms=self._now_ms)
        try:
            restoring = Restoring(
                store, control, self._now_ms, key_file=self._key_file, forgotten=nothing_forgotten
            )
            restored = await restoring.restore(
                self._shelf.path(name), made_for="drill", foreign=False, tell=tell, cancelled=cancelled
            )
            contents = await read_whole(store.live)
            if restored.difference.lost or any(table.damaged for table in contents.values()):
                raise StoreError(f"The drill restored {name}, and it is not what it was.")
        finally:
            await store.close()
            control.close()


def _info_is_right(place: Path) -> bool:
    try:
        return is_as_written(place)
    except (StoreError, msgspec.DecodeError, UnicodeDecodeError):
        return False


async def nothing_forgotten(_agent: str) -> frozenset[tuple[str, str]]:
    """For an empty machine, on which nothing can have been forgotten since."""
    return frozenset()


async def _look_at_all(place: Path, directory: Path, began: float, tell: Tell, cancelled: Cancel) -> Verified:
    """Look at links to the files of a generation; what is in order is noted in its directory."""
    paths = [path for path in sorted(place.rglob("*")) if path.is_file()]
    total = sum(path.stat().st_size for path in paths)
    done = [0]

    def on_bytes(count: int) -> None:
        done[0] += count
        tell(done[0], total)

    files = sum_files(place, paths, on_bytes)
    problems = [f"{name} changed on the disk." for name in changed(directory, files)]
    if not _info_is_right(place):
        problems.append("generation.json changed on the disk.")
    contents: dict[str, Contents] = {}
    queries: dict[str, bool] = {}
    if not problems:
        # Bytes that are known to be wrong need not be read, and reading them may do anything.
        contents, queries, problems = await _look(place, cancelled)
    if not problems:
        record(directory, files)
    return Verified(
        name=LIVE,
        rows=sum(len(table.hashes) for table in contents.values()),
        memories=0,
        files=len(paths),
        bytes=total,
        queries=queries,
        problems=tuple(problems),
        took_ms=_since(began),
    )


async def _look(place: Path, cancelled: Cancel) -> tuple[dict[str, Contents], dict[str, bool], list[str]]:
    def heed(_: int) -> None:
        if cancelled():
            raise Cancelled("It was cancelled; nothing was changed.")

    try:
        generation = await open_as_it_is(place)
        contents = await read_whole(generation, heed)
        queries = await probe(generation)
    except StoreError as error:
        return {}, {}, [error.message]
    problems = [
        f"{len(table.damaged):,} rows of {name} are damaged: their hashes do not fit."
        for name, table in contents.items()
        if table.damaged
    ]
    problems += [
        f"A search did not find its own row ({asked})." for asked, found in queries.items() if not found
    ]
    return contents, queries, problems


def _verified(
    name: str,
    unpacked: Unpacked,
    contents: dict[str, Contents],
    queries: dict[str, bool],
    problems: tuple[str, ...],
    began: float,
) -> Verified:
    manifest = unpacked.manifest
    return Verified(
        name=name,
        rows=sum(len(table.hashes) for table in contents.values()),
        memories=manifest.memories,
        files=len(manifest.files),
        bytes=manifest.bytes,
        queries=queries,
        problems=problems,
        took_ms=_since(began),
    )


def _wrong(name: str, problem: str, began: float) -> Verified:
    return Verified(
        name=name,
        rows=0,
        memories=0,
        files=0,
        bytes=0,
        queries={},
        problems=(problem,),
        took_ms=_since(began),
    )


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
