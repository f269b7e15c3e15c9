"""Apply one change to each of many memories, a bounded page at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from noesis.errors import StoreError
from noesis.store import Change, Column, Condition, Store, Table
from noesis.store.filters import equals

PAGE = 128
"""Memories of one page, which is one commit: a writer who comes in between waits for no more than that."""

_REST = 1.0
"""After each page it rests for so many times as long as the page took: others get every second moment."""

_MOST_FAILED = 1000

Tell = Callable[[int, int | None], None]
Stop = Callable[[], bool]


def untold(done: int, total: int | None) -> None:
    """Nobody waits for news of how far it is."""


def never() -> bool:
    """It goes on to its end."""
    return False


class Swept(msgspec.Struct, frozen=True):
    """How many memories were changed, were left because they were not meant any more, and could not be changed.

    `ids` are those that were changed; `stopped`: the rest was left for a later run.
    """

    ids: tuple[str, ...] = ()
    kept: int = 0
    failed: int = 0
    stopped: bool = False


class Sweep:
    """Changes what fits a condition, until nothing fits any more or it is told to stop."""

    def __init__(self, store: Store, table: Table, wanted: Condition) -> None:
        self._store = store
        self._table = table
        self._wanted = wanted & equals(Column.CHUNK, 0)

    async def count(self) -> int:
        """How many memories fit now."""
        return await self._table.count(self._wanted)

    async def run(self, change_of: Callable[[str], Change[bool]], tell: Tell, stop: Stop) -> Swept:
        """Submit `change_of(id)` for each; its answer says whether the memory was changed.

        The condition only finds them: the change asks again, under the write lock.  A memory that
        cannot be written is counted and passed over; a full, busy or read-only store ends it with its
        StoreError, and what was done until then stays done.
        """
        total = await self.count()
        changed: list[str] = []
        passed: dict[str, bool] = {}
        while not stop():
            began = time.monotonic()
            ids = await self._next(passed)
            if not ids or sum(passed.values()) >= _MOST_FAILED:
                return _swept(changed, passed, stopped=bool(ids))
            outcomes = await asyncio.gather(*(self._submit(change_of(memory_id)) for memory_id in ids))
            for memory_id, outcome in zip(ids, outcomes, strict=True):
                if outcome is True:
                    changed.append(memory_id)
                else:
                    passed[memory_id] = outcome is None
            tell(len(changed) + len(passed), max(total, len(changed) + len(passed)))
            await asyncio.sleep((time.monotonic() - began) * _REST)
        return _swept(changed, passed, stopped=True)

    async def _next(self, passed: dict[str, bool]) -> list[str]:
        """The next page, without those that were passed over."""
        rows = await self._table.values([Column.PARENT_ID], self._wanted, PAGE + len(passed))
        return [memory_id for (memory_id,) in rows if memory_id not in passed][:PAGE]

    async def _submit(self, change: Change[bool]) -> bool | None:
        """The change's answer, or None when this memory alone cannot be written."""
        try:
            return await self._store.submit(change)
        except StoreError as error:
            if type(error) is not StoreError:
                raise
            return None


def _swept(changed: list[str], passed: dict[str, bool], *, stopped: bool) -> Swept:
    failed = sum(passed.values())
    return Swept(tuple(changed), len(passed) - failed, failed, stopped)
