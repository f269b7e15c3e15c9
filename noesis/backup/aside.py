"""Work that gives way: on a thread and an event loop of its own, with the least claim on the processor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

NICENESS = 10
"""Of a core that others want, a thread gets about a tenth: 110 parts to 1,024 (sched(7))."""


async def aside(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What `work` returns, or raises.  It may block, and the threads that it starts give way as well.

    When the caller is cancelled, so is the work, which has ended then.
    """
    running = _Running(work)
    executor = ThreadPoolExecutor(1, "noesis-aside", initializer=give_way)
    ended = asyncio.get_running_loop().run_in_executor(executor, running.run)
    executor.shutdown(wait=False)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        running.cancel()
        # The files that it reads must not be taken from under it.
        await asyncio.wait([ended])
        if not ended.cancelled():
            ended.exception()  # asked for, or asyncio logs that nobody did
        raise


class _Running:
    def __init__(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._work = work
        self._began: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._is_cancelled = False

    def run(self) -> Any:
        return asyncio.run(self._watched())

    async def _watched(self) -> Any:
        task = asyncio.current_task()
        assert task is not None
        self._began = asyncio.get_running_loop(), task
        if self._is_cancelled:
            raise asyncio.CancelledError
        return await self._work()

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._began is not None:
            loop, task = self._began
            # It may have ended just now, and its loop with it.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)


def give_way(niceness: int = NICENESS) -> None:
    """Lower the priority of this thread for good, where the system knows priorities of single threads."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
