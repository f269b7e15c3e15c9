"""Oversight: what happened to memories and what is done to many of them at once, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from noesis.audit import Audit
from noesis.bulk_editing import BulkEditing
from noesis.capturing import Capturing
from noesis.control import Control
from noesis.forgetting import Drop, Forgetting
from noesis.history import History
from noesis.history_log import HistoryLog
from noesis.inbox import Inbox
from noesis.lifetimes import Lifetimes
from noesis.redacting import Redacting
from noesis.settings import Settings
from noesis.store import Store
from noesis.tombstones import Tombstones


class Oversight(msgspec.Struct, kw_only=True):
    """The history of memories, acts on many of them, and what is to stay away for good."""

    history: History
    bulk: BulkEditing
    forgetting: Forgetting
    tombstones: Tombstones


def oversight(
    log: HistoryLog,
    store: Store,
    control: Control,
    redacting: Redacting,
    lifetimes: Lifetimes,
    capturing: Capturing,
    inbox: Inbox,
    audit: Audit,
    settings: Settings,
    now_ms: Callable[[], int],
    drops: Sequence[Drop],
) -> Oversight:
    """The parts, wired; `drops` are told what is gone for good."""
    tombstones = Tombstones(control, now_ms)
    return Oversight(
        history=History(log, store, now_ms, keep_days=settings.history_days),
        bulk=BulkEditing(store, redacting, lifetimes, audit, now_ms),
        forgetting=Forgetting(store, control, tombstones, capturing, inbox, audit, now_ms, drops),
        tombstones=tombstones,
    )
