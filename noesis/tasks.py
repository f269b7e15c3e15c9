"""Ending background tasks for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

ASK_AGAIN_S = 0.2


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended, however they end.

    A task may miss one cancellation: up to Python 3.11 `asyncio.wait_for`, which the Redis client
    uses, drops it when its result comes at the same moment.  So this asks again until it is heard.
    """
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        ended, pending = await asyncio.wait(pending, timeout=ASK_AGAIN_S)
        for task in ended:
            # Looked at, so that the loop does not report it as forgotten.
            if not task.cancelled():
                task.exception()
