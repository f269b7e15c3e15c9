"""Times in the words people use: how long ago, how far ahead, and exactly when."""

from __future__ import annotations

from collections.abc import Mapping

from noesis.dashboard.translation import _, gettext_noop, ngettext, ngettext_noop, number
from noesis.memory import EARLIEST_MS, LATEST_MS, to_datetime

JUST_NOW = gettext_noop("just now")
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

# Whole sentences for each unit: languages bend a unit after what stands around it.
Words = Mapping[str, tuple[str, str]]
AGO: Words = {
    "year": ngettext_noop("%(count)s year ago", "%(count)s years ago"),
    "month": ngettext_noop("%(count)s month ago", "%(count)s months ago"),
    "day": ngettext_noop("%(count)s day ago", "%(count)s days ago"),
    "hour": ngettext_noop("%(count)s hour ago", "%(count)s hours ago"),
    "minute": ngettext_noop("%(count)s minute ago", "%(count)s minutes ago"),
}
AHEAD: Words = {
    "year": ngettext_noop("in %(count)s year", "in %(count)s years"),
    "month": ngettext_noop("in %(count)s month", "in %(count)s months"),
    "day": ngettext_noop("in %(count)s day", "in %(count)s days"),
    "hour": ngettext_noop("in %(count)s hour", "in %(count)s hours"),
    "minute": ngettext_noop("in %(count)s minute", "in %(count)s minutes"),
}
EVERY: Words = {
    "year": ngettext_noop("every %(count)s year", "every %(count)s years"),
    "month": ngettext_noop("every %(count)s month", "every %(count)s months"),
    "day": ngettext_noop("every %(count)s day", "every %(count)s days"),
    "hour": ngettext_noop("every %(count)s hour", "every %(count)s hours"),
    "minute": ngettext_noop("every %(count)s minute", "every %(count)s minutes"),
}
LEFT: Words = {
    "year": ngettext_noop("about %(count)s year left", "about %(count)s years left"),
    "month": ngettext_noop("about %(count)s month left", "about %(count)s months left"),
    "day": ngettext_noop("about %(count)s day left", "about %(count)s days left"),
    "hour": ngettext_noop("about %(count)s hour left", "about %(count)s hours left"),
    "minute": ngettext_noop("about %(count)s minute left", "about %(count)s minutes left"),
}


def span(seconds: float, words: Words) -> str:
    """A duration of at least a minute in one whole unit: `62 days ago`, `in 1 hour`."""
    name, count = next(
        ((name, int(seconds // size)) for least, size, name in _UNITS if seconds >= least), ("minute", 1)
    )
    return ngettext(*words[name], count, count=number(count))


def age(at_ms: int, now_ms: int) -> str:
    """When something was, seen from now: `3 days ago`, `just now`, `in 2 hours`."""
    seconds = (now_ms - at_ms) / 1000
    if abs(seconds) < _MINUTE:
        return _(JUST_NOW)
    # A life of 90 days that began a moment ago ends in 90 days, not in 89.
    return span(seconds, AGO) if seconds > 0 else span(_MINUTE - seconds, AHEAD)


def exact(at_ms: int) -> str:
    """The time to the second, UTC: `2026-11-29 20:15:00 UTC`."""
    return f"{to_datetime(at_ms):%Y-%m-%d %H:%M:%S} UTC"


def machine(at_ms: int) -> str:
    """The time for a `datetime` attribute (RFC 3339, UTC)."""
    return f"{to_datetime(at_ms):%Y-%m-%dT%H:%M:%SZ}"


def is_shown_exactly(at_ms: int) -> bool:
    """Whether a calendar has this time; an expiry a century ahead of 2100 is shown in words alone."""
    return EARLIEST_MS <= at_ms < LATEST_MS
