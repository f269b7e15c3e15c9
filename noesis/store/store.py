"""The opened store: what the operations hold."""

from __future__ import annotations

import asyncio
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from noesis.embedding.base import EmbedderIdentity
from noesis.errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from noesis.events import Witness
from noesis.memory import DAY_MS

# Without it LanceDB prints a warning for every query.
os.environ.setdefault("LANCE_LOG", "error")

from noesis.store.calls import write_error
from noesis.store.filters import EVERYTHING, Column, one_of
from noesis.store.generations import (
    GenerationInfo,
    create_empty,
    create_generation,
    current_name,
    open_as_it_is,
    open_generation,
)
from noesis.store.linking import link_newest
from noesis.store.live import Live, stamp_of
from noesis.store.locks import DiskSync, StoreLocks
from noesis.store.maintenance import TableState, Upkeep
from noesis.store.migrations import migrate
from noesis.store.pinned import Pinned, pin
from noesis.store.recovery import QUARANTINE, Dropped, note, noted_since, sweep
from noesis.store.siblings import Sibling, clear_leftovers, point_to, previous_of
from noesis.store.tables import Table
from noesis.store.vector_index import IndexPolicy
from noesis.store.writer import Change, Writer, drop_copies, shared_memories

T = TypeVar("T")

_FIRST = "0001"
_SCRATCH = "scratch"
_SWAP_WAITS_S = 600.0
"""A backup or a swap waits so long for its turn: an optimisation of a large store takes minutes."""

_DEFAULT_POLICY = IndexPolicy()


class Store:
    """Both tables of the live generation, and the writer."""

    def __init__(
        self,
        directory: Path,
        generation: Live,
        locks: StoreLocks,
        disk: DiskSync,
        policy: IndexPolicy,
        now_ms: Callable[[], int],
        witness: Witness | None = None,
    ) -> None:
        self._store_dir = directory
        self._generation = generation
        self._now_ms = now_ms
        self._locks = locks
        self._disk = disk
        self._upkeep = Upkeep(generation, locks, policy)
        self._policy = policy
        self._embedder: tuple[str, EmbedderIdentity] | None = None
        self._adopted: EmbedderIdentity | None = None
        self.damaged = False
        self._lost: list[Dropped] = []
        self.writer = Writer(generation, locks, disk, now_ms, witness, self._is_of_another_embedder)

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        now_ms: Callable[[], int],
        policy: IndexPolicy = _DEFAULT_POLICY,
        witness: Witness | None = None,
        despite_damage: bool = False,
    ) -> Store:
        """Open the store in a directory (absolute), or make an empty one; `witness` is told of every change.

        Rows of an earlier version's format are written anew first, beside the old ones.

        Raises StoreReadOnly, StoreIncompatible or StoreError.  With `despite_damage` an empty stand-in
        takes the place of tables that cannot be read, for a restore alone: `damaged` says so then.
        """
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            locks = StoreLocks(directory / "locks")
            disk = DiskSync(directory)
        except OSError as error:
            raise StoreReadOnly(f"{directory} cannot be used: {error.strerror}.") from error
        if current_name(directory) is None:
            async with locks.writing():
                if current_name(directory) is None:
                    await create_generation(directory, _FIRST, now_ms())
        await migrate(directory, locks, disk, now_ms())
        stamp = stamp_of(directory)
        name = current_name(directory) or _FIRST
        damaged = False
        lost: list[Dropped] = []
        try:
            opened = await open_generation(directory, name, policy.depth, locks)
        except StoreError as error:
            if not despite_damage or type(error) is not StoreError:
                raise
            damaged = True
            await create_empty(directory / _SCRATCH / "stand-in", now_ms())
            opened = await open_as_it_is(directory / _SCRATCH / "stand-in")
        generation = Live(directory, opened, stamp, policy.depth)
        if not damaged:
            at = now_ms()
            lost = [msgspec.structs.replace(each, at=at) for each in opened.dropped]
            # On a full disk this process tells of it all the same; it must not keep it from starting.
            with suppress(OSError):
                note(directory / QUARANTINE, lost)
            await _sweep_if_quiet(directory, generation, locks)
        store = cls(directory, generation, locks, disk, policy, now_ms, witness)
        store.damaged = damaged
        store._lost = lost
        return store

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Versions that could not be read at the start, as a power cut leaves them."""
        return self._generation.dropped

    def dropped_lately(self) -> list[Dropped]:
        """What any process had to set aside within the last day."""
        since = self._now_ms() - DAY_MS
        told = noted_since(self._store_dir / QUARANTINE, since)
        return told + [each for each in self._lost if each.at >= since and each not in told]

    @property
    def active(self) -> Table:
        """The memories that live."""
        return self._generation.active

    @property
    def archive(self) -> Table:
        """The memories that expired or were deleted."""
        return self._generation.archive

    @property
    def directory(self) -> Path:
        """The live generation's directory."""
        return self._generation.directory

    async def submit(self, change: Change[T]) -> T:
        """Commit a change; returns when it is on the disk.  Raises what it raises, or a StoreError."""
        return await self.writer.submit(change)

    async def mend(self) -> int:
        """Take out of the archive what a move that was cut short left in both tables; how many rows.

        The start does so too, unless another process is at work then.  Raises a StoreError.
        """
        torn = await shared_memories(self._generation)
        if not torn:
            return 0
        async with self._locks.writing():
            await self._generation.follow()
            return await drop_copies(self._generation, one_of(Column.PARENT_ID, torn))

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """Whose vectors the store holds; None before the first one."""
        if self._embedder is None or self._embedder[0] != self._generation.name:
            name, identity = self._generation.name, self._generation.info.embedder
            self._embedder = None if identity is None else (name, identity)
        return None if self._embedder is None else self._embedder[1]

    async def adopt(self, identity: EmbedderIdentity) -> bool:
        """Whether vectors of this embedder may be stored: the first one to come is recorded for good."""
        await self._generation.follow()
        if self.embedder is None:
            async with self._locks.writing():
                await self._generation.follow()
                if self.embedder is None:
                    self._generation.record_embedder(identity)
        if self.embedder != identity:
            return False
        self._adopted = identity
        return True

    def _is_of_another_embedder(self) -> bool:
        """Whether the live generation holds another embedder's vectors than this process made until now.

        A swap may come between the making of a vector and its commit.
        """
        return self._adopted is not None and self.embedder not in (None, self._adopted)

    def pinned(self) -> AbstractAsyncContextManager[Pinned]:
        """Both tables as they are in this instant, for as long as it takes to read them.  Raises a StoreError."""
        return pin(self._generation, self._locks)

    async def maintain(self, *, force: bool = False) -> int:
        """Compact, prune and index the tables that need it; returns how many did.  Raises StoreBusy."""
        return await self._upkeep.maintain(force=force)

    async def tidy(self, sibling: Sibling) -> None:
        """Compact and index a sibling, so that it answers as fast as the live generation.  Raises a StoreError."""
        upkeep = Upkeep(await sibling.opened(), self._locks, self._policy)
        await upkeep.maintain(force=True, wait_s=_SWAP_WAITS_S)

    async def states(self) -> tuple[TableState, TableState]:
        """How the active table and the archive lie on the disk."""
        return await self._upkeep.state(self.active), await self._upkeep.state(self.archive)

    @property
    def live(self) -> Live:
        """The live generation itself."""
        return self._generation

    @property
    def place(self) -> Path:
        """The directory of all generations and locks."""
        return self._store_dir

    @property
    def current(self) -> str | None:
        """What CURRENT names."""
        return current_name(self._store_dir)

    @property
    def previous(self) -> str | None:
        """The generation that an undo goes back to, or None."""
        return previous_of(self._store_dir)

    @property
    def info(self) -> GenerationInfo:
        """What is recorded of the live generation.  Raises StoreError."""
        return self._generation.info

    def generation_dir(self, name: str) -> Path:
        """Where a generation lies."""
        return self._store_dir / "generations" / name

    @asynccontextmanager
    async def scratch(self) -> AsyncIterator[Path]:
        """An empty directory on the store's file system that is gone afterwards.  Raises a StoreError."""
        folder = self._store_dir / _SCRATCH / uuid.uuid4().hex
        async with self._locks.scratching():
            try:
                folder.mkdir(parents=True, mode=0o700)
                yield folder
            except OSError as error:
                raise write_error(error) from error
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    @asynccontextmanager
    async def building(self) -> AsyncIterator[Sibling]:
        """Make a sibling generation; it is removed again at the end unless it was swapped in.

        Raises StoreBusy when another one is in the making.
        """
        async with self._locks.building():
            await clear_leftovers(self._store_dir)
            sibling = Sibling(self._store_dir)
            try:
                yield sibling
            finally:
                await clear_leftovers(self._store_dir)

    async def swap_to(self, name: str, last: Callable[[], Awaitable[T]] | None = None) -> T | None:
        """Make a sibling the live generation, in every process and without a restart.

        `last` is called while nobody writes, right before: for what has to be taken over, or compared,
        at that very moment; its answer is returned.  When it raises, nothing is swapped.  At any moment
        the old or the new generation is whole.  Raises a StoreError.
        """
        async with self._locks.writing(_SWAP_WAITS_S):
            await self._generation.follow()
            result = None if last is None else await last()
            try:
                await self._disk.sync()
                await asyncio.to_thread(point_to, self._store_dir, name)
            except OSError as error:
                raise write_error(error) from error
            await self._generation.follow()
            return result

    async def link_to(self, directory: Path, last: Callable[[], Awaitable[T]] | None = None) -> T | None:
        """Link the files of both tables, as they are at one moment, into a directory of this file system.

        `last` is called at that moment, while nobody writes.  Raises a StoreError.
        """
        async with self._locks.maintaining(_SWAP_WAITS_S), self._locks.writing(_SWAP_WAITS_S):
            await self._generation.follow()
            try:
                await asyncio.to_thread(link_newest, self._generation.directory, directory)
            except OSError as error:
                raise write_error(error) from error
            return None if last is None else await last()

    async def close(self) -> None:
        """Finish what was submitted."""
        await self.writer.close()
        self._disk.close()


async def _sweep_if_quiet(store_dir: Path, generation: Live, locks: StoreLocks) -> None:
    """Clear away what a kill left, unless another process is at work or the disk takes nothing."""
    try:
        async with locks.maintaining(), locks.writing(timeout_s=0):
            await asyncio.to_thread(sweep, generation.directory)
            await drop_copies(generation, EVERYTHING)
        async with locks.building():
            await clear_leftovers(store_dir)
        async with locks.clearing():
            await asyncio.to_thread(shutil.rmtree, store_dir / _SCRATCH, ignore_errors=True)
    except (StoreBusy, StoreFull, StoreReadOnly):
        return
