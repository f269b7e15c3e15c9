"""All that is done with backups, as entry points call it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec

from noesis.backup.archive import MANIFEST, Cancel, write_archive
from noesis.backup.checking import Checking
from noesis.backup.comparing import Forgotten
from noesis.backup.copies import HERE, Copies
from noesis.backup.keeping import KeepRules
from noesis.backup.looks import Looks
from noesis.backup.part import PartRestoring
from noesis.backup.shelf import PARTIAL, Shelf, check_name, described
from noesis.backup.taking import Taking, Tell, instance_id
from noesis.backup.undoing import Undoing
from noesis.backup.values import (
    Backup,
    Beside,
    Brought,
    Listed,
    Made,
    Manifest,
    Preview,
    Restored,
    Verified,
    Wanted,
)
from noesis.bucket.place import place_of
from noesis.control import Control
from noesis.errors import BackupRefused, Cancelled, Conflict, InvalidInput, NotFound, StoreBusy, StoreError
from noesis.settings import Settings
from noesis.store import Store
from noesis.store.calls import write_error

_PIECE = 1 << 20


def silent(_done: int, _total: int) -> None:
    """For who does not want to hear of progress."""


def never() -> bool:
    """For who cannot cancel."""
    return False


class Backups:
    """Makes, lists, verifies and restores backups of one instance."""

    def __init__(
        self,
        store: Store,
        control: Control,
        settings: Settings,
        now_ms: Callable[[], int],
        forgotten: Forgotten,
    ) -> None:
        """Raises SettingsError where the settings name a bucket that can be none."""
        key_file = settings.backup_key_file
        self.shelf = Shelf(settings.backups_dir)
        rules = KeepRules(
            last=settings.backup_keep_last,
            daily=settings.backup_keep_daily,
            weekly=settings.backup_keep_weekly,
            monthly=settings.backup_keep_monthly,
        )
        self.looks = Looks(settings.data_dir / "looks", now_ms)
        self.copies = Copies(place_of(settings), self.shelf, control, now_ms, rules)
        self._taking = Taking(store, control, self.shelf, now_ms, rules=rules, key_file=key_file)
        self._restoring = Undoing(store, control, now_ms, key_file=key_file, forgotten=forgotten)
        self._part = PartRestoring(store, key_file=key_file, forgotten=forgotten)
        self._checking = Checking(store, self.shelf, now_ms, key_file=key_file)
        self._store = store
        self._control = control
        self._now_ms = now_ms

    async def list(self) -> list[Backup]:
        """All backups, newest first."""
        return await asyncio.to_thread(self.shelf.list)

    async def everywhere(self) -> Sequence[Listed]:
        """All backups, newest first, with where each lies; the bucket as it was when it was last spoken to."""
        here, held = await self.list(), (await self.copies.state()).held
        names = {backup.name for backup in here}
        copied = {(backup.name, backup.instance) for backup in held}
        found = [
            Listed(
                backup,
                (HERE, self.copies.address_of(backup.name))
                if (backup.name, backup.instance) in copied
                else (HERE,),
            )
            for backup in here
        ]
        found += [
            Listed(backup, (self.copies.address_of(backup.name),))
            for backup in held
            if backup.name not in names
        ]
        return sorted(found, key=lambda each: (each.backup.created_at, each.backup.name), reverse=True)

    async def get(self, name: str) -> Backup:
        """One backup.  Raises NotFound."""
        return await asyncio.to_thread(self.shelf.get, name)

    async def create(
        self, *, scheduled: bool = False, tell: Tell = silent, cancelled: Cancel = never
    ) -> Made:
        """Make a backup, and copy it and those before it to the bucket, if there is one.

        Raises StoreBusy, StoreFull, StoreError, Cancelled; a copy that fails is told in the answer.
        """
        made = await self._taking.take("scheduled" if scheduled else "manual", tell, cancelled)
        try:
            copy_error = await self.copy(tell, cancelled)
        except (Cancelled, StoreBusy) as error:
            copy_error = error.message
        return Made(**msgspec.structs.asdict(made), copy_error=copy_error)

    async def copy(self, tell: Tell = silent, cancelled: Cancel = never) -> str | None:
        """Copy what is not in the bucket yet; why that failed, or None.  Raises StoreBusy, Cancelled."""
        if not self.copies.enabled:
            return None
        return await self.copies.copy_new(await instance_id(self._control), tell, cancelled)

    async def fetch(self, name: str, tell: Tell = silent, cancelled: Cancel = never) -> Backup:
        """Fetch a backup from the bucket (a name, or its `s3://` address) and list it, once it was looked at.

        One that is here already is the answer.  Raises Conflict without a bucket, InvalidInput, NotFound,
        StoreFull, Cancelled, BucketFailed.
        """
        name = self.copies.name_of(name)
        if (self.shelf.directory / name).is_file():
            return await self.get(name)
        async with self._store.scratch() as folder:
            try:
                fetched = await self.copies.fetch(name, folder, tell, cancelled)
            except OSError as error:
                raise write_error(error) from error
            return await self._list(fetched, cancelled)

    async def verify(self, name: str, tell: Tell = silent, cancelled: Cancel = never) -> Verified:
        """Look at all of a backup.  Raises NotFound, StoreFull, SettingsError, Cancelled."""
        return await self._checking.backup(name, tell, cancelled)

    async def verify_file(self, path: Path, tell: Tell = silent, cancelled: Cancel = never) -> Verified:
        """The same for an archive that lies elsewhere."""
        return await self._checking.archive(_file(path), tell, cancelled)

    async def verify_live(self, tell: Tell = silent, cancelled: Cancel = never) -> Verified:
        """Look at all of the live store.  Raises StoreBusy, Cancelled."""
        return await self._checking.live(tell, cancelled)

    async def drill(self, tell: Tell = silent, cancelled: Cancel = never) -> Backup:
        """Restore the newest backup beside and compare.  Raises Conflict, BackupRefused, StoreError."""
        return await self._checking.drill(tell, cancelled)

    async def preview(self, path: Path, tell: Tell = silent, cancelled: Cancel = never) -> Preview:
        """What a restore would do.  Raises BackupRefused, StoreIncompatible, StoreFull."""
        return await self._restoring.preview(_file(path), tell, cancelled)

    async def restore(
        self,
        path: Path,
        *,
        made_for: str,
        safety_backup: bool = True,
        foreign: bool = False,
        tell: Tell = silent,
        cancelled: Cancel = never,
    ) -> Restored:
        """Restore an archive whole, after a backup of what is there now.

        Raises as `Restoring.restore` does, and StoreError when the backup before it cannot be made.
        """
        done = await self._restoring.finished(made_for)
        if done is not None:
            return done
        # Looked at first: a backup before a restore that is refused would be for nothing.
        looked = await self._restoring.preview(_file(path), tell, cancelled)
        now = looked.difference
        name = None
        if safety_backup and now.lost + now.changed + now.same:
            name = await self._before(tell, cancelled)
        restored = await self._restoring.restore(
            path, made_for=made_for, foreign=foreign, tell=tell, cancelled=cancelled
        )
        return msgspec.structs.replace(restored, safety_backup=name)

    async def _before(self, tell: Tell, cancelled: Cancel) -> str:
        try:
            return (await self._taking.take("safety", tell, cancelled)).name
        except StoreError as error:
            raise type(error)(
                f"The backup before the restore could not be made, and nothing was restored: {error.message}"
                " To restore without it, skip the safety backup."
            ) from error

    async def undo(self, *, made_for: str) -> Restored:
        """Go back to before the last restore.  Raises Conflict."""
        return await self._restoring.undo(made_for=made_for)

    async def settle(self) -> bool:
        """Finish a restore that was killed after its swap."""
        return await self._restoring.settle()

    async def beside(
        self, path: Path, wanted: Wanted, limit: int = 50, tell: Tell = silent, cancelled: Cancel = never
    ) -> Sequence[Beside]:
        """A part of a backup beside what is there now."""
        return await self._part.beside(_file(path), wanted, limit, tell, cancelled)

    async def bring(
        self, path: Path, wanted: Wanted, actor: str, tell: Tell = silent, cancelled: Cancel = never
    ) -> Brought:
        """Bring a part of a backup back."""
        return await self._part.bring(_file(path), wanted, actor, tell, cancelled)

    async def lay_out(self, folder: Path) -> Manifest:
        """Lay out in a folder what an archive holds, without tokens and password.  Raises a StoreError."""
        return await self._taking.lay_out(folder)

    async def take_in(self, folder: Path, name: str) -> Backup:
        """List what was laid out in a folder as a backup, once it was looked at.

        Raises BackupRefused when it is nothing of the kind or was changed, Conflict, StoreError.
        """
        check_name(name)
        async with self._store.scratch() as scratch:
            packed = scratch / name
            await asyncio.to_thread(_pack, folder, packed)
            return await self.receive(name, _pieces_of(packed))

    async def receive(self, name: str, pieces: AsyncIterator[bytes]) -> Backup:
        """Take in an archive that is sent, and list it once it was looked at.

        Raises InvalidInput for a name, Conflict when it is there, BackupRefused when it is none.
        """
        check_name(name)
        self.shelf.prepare()
        target = self.shelf.directory / name
        if target.exists():
            raise Conflict("There is a backup of this name already.")
        async with self._store.scratch() as folder:
            sent = folder / name
            try:
                with sent.open("xb") as file:
                    async for piece in pieces:
                        await asyncio.to_thread(file.write, piece)
            except OSError as error:
                raise write_error(error) from error
            return await self._list(sent, never)

    async def _list(self, archive: Path, cancelled: Cancel) -> Backup:
        """List an archive that came from elsewhere, once it was looked at.  Raises InvalidInput."""
        found = await self._checking.archive(archive, silent, cancelled)
        if not found.ok:
            raise InvalidInput(" ".join(found.problems), field="name")
        self.shelf.prepare()
        partial = self.shelf.directory / f"{archive.name}{PARTIAL}"
        await asyncio.to_thread(_copy, archive, partial)
        backup = msgspec.structs.replace(described(archive), verified_at=self._now_ms())
        self.shelf.put(partial, backup)
        return backup


def _pack(folder: Path, target: Path) -> None:
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
        write_archive(folder, manifest, target, lambda _count: None, never)
    except (msgspec.DecodeError, FileNotFoundError) as error:
        raise BackupRefused("This holds no snapshot of Noesis.") from error
    except OSError as error:
        raise write_error(error) from error


async def _pieces_of(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _file(path: Path) -> Path:
    if not path.is_file():
        raise NotFound(f"There is no file {path.name}.")
    return path
