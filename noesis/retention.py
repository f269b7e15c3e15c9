"""How long memories live and what becomes of them, put together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.archiving import Archiving
from noesis.audit import Audit
from noesis.browsing import Browsing
from noesis.cleaning import Cleaning, Forget
from noesis.clock_guard import ClockGuard, system_uptime
from noesis.lifetimes import Lifetimes
from noesis.opened import Opened, system_now_ms
from noesis.purging import Purging
from noesis.quotas import Quotas
from noesis.settings import Settings
from noesis.sources.book import Book


class Retention(msgspec.Struct, kw_only=True):
    """How long memories live, and what becomes of them afterwards."""

    lifetimes: Lifetimes
    clock: ClockGuard
    purging: Purging
    cleaning: Cleaning
    archiving: Archiving


def retention(
    opened: Opened,
    browsing: Browsing,
    lifetimes: Lifetimes,
    quotas: Quotas,
    audit: Audit,
    settings: Settings,
    forget: Sequence[Forget],
) -> Retention:
    """The lives of memories; the machine's uptime speaks for the clock only where it is the machine's."""
    control, store, now_ms = opened.control, opened.store, opened.now_ms
    clock = ClockGuard(control, now_ms, system_uptime if now_ms is system_now_ms else lambda: None)
    purging = Purging(store, Book(control), settings)
    return Retention(
        lifetimes=lifetimes,
        clock=clock,
        purging=purging,
        cleaning=Cleaning(store, control, clock, purging, audit, settings, now_ms, forget),
        archiving=Archiving(store, browsing, lifetimes, quotas, now_ms),
    )
