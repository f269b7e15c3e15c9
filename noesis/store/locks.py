"""Locks between processes (flock) and the sync that makes commits survive a power cut.

A writer takes `gate`, then `write`, then gives `gate` back: whoever waits holds the gate, so two
busy processes take turns and neither starves.  A swap or a backup takes the same two.  The lock is
exclusive because a commit reads rows, changes them and writes them back: a commit carries all that
has collected meanwhile, so one at a time costs little.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import os
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from noesis.errors import StoreBusy, StoreReadOnly

_POLL_S = 0.002


class FileLock:
    """A lock held by an open file; it ends with the process, however that ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def held(self, timeout_s: float) -> AsyncIterator[None]:
        """Hold the lock.  Raises StoreBusy when it cannot be had in time, StoreReadOnly when not at all."""
        async with self._turn:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreReadOnly(f"The lock file cannot be opened: {error.strerror}.") from error
            try:
                await _acquire(descriptor, timeout_s)
                yield
            finally:
                os.close(descriptor)

    @asynccontextmanager
    async def shared(self, timeout_s: float) -> AsyncIterator[None]:
        """Hold the lock together with others who share it.  Raises StoreBusy; what is read-only needs no lock."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES):
                raise StoreReadOnly(f"The lock file cannot be opened: {error.strerror}.") from error
            yield
            return
        try:
            await _acquire(descriptor, timeout_s, fcntl.LOCK_SH)
            yield
        finally:
            os.close(descriptor)


async def _acquire(descriptor: int, timeout_s: float, kind: int = fcntl.LOCK_EX) -> None:
    """Take the lock by trying: a blocked thread could be neither cancelled nor timed out."""
    deadline = time.monotonic() + timeout_s
    pause = _POLL_S / 8
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreBusy(
                    "Another process holds the store for too long; nothing was written."
                ) from None
            await asyncio.sleep(pause)
            pause = min(pause * 2, _POLL_S)
        else:
            return


class StoreLocks:
    """The locks of one store directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._gate = FileLock(directory / "gate")
        self._write = FileLock(directory / "write")
        self._maintenance = FileLock(directory / "maintenance")
        self._pins = FileLock(directory / "pins")
        self._building = FileLock(directory / "building")
        self._scratch = FileLock(directory / "scratch")

    @asynccontextmanager
    async def writing(self, timeout_s: float = 30.0) -> AsyncIterator[None]:
        """The right to commit."""
        async with AsyncExitStack() as gate:
            await gate.enter_async_context(self._gate.held(timeout_s))
            async with self._write.held(timeout_s):
                await gate.aclose()
                yield

    @asynccontextmanager
    async def maintaining(self, timeout_s: float = 0.0) -> AsyncIterator[None]:
        """The right to compact and to build indexes; does not stop writers."""
        async with self._maintenance.held(timeout_s):
            yield

    @asynccontextmanager
    async def building(self, timeout_s: float = 0.0) -> AsyncIterator[None]:
        """The right to make a sibling generation, and to clear away what is left of others."""
        async with self._building.held(timeout_s):
            yield

    @asynccontextmanager
    async def scratching(self) -> AsyncIterator[None]:
        """The assurance that scratch directories stay; many may have it at once."""
        async with self._scratch.shared(30.0):
            yield

    @asynccontextmanager
    async def clearing(self) -> AsyncIterator[None]:
        """The right to clear scratch directories away.  Raises StoreBusy while one is in use."""
        async with self._scratch.held(0.0):
            yield

    @asynccontextmanager
    async def pinning(self, timeout_s: float = 30.0) -> AsyncIterator[None]:
        """The assurance that no old version is removed; many readers may have it at once."""
        async with self._pins.shared(timeout_s):
            yield

    @asynccontextmanager
    async def pruning(self, timeout_s: float = 0.0) -> AsyncIterator[None]:
        """The right to remove old versions: raises StoreBusy while somebody reads one."""
        async with self._pins.held(timeout_s):
            yield


_libc = ctypes.CDLL(None, use_errno=True)


class DiskSync:
    """Puts everything that was written to the directory's file system on the disk.

    Lance itself never syncs.  One `syncfs` covers all files, directories and links of a commit,
    and those of other processes' commits that it builds on.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    async def sync(self) -> None:
        """Return when all is on disk.  Raises OSError when the disk says it is not."""
        await asyncio.to_thread(self._sync)

    def _sync(self) -> None:
        if not hasattr(_libc, "syncfs"):  # macOS
            os.sync()
            return
        if _libc.syncfs(self._descriptor) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def close(self) -> None:
        """Close the directory."""
        os.close(self._descriptor)
