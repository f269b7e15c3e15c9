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
from noesis.backup.surveying import Depth, survey
from noesis.backup.taking import Tell
from noesis.backup.unpacking import Examined, Unpacked, examine, unpack
from noesis.backup.values import Backup, Verified
from noesis.control import Control, sqlite_url
from noesis.errors import BackupRefused, Conflict, StoreError, StoreIncompatible
from noesis.store import Store
from noesis.store.checksums import changed, record, sum_files
from noesis.store.generations import is_as_written
from noesis.store.whole import Survey

LIVE = "the live store"
_NOTHING = Survey({}, 0)


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
                return _verified(path.name, unpacked, await examine(unpacked, cancelled), began)

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
            found = await survey(store.directory, Depth.ANEW, cancelled)
            if restored.difference.lost or any(found.damaged.values()):
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
    found = _NOTHING
    if not problems:
        # Bytes that are known to be wrong need not be read, and reading them may do anything.
        try:
            found = await survey(place, Depth.ANEW, cancelled)
            problems = found.problems
        except StoreError as error:
            problems = [error.message]
    if not problems:
        record(directory, files)
    return Verified(
        name=LIVE,
        rows=found.rows,
        memories=found.memories,
        files=len(paths),
        bytes=total,
        queries=found.queries,
        problems=tuple(problems),
        took_ms=_since(began),
    )


def _verified(name: str, unpacked: Unpacked, examined: Examined, began: float) -> Verified:
    manifest = unpacked.manifest
    found = examined.survey or _NOTHING
    return Verified(
        name=name,
        rows=found.rows,
        memories=manifest.memories,
        files=len(manifest.files),
        bytes=manifest.bytes,
        queries=found.queries,
        problems=examined.problems,
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
