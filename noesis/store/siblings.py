"""Sibling generations: made beside the live one, and swapped in by one rename of a one-line file."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from noesis.crash_points import crash_point
from noesis.embedding.base import EmbedderIdentity
from noesis.errors import StoreError
from noesis.store.calls import write_error
from noesis.store.generations import (
    Generation,
    create_empty,
    current_name,
    open_as_it_is,
    read_info,
    write_file,
    write_info,
)
from noesis.store.schema import Row

_DIGITS = 4


class Sibling:
    """A generation in the making: a directory of its own that nothing names yet.

    Whoever makes one holds the `building` lock.
    """

    def __init__(self, store_dir: Path) -> None:
        self.name = _free_name(store_dir)
        self.directory = store_dir / "generations" / self.name
        self._opened: Generation | None = None

    async def opened(self) -> Generation:
        """Its tables.  Raises StoreError or StoreIncompatible."""
        if self._opened is None:
            self._opened = await open_as_it_is(self.directory)
        return self._opened

    async def create(self, embedder: EmbedderIdentity, now_ms: int) -> Generation:
        """Make it empty, for vectors of this embedder.  Raises a StoreError."""
        try:
            await create_empty(self.directory, now_ms)
        except OSError as error:
            raise write_error(error) from error
        write_info(self.directory, msgspec.structs.replace(read_info(self.directory), embedder=embedder))
        generation = await self.opened()
        for table in (generation.active, generation.archive):
            await table.add_vectors(embedder.dimension)
        return generation

    def describe(self, *, previous: str | None, made_by: str, made_for: str | None, now_ms: int) -> None:
        """Say in `generation.json` where it comes from; its schema and embedder stay."""
        info = read_info(self.directory)
        described = msgspec.structs.replace(
            info, previous=previous, made_by=made_by, made_for=made_for, created_at=now_ms
        )
        write_info(self.directory, described)

    async def put(self, rows: Sequence[Row], *, archived: bool) -> None:
        """Write rows as they are; those of a memory that stood elsewhere have to be dropped by `drop`."""
        generation = await self.opened()
        table = generation.archive if archived else generation.active
        widths = {len(row.vector) for row in rows if row.vector is not None}
        if widths and await table.dimension() is None:
            for each in (generation.active, generation.archive):
                await each.add_vectors(max(widths))
        await table.upsert(rows)

    async def drop(self, row_ids: Sequence[str]) -> None:
        """Delete rows from both tables."""
        generation = await self.opened()
        for table in (generation.active, generation.archive):
            await table.delete(row_ids)


def _free_name(store_dir: Path) -> str:
    taken = [int(name) for name in _names(store_dir) if name.isdigit()]
    return str(max(taken, default=0) + 1).zfill(_DIGITS)


def _names(store_dir: Path) -> list[str]:
    generations = store_dir / "generations"
    return [path.name for path in generations.iterdir()] if generations.is_dir() else []


def point_to(store_dir: Path, name: str) -> None:
    """Let CURRENT name this generation; only under the write lock, with all of it on the disk.

    Raises StoreError when there is no such generation that this version can read.
    """
    read_info(store_dir / "generations" / name)
    crash_point("swap: before the pointer")
    write_file(store_dir / "CURRENT", name.encode() + b"\n")
    crash_point("swap: after the pointer")


def previous_of(store_dir: Path) -> str | None:
    """The generation that an undo goes back to, or None."""
    name = current_name(store_dir)
    if name is None:
        return None
    try:
        previous = read_info(store_dir / "generations" / name).previous
    except StoreError:
        return None
    there = previous is not None and (store_dir / "generations" / previous).is_dir()
    return previous if there else None


async def clear_leftovers(store_dir: Path) -> list[str]:
    """Remove the generations that are neither live nor the one before; only under the building lock."""
    keep = {current_name(store_dir), previous_of(store_dir)}
    if None in keep and len(keep) == 1:
        return []
    gone = [name for name in _names(store_dir) if name not in keep]
    for name in gone:
        await asyncio.to_thread(shutil.rmtree, store_dir / "generations" / name, ignore_errors=True)
    return gone
