"""Work aside has the least claim on the processor, and has ended when its caller goes on."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from noesis.backup.aside import NICENESS, aside
from noesis.errors import Cancelled
from tests.backup.machine import machine

LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="threads have priorities of their own on Linux only"
)


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@LINUX
async def test_the_thread_and_those_it_starts_give_way_and_no_other() -> None:
    here, before = threading.get_ident(), niceness()

    async def work() -> tuple[int, int, int]:
        return threading.get_ident(), niceness(), await asyncio.to_thread(niceness)

    thread, own, started = await aside(work)
    assert thread != here
    assert own == started == max(before, NICENESS)
    assert niceness() == await asyncio.to_thread(niceness) == before


async def test_an_error_comes_out_as_it_is() -> None:
    async def work() -> None:
        raise Cancelled("It was cancelled.")

    with pytest.raises(Cancelled, match="It was cancelled"):
        await aside(work)


async def test_a_caller_that_is_cancelled_goes_on_once_the_work_has_ended() -> None:
    began, ended = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            # It puts away what it had in hand first.
            await asyncio.sleep(0.05)
            ended.set()

    caller = asyncio.create_task(aside(work))
    await asyncio.to_thread(began.wait)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert ended.is_set()


@LINUX
async def test_a_backup_is_written_and_proven_aside(tmp_path: Path) -> None:
    """Not on the threads that answer searches: there it would hold each of them up."""
    seen: set[int] = set()

    def cancelled() -> bool:
        seen.add(niceness())
        return False

    async with machine(tmp_path / "m") as here:
        await here.write(*range(3))
        made = await here.backups.create(cancelled=cancelled)
        assert seen == {max(niceness(), NICENESS)}
        seen.clear()
        assert (await here.backups.verify(made.name, cancelled=cancelled)).ok
        assert (await here.backups.verify_live(cancelled=cancelled)).ok
        assert seen == {max(niceness(), NICENESS)}
