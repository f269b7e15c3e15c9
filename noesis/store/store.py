"""The opened store: what the operations hold."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from noesis.embedding.base import EmbedderIdentity
from noesis.errors import StoreBusy, StoreFull, StoreReadOnly
from noesis.events import Witness

# Without it LanceDB prints a warning for every query.
os.environ.setdefault("LANCE_LOG", "error")

from noesis.store.filters import EVERYTHING
from noesis.store.generations import Generation, create_generation, current_name, open_generation
from noesis.store.locks import DiskSync, StoreLocks
from noesis.store.maintenance import TableState, Upkeep
from noesis.store.recovery import Dropped, sweep
from noesis.store.tables import Table
from noesis.store.vector_index import IndexPolicy
from noesis.store.writer import Change, Writer, drop_copies

T = TypeVar("T")

_FIRST = "0001"
_DEFAULT_POLICY = IndexPolicy()


class Store:
    """Both tables of the live generation, and the writer."""

    def __init__(
        self,
        generation: Generation,
        locks: StoreLocks,
        disk: DiskSync,
        policy: IndexPolicy,
        now_ms: Callable[[], int],
        witness: Witness | None = None,
    ) -> None:
        self._generation = generation
        self._locks = locks
        self._disk = disk
        self._upkeep = Upkeep(generation, locks, policy)
        self._embedder: EmbedderIdentity | None = None
        self.writer = Writer(generation, locks, disk, now_ms, witness)

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        now_ms: Callable[[], int],
        policy: IndexPolicy = _DEFAULT_POLICY,
        witness: Witness | None = None,
    ) -> Store:
        """Open the store in a directory (absolute), or make an empty one; `witness` is told of every change.

        Raises StoreReadOnly, StoreIncompatible or StoreError.
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
        name = current_name(directory) or _FIRST
        generation = await open_generation(directory, name, policy.nprobes, locks)
        await _sweep_if_quiet(generation, locks)
        return cls(generation, locks, disk, policy, now_ms, witness)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Versions that could not be read at the start, as a power cut leaves them."""
        return self._generation.dropped

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

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """Whose vectors the store holds; None before the first one."""
        if self._embedder is None:
            self._embedder = self._generation.info.embedder
        return self._embedder

    async def adopt(self, identity: EmbedderIdentity) -> bool:
        """Whether vectors of this embedder may be stored: the first one to come is recorded for good."""
        if self.embedder is None:
            async with self._locks.writing():
                if self.embedder is None:
                    self._generation.record_embedder(identity)
        return self.embedder == identity

    async def maintain(self, *, force: bool = False) -> int:
        """Compact, prune and index the tables that need it; returns how many did.  Raises StoreBusy."""
        return await self._upkeep.maintain(force=force)

    async def states(self) -> tuple[TableState, TableState]:
        """How the active table and the archive lie on the disk."""
        return await self._upkeep.state(self.active), await self._upkeep.state(self.archive)

    async def close(self) -> None:
        """Finish what was submitted."""
        await self.writer.close()
        self._disk.close()


async def _sweep_if_quiet(generation: Generation, locks: StoreLocks) -> None:
    """Clear away what a kill left, unless another process is at work or the disk takes nothing."""
    try:
        async with locks.maintaining(), locks.writing(timeout_s=0):
            await asyncio.to_thread(sweep, generation.directory)
            await drop_copies(generation, EVERYTHING)
    except (StoreBusy, StoreFull, StoreReadOnly):
        return
