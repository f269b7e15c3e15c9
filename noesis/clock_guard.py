"""Can the clock be believed?  What has expired and what is purged is decided by it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from noesis.control import Control
from noesis.memory import DAY_MS, to_datetime

_KEY = "clock_seen"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

BACK_MS = 3_600_000
"""Time that goes back by more than this is no correction of a drifting clock."""
JUMP_MS = DAY_MS
"""Nor is a step ahead of more than this while the machine ran on."""
AWAY_MS = 30 * DAY_MS
"""After so long without a look nobody can tell a machine that was off from a clock that jumped."""


class Uptime(msgspec.Struct, frozen=True):
    """How long a machine has been on (ms, sleep included), and which of its starts that counts from."""

    boot: str
    ms: int


class _Seen(msgspec.Struct, frozen=True):
    """The time (ms since 1970) and the uptime at the last look that could be believed."""

    now_ms: int
    uptime: Uptime | None = None


class ClockGuard:
    """Compares the clock with the newest time that was believed, and with how long the machine has run."""

    def __init__(
        self, control: Control, now_ms: Callable[[], int], uptime: Callable[[], Uptime | None]
    ) -> None:
        self._control = control
        self._now_ms = now_ms
        self._uptime = uptime

    async def doubt(self) -> str | None:
        """Why the clock is not to be believed, as a sentence; None when it is."""
        raw = await self._control.value(_KEY)
        if raw is None:
            return None
        seen = msgspec.json.decode(raw, type=_Seen)
        return _doubt(seen, _Seen(self._now_ms(), self._uptime()))

    async def believe(self) -> None:
        """The time is right as it is now, whatever it was before."""
        seen = _Seen(self._now_ms(), self._uptime())
        await self._control.set_value(_KEY, msgspec.json.encode(seen).decode())

    async def look(self) -> str | None:
        """Believe the clock unless there is a doubt, which is returned."""
        doubt = await self.doubt()
        if doubt is None:
            await self.believe()
        return doubt


def _doubt(seen: _Seen, now: _Seen) -> str | None:
    passed = now.now_ms - seen.now_ms
    told = f"The clock says {_said(now.now_ms)}, and it was {_said(seen.now_ms)} when it was last looked at"
    if passed < -BACK_MS:
        return f"{told}: it went back."
    if _same_boot(seen, now):
        assert seen.uptime is not None
        assert now.uptime is not None
        if abs(passed - (now.uptime.ms - seen.uptime.ms)) > JUMP_MS:
            return f"{told}, but this machine has not run for so long since."
    if passed > AWAY_MS:
        return f"{told}: it may have jumped."
    return None


def _same_boot(seen: _Seen, now: _Seen) -> bool:
    return seen.uptime is not None and now.uptime is not None and seen.uptime.boot == now.uptime.boot


def _said(ms: int) -> str:
    return f"{to_datetime(ms):%Y-%m-%d %H:%M} UTC"


def system_uptime() -> Uptime | None:
    """This machine's uptime; None where it does not tell, as on macOS."""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        return Uptime(boot, time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000)
    except (OSError, AttributeError):
        return None
