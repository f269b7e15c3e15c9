"""The worker's sign of life, for health checks and for people."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import sqlalchemy as sa

from noesis.control import Control
from noesis.errors import StoreError

logger = logging.getLogger(__name__)

BEAT_S = 10.0
GONE_AFTER_MS = 60_000
"""A worker that gave no sign for so long is taken for gone."""

_KEY = "worker_seen_at"


class Presence:
    """Writes and reads when a worker was last alive (ms since 1970)."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def keep(self) -> None:
        """Give a sign every few seconds until cancelled."""
        while True:
            try:
                await self._control.set_value(_KEY, str(self._now_ms()))
            except (sa.exc.SQLAlchemyError, StoreError) as error:
                # A full disk must not end the worker; the sign that stays out says it.
                logger.warning("no sign of life could be written: %s", type(error).__name__)
            await asyncio.sleep(BEAT_S)

    async def seen_at(self) -> int | None:
        """When a worker was last alive, or None when there never was one."""
        value = await self._control.value(_KEY)
        return None if value is None else int(value)

    async def is_there(self) -> bool:
        """Whether a worker gave a sign within the last minute."""
        seen = await self.seen_at()
        return seen is not None and self._now_ms() - seen < GONE_AFTER_MS
