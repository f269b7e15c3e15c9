"""Backup: one moment of everything in one archive, which is listed once it was opened and compared."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from noesis import __version__
from noesis.backup import encryption
from noesis.backup.archive import CONTROL, MANIFEST, STORE, Cancel, check_room, write_archive
from noesis.backup.aside import aside
from noesis.backup.control_copy import INSTANCE_ID, copy_to
from noesis.backup.keeping import KeepRules, to_remove
from noesis.backup.shelf import PARTIAL, Shelf
from noesis.backup.surveying import Depth, survey
from noesis.backup.unpacking import examine, unpack
from noesis.backup.values import FORMAT, Backup, Kind, Manifest
from noesis.control import Control
from noesis.crash_points import crash_point
from noesis.errors import StoreError
from noesis.store import Store
from noesis.store.calls import write_error
from noesis.store.checksums import FileSum, changed, record, sum_files
from noesis.store.generations import read_info
from noesis.store.locks import FileLock

Tell = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""


class Taking:
    """Takes backups, one at a time whichever process wants one."""

    def __init__(
        self,
        store: Store,
        control: Control,
        shelf: Shelf,
        now_ms: Callable[[], int],
        *,
        rules: KeepRules,
        key_file: Path | None,
    ) -> None:
        self._store = store
        self._control = control
        self._shelf = shelf
        self._now_ms = now_ms
        self._rules = rules
        self._key_file = key_file

    async def take(self, kind: Kind, tell: Tell, cancelled: Cancel) -> Backup:
        """Make a backup and return it; writers wait for milliseconds only.

        Raises StoreBusy when another one is being made, StoreFull, StoreError when the live store is
        damaged or the archive does not hold what it should, Cancelled; then no archive is left.
        """
        self._shelf.prepare()
        async with FileLock(self._shelf.directory / ".lock").held(0.0), self._store.scratch() as folder:
            self._shelf.clear_partials()
            name = self._shelf.free_name(self._now_ms(), _prefix(kind), self._key_file is not None)
            partial = self._shelf.directory / f"{name}{PARTIAL}"
            try:
                manifest = await self._gather(folder, tell)
                directory = self._store.directory

                async def make() -> Backup:
                    self._write(folder, manifest, partial, tell, cancelled)
                    await self._prove(partial, folder, manifest, tell, cancelled)
                    record(directory, _of_store(manifest.files))
                    crash_point("backup: verified")
                    return self._describe(name, kind, manifest, partial)

                backup = await aside(make)
                self._shelf.put(partial, backup)
                crash_point("backup: listed")
            except OSError as error:
                raise write_error(error) from error
            finally:
                partial.unlink(missing_ok=True)
        await self.prune()
        return backup

    async def lay_out(self, folder: Path) -> Manifest:
        """Lay out in a folder what an archive holds, for others to keep: without tokens and password.

        Raises StoreBusy, StoreFull, or StoreError when the live store is damaged.
        """
        manifest = await self._gather(folder, lambda _done, _total: None, for_others=True)
        encoded = msgspec.json.format(msgspec.json.encode(manifest))
        await asyncio.to_thread((folder / MANIFEST).write_bytes, encoded)
        return manifest

    async def _gather(self, folder: Path, tell: Tell, *, for_others: bool = False) -> Manifest:
        """Lay all files out in a folder: copies of the control state, links to the tables."""

        # The control state first: what it says of a file or a turn is in the tables by then.
        async def copy_control() -> None:
            copy_to(self._control, folder / CONTROL, for_others=for_others)

        await aside(copy_control)
        await self._store.link_to(folder / STORE)
        crash_point("backup: linked")
        directory, instance = self._store.directory, await instance_id(self._control)
        return await aside(lambda: self._sum_up(folder, directory, instance, tell))

    async def _sum_up(self, folder: Path, directory: Path, instance: str, tell: Tell) -> Manifest:
        """What was laid out, read whole: its rows, its files."""
        found = await survey(folder / STORE, Depth.STORED)
        info = read_info(folder / STORE)
        files = self._sum(folder, directory, tell)
        return Manifest(
            format=FORMAT,
            schema_version=info.schema_version,
            product_version=__version__,
            instance=instance,
            created_at=self._now_ms(),
            embedder=info.embedder,
            tables=found.tables,
            memories=found.memories,
            files=tuple(files),
        )

    def _sum(self, folder: Path, directory: Path, tell: Tell) -> list[FileSum]:
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        total = sum(path.stat().st_size for path in paths)
        check_room(self._shelf.directory, 2 * total)
        files = sum_files(folder, paths, _teller(tell, 0, total))
        if damaged := changed(directory, _of_store(files)):
            raise StoreError(
                f"The store is damaged: {len(damaged)} of its files changed since they were recorded."
                " No backup was made and no older one removed; `noesis verify` says more."
            )
        return files

    def _write(self, folder: Path, manifest: Manifest, partial: Path, tell: Tell, cancelled: Cancel) -> None:
        on_bytes = _teller(tell, 1, manifest.bytes)
        if self._key_file is None:
            write_archive(folder, manifest, partial, on_bytes, cancelled)
        else:
            plain = folder / "plain"
            write_archive(folder, manifest, plain, on_bytes, cancelled)
            encryption.encrypt(plain, partial, self._key_file)
            plain.unlink()
        crash_point("backup: partial written")

    async def _prove(
        self, partial: Path, folder: Path, manifest: Manifest, tell: Tell, cancelled: Cancel
    ) -> None:
        """Open what was written and compare all of it.  Raises StoreError or BackupRefused."""
        proof = folder / "proof"
        proof.mkdir()
        on_bytes = _teller(tell, 2, manifest.bytes)
        unpacked = await unpack(partial, proof, self._key_file, on_bytes, cancelled)
        found = await examine(unpacked, cancelled)
        if found.problems:
            raise StoreError(
                f"The backup was not kept, because it does not prove right: {' '.join(found.problems)}"
                " Older ones stay; `noesis verify` looks at the store itself."
            )

    def _describe(self, name: str, kind: Kind, manifest: Manifest, partial: Path) -> Backup:
        [whole] = sum_files(partial.parent, [partial], lambda _: None)
        return Backup(
            name=name,
            created_at=manifest.created_at,
            size=whole.size,
            kind=kind,
            rows=sum(table.rows for table in manifest.tables.values()),
            memories=manifest.memories,
            instance=manifest.instance,
            product_version=manifest.product_version,
            verified_at=self._now_ms(),
            key=None if self._key_file is None else encryption.public_key(self._key_file),
            sha256=whole.sha256,
        )

    async def prune(self) -> list[str]:
        """Remove the backups that no rule keeps; their names."""
        gone = [backup.name for backup in to_remove(self._shelf.list(), self._rules)]
        for name in gone:
            self._shelf.remove(name)
        return gone


def _of_store(files: Iterable[FileSum]) -> list[FileSum]:
    """The files of the generation, as they are called in it."""
    start = f"{STORE}/"
    return [
        msgspec.structs.replace(file, path=file.path.removeprefix(start))
        for file in files
        if file.path.startswith(start)
    ]


async def instance_id(control: Control) -> str:
    """What tells this instance from others; made at the first use."""
    known = await control.value(INSTANCE_ID)
    if known is None:
        await control.set_value(INSTANCE_ID, uuid.uuid4().hex)
        known = await control.value(INSTANCE_ID)
    return known or ""


def _prefix(kind: Kind) -> str:
    return "before-restore" if kind == "safety" else "noesis"


def _teller(tell: Tell, step: int, total: int) -> Callable[[int], None]:
    """Counts the bytes of one of the three times that they are read."""
    done = [0]

    def on_bytes(count: int) -> None:
        done[0] += count
        tell(step * total + done[0], 3 * total)

    return on_bytes
