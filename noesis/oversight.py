"""Oversight: what happened to memories and what is done to many of them at once, put together."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from noesis.audit import Audit
from noesis.bulk_editing import BulkEditing
from noesis.history import History
from noesis.history_log import HistoryLog
from noesis.lifetimes import Lifetimes
from noesis.redacting import Redacting
from noesis.settings import Settings
from noesis.store import Store


class Oversight(msgspec.Struct, kw_only=True):
    """The history of memories, and acts on many of them."""

    history: History
    bulk: BulkEditing


def oversight(
    log: HistoryLog,
    store: Store,
    redacting: Redacting,
    lifetimes: Lifetimes,
    audit: Audit,
    settings: Settings,
    now_ms: Callable[[], int],
) -> Oversight:
    """The parts, wired."""
    return Oversight(
        history=History(log, store, now_ms, keep_days=settings.history_days),
        bulk=BulkEditing(store, redacting, lifetimes, audit, now_ms),
    )
