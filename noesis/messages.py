"""Wake-up messages in Redis, in arq's format: a job's id and nothing else.

Nothing here raises for Redis' sake.  After a failure Redis is left alone for a moment, so that a
server that is down or hangs costs one request a short wait and the others nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec
from arq.connections import ArqRedis
from redis.asyncio import ConnectionPool
from redis.exceptions import OutOfMemoryError, RedisError

from noesis.ledger import Job

log = logging.getLogger(__name__)

FUNCTION = "wake"
ANSWER_WITHIN_S = 1.0
LEAVE_ALONE_S = 2.0
MAX_SENDING = 8
PROBE_KEY = "noesis:probe"

# A timeout of the socket is redis' own TimeoutError; asyncio's and the system's come as OSError.
REDIS_FAILURES = (RedisError, OSError, asyncio.TimeoutError)

KEPT = "Jobs are kept in the ledger and start with a little delay."


class RedisStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The queue's health.  `since_ms`: when Redis was first found not to work.

    `warning` says what is wrong and `remedy` what to do about it, in a sentence each.
    """

    configured: bool
    reachable: bool
    since_ms: int | None = None
    policy: str | None = None
    warning: str | None = None
    remedy: str | None = None


def connect(url: str, queue: str, *, answer_within_s: float = ANSWER_WITHIN_S) -> ArqRedis:
    """A lazy arq client for a `redis://`, `rediss://` or `unix://` URL, with msgpack for pickle."""
    pool = ConnectionPool.from_url(
        url, socket_timeout=answer_within_s, socket_connect_timeout=answer_within_s, encoding="utf8"
    )
    redis = ArqRedis(
        pool,
        job_serializer=msgspec.msgpack.encode,
        job_deserializer=msgspec.msgpack.decode,
        default_queue_name=queue,
    )
    redis.auto_close_connection_pool = True
    return redis


class Messages:
    """Owns the sending side's connections and knows whether Redis works."""

    def __init__(self, url: str | None, *, queue: str, now_ms: Callable[[], int]) -> None:
        self.url = url
        self.queue = queue
        self._now_ms = now_ms
        self._redis = None if url is None else connect(url, queue)
        self._sending = asyncio.Semaphore(MAX_SENDING)
        self._ask_again_at = 0.0
        self._since_ms: int | None = None
        self._problem: str | None = None

    async def send(self, job: Job) -> bool:
        """Send a job's message; False when Redis did not take it.  Sending it twice changes nothing."""
        loop = asyncio.get_running_loop()
        async with self._sending:
            if self._redis is None or loop.time() < self._ask_again_at:
                return False
            try:
                async with asyncio.timeout(2 * ANSWER_WITHIN_S):
                    await self._enqueue(self._redis, job)
            except REDIS_FAILURES as error:
                self._failed(error)
                return False
            self._works()
            return True

    async def _enqueue(self, redis: ArqRedis, job: Job) -> None:
        delay_ms = max(0, job.not_before_ms - self._now_ms())
        # The claim count makes the message of a second run another one than that of the first,
        # which arq may not have put away yet.
        await redis.enqueue_job(
            FUNCTION, job.id, _job_id=f"{job.id}-{job.claims}", _defer_by=delay_ms / 1000 or None
        )

    def _failed(self, error: BaseException) -> None:
        self._ask_again_at = asyncio.get_running_loop().time() + LEAVE_ALONE_S
        self._problem = type(error).__name__
        if self._since_ms is None:
            self._since_ms = self._now_ms()
            log.warning("Redis does not take messages (%s). %s", self._problem, KEPT)

    def _works(self) -> None:
        if self._since_ms is not None:
            log.info("Redis takes messages again")
        self._since_ms = self._problem = None

    async def status(self) -> RedisStatus:
        """Ask Redis how it is; answers within about two seconds whatever it does."""
        if self._redis is None:
            return RedisStatus(configured=False, reachable=False)
        try:
            async with asyncio.timeout(2 * ANSWER_WITHIN_S):
                memory = await self._redis.info("memory")
                await self._probe(self._redis)
        except REDIS_FAILURES as error:
            self._failed(error)
            return RedisStatus(
                configured=True,
                reachable=False,
                since_ms=self._since_ms,
                warning=f"Redis does not answer ({self._problem}).",
                remedy="Start Redis, or look at NOESIS_REDIS_URL.",
            )
        policy = str(memory.get("maxmemory_policy", "unknown"))
        warning, remedy = self._warning(policy)
        return RedisStatus(
            configured=True,
            reachable=True,
            since_ms=self._since_ms,
            policy=policy,
            warning=warning,
            remedy=remedy,
        )

    async def _probe(self, redis: ArqRedis) -> None:
        """Ask by writing: nobody may have sent a message since it came back."""
        try:
            await redis.set(PROBE_KEY, b"", ex=60)
        except OutOfMemoryError as error:
            self._failed(error)
        else:
            self._works()

    def _warning(self, policy: str) -> tuple[str, str] | tuple[None, None]:
        if self._problem is not None:
            return (
                f"Redis answers but takes no messages ({self._problem}).",
                "Give Redis more memory, or its disk more room.",
            )
        if policy not in ("noeviction", "unknown"):
            return (
                f"Redis may drop messages (its maxmemory-policy is {policy}, not noeviction).",
                "Set maxmemory-policy to noeviction in Redis.",
            )
        return None, None

    async def close(self) -> None:
        """Close the connections."""
        if self._redis is not None:
            await self._redis.aclose()
