"""Copies of backups in a bucket: sent, read back and compared, kept by the same rules, fetched again.

An archive `NAME` there counts once `NAME.json` lies beside it, which is written after the archive was
read back and found to be what was sent.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from noesis.backup.archive import Cancel, check_room
from noesis.backup.keeping import KeepRules, to_remove
from noesis.backup.shelf import Shelf, is_name
from noesis.backup.values import Backup, CopyState
from noesis.bucket.place import SCHEME, Place
from noesis.control import Control
from noesis.crash_points import crash_point
from noesis.errors import BucketFailed, Cancelled, Conflict, NotFound
from noesis.store.locks import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noesis.bucket.bucket import Bucket

Tell = Callable[[int, int], None]

HERE = "here"
"""How the directory of backups is called among the places where one lies."""

PAUSES_S = (1.0, 4.0)
"""How long to wait before a request is tried a second and a third time."""

TIMEOUT_S = 60.0
"""How long the bucket may say nothing, or take no more bytes."""

_ASK_S = 15.0
"""The same for a list that somebody waits for."""

_STATE = "backup_copies"
_NOTE = ".json"


class Copies:
    """Owns what lies in the bucket under one prefix, as far as this instance put it there."""

    def __init__(
        self, place: Place | None, shelf: Shelf, control: Control, now_ms: Callable[[], int], rules: KeepRules
    ) -> None:
        self.place = place
        self.pauses_s: tuple[float, ...] = PAUSES_S
        self.timeout_s = TIMEOUT_S
        self._shelf = shelf
        self._control = control
        self._now_ms = now_ms
        self._rules = rules

    @property
    def enabled(self) -> bool:
        """Whether the settings name a bucket."""
        return self.place is not None

    @property
    def address(self) -> str | None:
        """What people call the bucket and the folder in it; None: there is none."""
        return None if self.place is None else self.place.address

    def address_of(self, name: str) -> str:
        """The address of a backup in the bucket."""
        return f"{self.address}/{name}"

    def name_of(self, given: str) -> str:
        """The name of a backup in the bucket, of its name or address.  Raises Conflict, InvalidInput, NotFound."""
        place = self._expect_bucket()
        name = place.name_in(given) if given.startswith(SCHEME) else given
        if not is_name(name):
            raise NotFound(f"There is no backup of this name in {place.address}.")
        return name

    async def state(self) -> CopyState:
        """How the copies stood when the bucket was last spoken to; nothing is asked now."""
        where = "" if self.place is None else f"{self.place.endpoint} {self.place.address}"
        stored = await self._control.value(_STATE)
        state = CopyState() if stored is None else msgspec.json.decode(stored, type=CopyState)
        return state if state.place == where else CopyState(place=where)

    async def copy_new(self, instance: str, tell: Tell, cancelled: Cancel) -> str | None:
        """Copy the verified backups that are not in the bucket yet, the newest first, and keep the rules there.

        Returns why it failed, in words, or None; a failure is noted and everything here stays.  Raises
        Cancelled, and StoreBusy when another process is at it.
        """
        self._shelf.prepare()
        async with FileLock(self._shelf.directory / ".copying").held(0.0):
            try:
                await asyncio.to_thread(self._copy_new, instance, tell, cancelled)
                held = await asyncio.to_thread(self._tidy, instance)
            except (BucketFailed, OSError) as error:
                words = (
                    error.message if isinstance(error, BucketFailed) else f"A file failed: {error.strerror}."
                )
                await self._note_failure(words)
                return words
        await self.note_held(held)
        return None

    async def held(self) -> list[Backup]:
        """What lies in the bucket now, newest first, of other instances too.  Raises Conflict, BucketFailed."""
        self._expect_bucket()

        def ask() -> list[Backup]:
            with self._opened(patient=False) as bucket:
                return _held(bucket)

        return await asyncio.to_thread(ask)

    async def note_held(self, held: Iterable[Backup]) -> None:
        """Note what lies there, after a try that went well."""
        now, place = self._now_ms(), (await self.state()).place
        await self._write(CopyState(place=place, tried_at=now, copied_at=now, held=tuple(held)))

    async def fetch(self, name: str, folder: Path, tell: Tell, cancelled: Cancel) -> Path:
        """Fetch an archive into a folder; it is what its note says.

        Raises Conflict without a bucket, NotFound, StoreFull, Cancelled, BucketFailed or OSError.
        """
        self._expect_bucket()
        return await asyncio.to_thread(self._fetch, name, folder, tell, cancelled)

    def _copy_new(self, instance: str, tell: Tell, cancelled: Cancel) -> None:
        with self._opened() as bucket:
            there = _held(bucket)
            names = {backup.name for backup in _of(there, instance)}
            here = [backup for backup in self._shelf.list() if _is_to_copy(backup)]
            gone = {backup.name for backup in to_remove(_together(_of(there, instance), here), self._rules)}
            missing = [backup for backup in here if backup.name not in names and backup.name not in gone]
            counted = _Counted(tell, 2 * sum(backup.size for backup in missing))
            for backup in missing:
                _copy(
                    bucket,
                    self._shelf.path(backup.name),
                    backup,
                    instance,
                    self._now_ms(),
                    counted,
                    cancelled,
                )

    def _tidy(self, instance: str) -> list[Backup]:
        """Delete what no rule keeps of this instance's copies; what lies there then."""
        with self._opened() as bucket:
            held = _held(bucket)
            gone = {backup.name for backup in to_remove(_of(held, instance), self._rules)}
            for name in gone:
                bucket.delete(bucket.place.key(name))
                bucket.delete(bucket.place.key(name + _NOTE))
            return [backup for backup in held if backup.name not in gone]

    def _fetch(self, name: str, folder: Path, tell: Tell, cancelled: Cancel) -> Path:
        with self._opened() as bucket:
            place = bucket.place
            sizes = {found.key: found.size for found in bucket.list(place.key(name))}
            if place.key(name) not in sizes:
                raise NotFound(f"There is no backup of this name in {place.address}.")
            size = sizes[place.key(name)]
            check_room(folder, size)
            noted = _noted(bucket, name) if place.key(name + _NOTE) in sizes else None
            counted, target = _Counted(tell, size), folder / name
            with target.open("xb") as file:
                digest = _read_all(bucket, name, counted, cancelled, file.write)
        if noted is not None and noted.sha256 not in (None, digest):
            raise BucketFailed(
                f"{name} in {place.address} is not what was copied there: its SHA-256 differs."
            )
        return target

    async def _note_failure(self, words: str) -> None:
        now, before = self._now_ms(), await self.state()
        since = before.failing_since if before.error is not None else now
        await self._write(msgspec.structs.replace(before, tried_at=now, error=words, failing_since=since))

    async def _write(self, state: CopyState) -> None:
        await self._control.set_value(_STATE, msgspec.json.encode(state).decode())

    def _expect_bucket(self) -> Place:
        if self.place is None:
            raise Conflict("No bucket is set: name it in NOESIS_BACKUP_S3_BUCKET.")
        return self.place

    @contextmanager
    def _opened(self, *, patient: bool = True) -> Iterator[Bucket]:
        # Loaded where it is used: most instances have no bucket, and most commands speak to none.
        from noesis.bucket.bucket import Bucket
        from noesis.bucket.http import BucketHttp

        http = BucketHttp(
            self._expect_bucket(),
            self._now_ms,
            timeout_s=self.timeout_s if patient else min(self.timeout_s, _ASK_S),
            pauses_s=self.pauses_s if patient else (),
        )
        try:
            yield Bucket(http)
        finally:
            http.close()


class _Counted:
    """Counts the bytes that went either way."""

    def __init__(self, tell: Tell, total: int) -> None:
        self._tell = tell
        self._total = total
        self._done = 0

    def __call__(self, count: int) -> None:
        self._done += count
        self._tell(self._done, self._total)


def _copy(
    bucket: Bucket,
    path: Path,
    backup: Backup,
    instance: str,
    now_ms: int,
    counted: _Counted,
    cancelled: Cancel,
) -> None:
    """Send one archive, read it back, and note that it is whole.  Raises BucketFailed, Cancelled, OSError."""
    place, name = bucket.place, backup.name
    if bucket.list(place.key(name)):
        _refuse_others(bucket, name, instance)
    sent = bucket.put(path, place.key(name), counted, cancelled)
    crash_point("copy: sent")
    if backup.sha256 not in (None, sent):
        bucket.delete(place.key(name))
        raise BucketFailed(f"{name} changed on the disk here since it was verified; it was not copied.")
    if _read_all(bucket, name, counted, cancelled, lambda _: None) != sent:
        bucket.delete(place.key(name))
        raise BucketFailed(
            f"{place.address} gave other bytes back than were sent; the copy of {name} was deleted."
        )
    crash_point("copy: compared")
    noted = msgspec.structs.replace(backup, instance=instance, sha256=sent, copied_at=now_ms)
    bucket.put_small(place.key(name + _NOTE), msgspec.json.format(msgspec.json.encode(noted)))
    crash_point("copy: noted")


def _refuse_others(bucket: Bucket, name: str, instance: str) -> None:
    """Raise BucketFailed where another instance keeps a backup of the same name."""
    place = bucket.place
    if any(found.key == place.key(name + _NOTE) for found in bucket.list(place.key(name))):
        noted = _noted(bucket, name)
        if noted is None or noted.instance != instance:
            raise BucketFailed(
                f"Another instance keeps its backups in {place.address}. Nothing of its was changed: give each a"
                " NOESIS_BACKUP_S3_PREFIX of its own."
            )


def _read_all(
    bucket: Bucket, name: str, counted: _Counted, cancelled: Cancel, put: Callable[[bytes], object]
) -> str:
    """Read an archive from the bucket; its SHA-256."""
    digest = hashlib.sha256()
    for piece in bucket.pieces(bucket.place.key(name)):
        digest.update(piece)
        put(piece)
        counted(len(piece))
        if cancelled():
            raise Cancelled("It was cancelled; what was copied before stays.")
    return digest.hexdigest()


def _held(bucket: Bucket) -> list[Backup]:
    """The archives that have their note beside them, newest first."""
    start = bucket.place.key("")
    names = {found.key.removeprefix(start) for found in bucket.list(start)}
    whole = [name for name in sorted(names) if is_name(name) and name + _NOTE in names]
    noted = [found for name in whole if (found := _noted(bucket, name)) is not None]
    return sorted(noted, key=lambda backup: (backup.created_at, backup.name), reverse=True)


def _noted(bucket: Bucket, name: str) -> Backup | None:
    try:
        found = msgspec.json.decode(bucket.small(bucket.place.key(name + _NOTE)), type=Backup)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return msgspec.structs.replace(found, name=name)


def _is_to_copy(backup: Backup) -> bool:
    """What was brought in by hand lies elsewhere already, and what was never compared is no backup yet."""
    return backup.verified_at is not None and backup.kind != "uploaded"


def _of(backups: Iterable[Backup], instance: str) -> list[Backup]:
    return [backup for backup in backups if backup.instance == instance]


def _together(there: Iterable[Backup], here: Iterable[Backup]) -> list[Backup]:
    return list({backup.name: backup for backup in (*there, *here)}.values())
