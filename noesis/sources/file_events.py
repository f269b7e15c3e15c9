"""Takes the kernel's word for what happens in a set of folders."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from watchfiles import Change

# Its own documentation describes the direct use, under "Rust backend". The public functions would follow
# links to folders, and cannot tell the moment from which events are caught.
from watchfiles._rust_notify import RustNotify

_LONGEST_GROUPING = 8  # debounces: a file that is written to all the time must not hold back its events
_POLL_MS = 2_000  # only where the system knows no such events at all

FileChange = tuple[Change, str]


class EventsUnavailable(Exception):
    """The system gives no events for these folders; the message says why."""


class FileEvents:
    """What happens in each of `folders`, not below them, from when this is made until `close`.

    The folders are absolute paths.  Making one may block.  Raises FileNotFoundError when a folder is
    gone, EventsUnavailable when the system has no events to give.
    """

    def __init__(self, folders: Sequence[str], debounce_ms: int) -> None:
        self._debounce_ms = debounce_ms
        self._stopped = threading.Event()
        try:
            # Permission errors are raised: to ignore them hides every other error as well.
            self._notify = RustNotify(list(folders), False, False, _POLL_MS, False, False)
        except FileNotFoundError:
            raise
        except (OSError, RuntimeError) as error:
            raise EventsUnavailable(f"the system gives no file events: {error}") from None
        # A wait lasts as long as the watch does, which would take a thread from everybody else's.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="file-events")

    async def wait(self, timeout_ms: int) -> list[FileChange] | None:
        """What happened, once nothing more has for the debounce; empty after `timeout_ms` without anything.

        None when events were lost: one names a file whose name is no text.
        """
        loop = asyncio.get_running_loop()
        try:
            raw = await loop.run_in_executor(self._thread, self._wait, timeout_ms)
        except RuntimeError:
            return None
        if isinstance(raw, str):
            return []
        return sorted((Change(change), path) for change, path in raw)

    def _wait(self, timeout_ms: int) -> set[tuple[int, str]] | Literal["signal", "stop", "timeout"]:
        grouping = self._debounce_ms * _LONGEST_GROUPING
        return self._notify.watch(grouping, self._debounce_ms, timeout_ms, self._stopped)

    async def close(self) -> None:
        """End the events and the thread; takes one debounce at most."""
        self._stopped.set()
        await asyncio.to_thread(self._thread.shutdown)
        self._notify.close()
