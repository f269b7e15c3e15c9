"""Ending tasks for certain."""

from __future__ import annotations

import asyncio

from noesis.tasks import end_tasks


async def test_a_task_that_misses_a_cancellation_is_ended_all_the_same() -> None:
    missed = 0

    async def deaf() -> None:
        nonlocal missed
        while missed < 2:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                missed += 1
        await asyncio.sleep(60)

    async def broken() -> None:
        raise ValueError

    tasks = [asyncio.create_task(deaf()), asyncio.create_task(broken())]
    await asyncio.sleep(0)
    await end_tasks(tasks)
    assert missed == 2
    assert tasks[0].cancelled()


async def test_there_may_be_nothing_to_end() -> None:
    await end_tasks([])
