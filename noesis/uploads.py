"""Keeps uploaded files until they are imported, and folders to unpack archives in."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from noesis.errors import (
    InvalidInput,
    NotFound,
    StoreError,
    StoreFull,
    StoreReadOnly,
    TooLarge,
    TooManyRequests,
)

MAX_AGE_MS = 86_400_000
"""What nobody fetched within a day is thrown away."""

_WAITING = 4
_FOLDER = ".d"
_ID_CHARS = 32


class Uploads:
    """Owns one directory; `most_bytes` is the largest upload, and all that wait together have four times that."""

    def __init__(self, directory: Path, now_ms: Callable[[], int], *, most_bytes: int) -> None:
        self._directory = directory
        self._now_ms = now_ms
        self._most_bytes = most_bytes

    async def receive(self, pieces: AsyncIterator[bytes]) -> str:
        """Write what comes to a new file that only its owner can read, and return its id.

        Counts while it writes.  Raises TooLarge, TooManyRequests, InvalidInput when nothing came, or a
        StoreError; then nothing is left.
        """
        await asyncio.to_thread(self.sweep)
        upload, path = await asyncio.to_thread(self._new)
        try:
            with path.open("wb") as file:
                size = await self._copy(pieces, file.write)
            if not size:
                raise InvalidInput("The body is empty: send the file itself.")
            self._stamp(path)
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise _disk_error(error) from error
            raise
        return upload

    async def _copy(self, pieces: AsyncIterator[bytes], write: Callable[[bytes], int]) -> int:
        waiting, size = await asyncio.to_thread(self._size), 0
        async for piece in pieces:
            size += len(piece)
            if size > self._most_bytes:
                raise TooLarge(f"An upload may have at most {self._most_bytes >> 20:,} MB.")
            if waiting + size > _WAITING * self._most_bytes:
                raise TooManyRequests(
                    "Other uploads wait to be imported and fill the room there is for them."
                )
            await asyncio.to_thread(write, piece)
        return size

    def path(self, upload: str) -> Path:
        """The file of an upload.  Raises NotFound."""
        path = self._directory / upload
        if len(upload) != _ID_CHARS or not upload.isalnum() or not path.is_file():
            raise NotFound("The upload is no longer there: it was imported already, or waited for too long.")
        return path

    def discard(self, upload: str) -> None:
        """Throw an upload away, if it is there."""
        if len(upload) == _ID_CHARS and upload.isalnum():
            (self._directory / upload).unlink(missing_ok=True)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new empty folder that is gone afterwards.  Raises a StoreError."""
        folder = self._directory / f"{uuid.uuid4().hex}{_FOLDER}"
        try:
            folder.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise _disk_error(error) from error
        self._stamp(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> int:
        """Throw away what is older than a day; how much that was."""
        gone = 0
        for path in self._entries():
            try:
                age_ms = self._now_ms() - path.stat().st_mtime_ns // 1_000_000
                if age_ms <= MAX_AGE_MS:
                    continue
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            except OSError:
                # Another process sweeps as well, or the disk is at fault: there is a next time.
                continue
            gone += 1
        return gone

    def _new(self) -> tuple[str, Path]:
        upload = uuid.uuid4().hex
        path = self._directory / upload
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600, exist_ok=False)
        except OSError as error:
            raise _disk_error(error) from error
        return upload, path

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._entries() if path.is_file())

    def _entries(self) -> list[Path]:
        return list(self._directory.iterdir()) if self._directory.is_dir() else []

    def _stamp(self, path: Path) -> None:
        """Let the file's age be counted on our clock."""
        now_s = self._now_ms() / 1000
        os.utime(path, (now_s, now_s))


def _disk_error(error: OSError) -> StoreError:
    if error.errno == 28:
        return StoreFull("There is no room left on the disk for the upload.")
    if error.errno in (13, 30):
        return StoreReadOnly("The data directory cannot be written; nothing was taken.")
    return StoreError(f"The upload could not be kept: {error.strerror}.")
