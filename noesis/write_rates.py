"""How fast each agent may write: a token bucket for each, in the memory of this process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import msgspec

from noesis.agents import Agents
from noesis.errors import TooManyRequests

_MOST_BUCKETS = 10_000


class _Bucket(msgspec.Struct):
    """What is left, and when that was worked out (s)."""

    left: float
    at: float


class WriteRates:
    """Lets an agent store or change so many memories a minute; a whole minute's worth may come at once."""

    def __init__(self, agents: Agents, default: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._agents = agents
        self._default = default
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    async def per_minute(self, agent: str) -> int:
        """How many writes a minute an agent may make, 0 = as many as it likes."""
        own = (await self._agents.policy(agent)).writes_per_minute
        return self._default if own is None else own

    async def take(self, agent: str) -> None:
        """Count one write.  Raises TooManyRequests, and then it was not counted."""
        rate = await self.per_minute(agent)
        if rate == 0:
            return
        bucket = self._filled(agent, rate)
        if bucket.left < 1:
            wait = math.ceil((1 - bucket.left) * 60 / rate)
            raise TooManyRequests(
                f"{agent} may write {rate:,} memories a minute. Nothing was stored; try again in {wait} s.",
                retry_after_s=wait,
            )
        bucket.left -= 1

    def _filled(self, agent: str, rate: int) -> _Bucket:
        """The agent's bucket with what has come into it since."""
        now = self._clock()
        bucket = self._buckets.get(agent)
        if bucket is None:
            if len(self._buckets) >= _MOST_BUCKETS:
                self._forget_full(now)
            bucket = self._buckets[agent] = _Bucket(float(rate), now)
        bucket.left = min(float(rate), bucket.left + (now - bucket.at) * rate / 60)
        bucket.at = now
        return bucket

    def _forget_full(self, now: float) -> None:
        """One that was not used for a minute is full again, and as good as none."""
        self._buckets = {agent: each for agent, each in self._buckets.items() if now - each.at < 60}
