"""Reads a generation whole: a small one here, a large one in a process of its own, which gives way.

Hashing rows takes the interpreter, and a thread of low priority that has it is not given the processor
to be done with it: beside a backup of 100,000 rows in this process a search took 1.7 times as long (p95),
with this process 1.1 to 1.3 times (two cores).  A process also takes with it what damaged files do to the
library that reads them.

`python -m noesis.backup.surveying DIRECTORY DEPTH` is that process: one line of JSON comes out.
"""

from __future__ import annotations

import asyncio
import enum
import os
import sys
import threading
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import msgspec

from noesis.backup.archive import Cancel, heed
from noesis.backup.aside import give_way
from noesis.errors import StoreError
from noesis.store.calls import MENDING
from noesis.store.filters import EVERYTHING
from noesis.store.generations import Generation, open_as_it_is
from noesis.store.whole import ALONE, BESIDE_SEARCHES, Pace, Survey, summed, surveyed

LARGE = 20_000
"""Fewer rows are read in less time than a process takes to start (about 1.5 s)."""

_HEED_S = 0.1
_NICENESS = 19
"""The least claim there is: nobody waits for what this process holds."""


class Depth(enum.StrEnum):
    """How deep a survey goes: the hashes as they are stored, or every value read and hashed anew."""

    STORED = "stored"
    ANEW = "anew"


class _Told(msgspec.Struct):
    """What the process says: what it found, or why it found nothing."""

    survey: Survey | None = None
    error: str | None = None


async def survey(place: Path, depth: Depth, cancelled: Cancel = lambda: False) -> Survey:
    """What the generation in a directory holds, of which nobody writes.  Raises StoreError or Cancelled."""
    generation = await open_as_it_is(place)
    if await _rows(generation) < LARGE:
        return await _here(generation, depth, BESIDE_SEARCHES, cancelled)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, str(place), depth.value, stdin=PIPE, stdout=PIPE
    )
    try:
        return _understood(await _heard(process, cancelled), process.returncode)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _rows(generation: Generation) -> int:
    return await generation.active.count(EVERYTHING) + await generation.archive.count(EVERYTHING)


async def _here(
    generation: Generation, depth: Depth, pace: Pace, cancelled: Cancel = lambda: False
) -> Survey:
    if depth is Depth.STORED:
        return await summed(generation, pace)
    return await surveyed(generation, pace, lambda _: heed(cancelled))


async def _heard(process: Process, cancelled: Cancel) -> bytes:
    """All that it says until it ends.  Raises Cancelled."""
    assert process.stdout is not None
    saying = asyncio.ensure_future(process.stdout.read())
    while not saying.done():
        await asyncio.wait([saying], timeout=_HEED_S)
        heed(cancelled)
    await process.wait()
    return saying.result()


def _understood(said: bytes, code: int | None) -> Survey:
    try:
        told = msgspec.json.decode(said, type=_Told)
    except msgspec.DecodeError as error:
        raise StoreError(f"Reading the store ended the process that read it ({code}). {MENDING}") from error
    if told.survey is None:
        raise StoreError(told.error or MENDING)
    return told.survey


def main() -> None:
    """Survey what the arguments name."""
    give_way(_NICENESS)
    threading.Thread(target=_end_with_caller, daemon=True).start()
    place, depth = Path(sys.argv[1]), Depth(sys.argv[2])
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(_told(place, depth))))


async def _told(place: Path, depth: Depth) -> _Told:
    try:
        return _Told(survey=await _here(await open_as_it_is(place), depth, ALONE))
    except StoreError as error:
        return _Told(error=error.message)


def _end_with_caller() -> None:
    # Nothing is ever written to it: it closes when the caller ends, however that ends.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
