"""Times in the words people use: how long ago, how far ahead, and exactly when."""

from __future__ import annotations

from noesis.memory import EARLIEST_MS, LATEST_MS, to_datetime

JUST_NOW = "just now"
"""What is less than a minute away on either side."""

_MINUTE = 60
_HOUR = 3600
_DAY = 86_400
# From how many seconds on a unit is used: up to a quarter of a year, days say more than months.
_UNITS = (
    (2 * 365 * _DAY, 365 * _DAY, "year"),
    (90 * _DAY, 30 * _DAY, "month"),
    (_DAY, _DAY, "day"),
    (_HOUR, _HOUR, "hour"),
    (_MINUTE, _MINUTE, "minute"),
)


def span(seconds: float) -> str:
    """A duration in one whole unit: `62 days`, `1 hour`; `a moment` below one minute."""
    for least, size, name in _UNITS:
        if seconds >= least:
            count = int(seconds // size)
            return f"{count} {name}{'' if count == 1 else 's'}"
    return "a moment"


def age(at_ms: int, now_ms: int) -> str:
    """When something was, seen from now: `3 days ago`, `just now`, `in 2 hours`."""
    seconds = (now_ms - at_ms) / 1000
    if abs(seconds) < _MINUTE:
        return JUST_NOW
    # A life of 90 days that began a moment ago ends in 90 days, not in 89.
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(_MINUTE - seconds)}"


def exact(at_ms: int) -> str:
    """The time to the second, UTC: `2026-11-29 20:15:00 UTC`."""
    return f"{to_datetime(at_ms):%Y-%m-%d %H:%M:%S} UTC"


def machine(at_ms: int) -> str:
    """The time for a `datetime` attribute (RFC 3339, UTC)."""
    return f"{to_datetime(at_ms):%Y-%m-%dT%H:%M:%SZ}"


def is_shown_exactly(at_ms: int) -> bool:
    """Whether a calendar has this time; an expiry a century ahead of 2100 is shown in words alone."""
    return EARLIEST_MS <= at_ms < LATEST_MS
