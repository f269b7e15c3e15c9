"""The way from an earlier row format to this version's: rows are written anew into a sibling, and the old ones stay.

Each change of `SCHEMA_VERSION` adds one step to `STEPS`.  A step sees whole batches of rows as Arrow
tables and never touches the disk; a kill at any moment leaves the old generation live, and the next
start begins again.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from noesis.crash_points import crash_point
from noesis.errors import StoreError, StoreIncompatible
from noesis.store.calls import write_error
from noesis.store.filters import EVERYTHING
from noesis.store.former import second_of_first, third_of_second
from noesis.store.generations import (
    ACTIVE,
    ARCHIVE,
    connect,
    create_empty,
    current_name,
    open_as_it_is,
    read_info,
    write_info,
)
from noesis.store.locks import DiskSync, StoreLocks
from noesis.store.recovery import is_readable, newest_readable
from noesis.store.schema import SCHEMA_VERSION, dimension_of
from noesis.store.siblings import Sibling, clear_leftovers, point_to
from noesis.store.tables import Table

log = logging.getLogger(__name__)

MADE_BY = "upgrade"
_BATCH = 4096
_TOLD_EVERY = 25
"""Batches after which progress is told: about 8 seconds of work."""
_WAITS_S = 600.0
_IN_EVERY_FORMAT = ("id",)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What makes of rows of format `to - 1` rows of format `to`; `what` says it for people.

    `change` gets every column of its format and gives every one of the next.
    """

    to: int
    what: str
    change: Callable[[pa.Table], pa.Table]


STEPS: tuple[Step, ...] = (
    Step(to=2, what="All values of a row lie in one column as well.", change=second_of_first),
    Step(
        to=3,
        what="Rows have the numbers of their places, by which neighbours are found.",
        change=third_of_second,
    ),
)
"""In order; the first format was 1."""


def steps_from(version: int, steps: Sequence[Step]) -> list[Step]:
    """The steps from a format to this version's.  Raises StoreIncompatible when one is missing."""
    found = sorted((step for step in steps if step.to > version), key=lambda step: step.to)
    if [step.to for step in found] != list(range(version + 1, SCHEMA_VERSION + 1)):
        raise StoreIncompatible(
            f"These memories are of format {version}, from which this version of Noesis knows no way to its own"
            f" ({SCHEMA_VERSION}). Start a version in between first; nothing was changed."
        )
    return found


async def migrate(store_dir: Path, locks: StoreLocks, disk: DiskSync, now_ms: int) -> None:
    """Bring the live generation to this version's format, if it is of an earlier one.

    Nobody writes meanwhile.  The former generation stays beside it.  Raises StoreIncompatible, StoreBusy
    or a StoreError; then nothing was changed.
    """
    if not _is_old(store_dir):
        return
    async with locks.building(_WAITS_S), locks.writing(_WAITS_S):
        name = current_name(store_dir)
        if name is None or not _is_old(store_dir):
            return
        await clear_leftovers(store_dir)
        sibling = Sibling(store_dir)
        log.info("memories of an earlier format are written anew; until then nothing is answered")
        try:
            old = store_dir / "generations" / name
            await _readable(old, store_dir / "quarantine")
            await upgrade(old, sibling.directory, STEPS, now_ms)
            sibling.describe(previous=name, made_by=MADE_BY, made_for=None, now_ms=now_ms)
            crash_point("upgrade: before the swap")
            await disk.sync()
            point_to(store_dir, sibling.name)
            log.info("memories are of format %d now; the former ones stay beside them", SCHEMA_VERSION)
        except OSError as error:
            raise write_error(error) from error
        finally:
            await clear_leftovers(store_dir)


async def upgrade(old: Path, new: Path, steps: Sequence[Step], now_ms: int) -> None:
    """Write a generation of this version's format from one of an earlier one.  Raises a StoreError or OSError."""
    info = read_info(old)
    way = steps_from(info.schema_version, steps)
    await create_empty(new, now_ms)
    write_info(new, msgspec.structs.replace(read_info(new), embedder=info.embedder))
    connection, generation = await connect(old), await open_as_it_is(new)
    for target in (generation.active, generation.archive):
        await _rewrite(Table(await connection.open_table(target.name)), target, way)
        crash_point("upgrade: a table written")


async def upgrade_in_place(directory: Path) -> None:
    """The same for a directory that nobody else uses, as an archive was unpacked into.  Raises a StoreError."""
    info, new = read_info(directory), directory.with_name(f"{directory.name}.upgraded")
    try:
        await upgrade(directory, new, STEPS, info.created_at)
        await asyncio.to_thread(shutil.rmtree, directory)
        new.rename(directory)
    except OSError as error:
        raise write_error(error) from error


async def _rewrite(old: Table, new: Table, way: Sequence[Step]) -> None:
    schema = await old.handle.schema()
    dimension = dimension_of(schema)
    if dimension is not None:
        await new.add_vectors(dimension)
    total, written, batches = await old.count(EVERYTHING), 0, 0
    async for piece in old.pieces(schema.names, EVERYTHING, _BATCH):
        rows = piece
        for step in way:
            rows = step.change(rows)
        await new.add(rows)
        written, batches = written + rows.num_rows, batches + 1
        if batches % _TOLD_EVERY == 0:
            log.info("%d of %d rows of %s are written anew", written, total, new.name)


def _is_old(store_dir: Path) -> bool:
    """Whether the live generation is of an earlier format; what cannot be read is not this module's matter."""
    name = current_name(store_dir)
    try:
        return (
            name is not None and read_info(store_dir / "generations" / name).schema_version < SCHEMA_VERSION
        )
    except StoreIncompatible:
        raise
    except StoreError:
        return False


async def _readable(directory: Path, quarantine: Path) -> None:
    """Go back to the newest versions that can be read, as a start after a power cut does."""
    connection = await connect(directory)
    for table in (ACTIVE, ARCHIVE):
        if not await is_readable(connection, table, _IN_EVERY_FORMAT):
            await newest_readable(connection, directory, table, quarantine, _IN_EVERY_FORMAT)
