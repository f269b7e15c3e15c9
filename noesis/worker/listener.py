"""Hears wake-up messages through arq, for ever, whatever Redis does.

arq's worker ends when Redis goes away; this starts a new one with growing pauses.  The only
function arq runs is ringing the bell, so nothing is lost when it dies: jobs run in the Runner.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from arq.connections import ArqRedis
from arq.worker import Worker, func

from noesis.messages import FUNCTION, REDIS_FAILURES, connect
from noesis.tasks import end_tasks

log = logging.getLogger(__name__)

POLL_S = 0.25
ANSWER_WITHIN_S = 5.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
MAX_AT_ONCE = 100


class Listener:
    """Owns arq's worker and its connection; `ring` is called for every message."""

    def __init__(self, url: str, queue: str, ring: Callable[[], None]) -> None:
        self._url = url
        self._queue = queue
        self._ring = ring
        self._worker: Worker | None = None
        self._hearing = False
        self._pause_s = FIRST_PAUSE_S

    @property
    def hearing(self) -> bool:
        """Whether Redis answered when last asked."""
        return self._hearing

    def take_messages(self, wanted: bool) -> None:
        """Leave messages to other workers while this one has no room."""
        if self._worker is not None:
            self._worker.allow_pick_jobs = wanted

    async def listen(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                await self._listen_once()
            except REDIS_FAILURES as error:
                if self._hearing:
                    log.warning("Redis does not answer (%s); polling the ledger", type(error).__name__)
                self._hearing = False
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 2)

    async def _listen_once(self) -> None:
        redis = connect(self._url, self._queue, answer_within_s=ANSWER_WITHIN_S)
        worker = self._worker = self._new_worker(redis)
        try:
            await worker.main()
        finally:
            self._worker = None
            await _put_away(worker, redis)

    def _new_worker(self, redis: ArqRedis) -> Worker:
        async def wake(ctx: dict[Any, Any], *args: Any, **kwargs: Any) -> None:  # noqa: ARG001 - arq's names
            self._ring()

        async def started(ctx: dict[Any, Any]) -> None:  # noqa: ARG001 - arq's name
            log.info("Redis answers; listening for messages")
            self._hearing = True
            self._pause_s = FIRST_PAUSE_S
            # Messages may have been lost while nobody listened.
            self._ring()

        return Worker(
            [func(wake, name=FUNCTION)],
            redis_pool=redis,
            queue_name=self._queue,
            job_serializer=redis.job_serializer,
            job_deserializer=redis.job_deserializer,
            on_startup=started,
            handle_signals=False,
            poll_delay=POLL_S,
            job_timeout=5,
            keep_result=0,
            max_jobs=MAX_AT_ONCE,
        )


async def _put_away(worker: Worker, redis: ArqRedis) -> None:
    # Not arq's own close(): it talks to Redis, which may be gone.
    await end_tasks(worker.tasks.values())
    await redis.aclose()
