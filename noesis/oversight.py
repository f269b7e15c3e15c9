"""Oversight: what happened to memories and what is done to many of them at once, put together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.audit import Audit
from noesis.bulk_editing import BulkEditing
from noesis.choosing import Choosing
from noesis.chosen_acts import ChosenActs
from noesis.forgetting import Drop, Forgetting
from noesis.history import History
from noesis.inflow import Inflow
from noesis.lifetimes import Lifetimes
from noesis.opened import Opened
from noesis.quotas import Quotas
from noesis.redacting import Redacting
from noesis.settings import Settings
from noesis.tombstones import Tombstones


class Oversight(msgspec.Struct, kw_only=True):
    """The history of memories, acts on many of them, and what is to stay away for good."""

    history: History
    bulk: BulkEditing
    choosing: Choosing
    forgetting: Forgetting
    tombstones: Tombstones


def oversight(
    opened: Opened,
    redacting: Redacting,
    lifetimes: Lifetimes,
    quotas: Quotas,
    brought_in: Inflow,
    audit: Audit,
    settings: Settings,
    drops: Sequence[Drop],
    chosen: ChosenActs,
) -> Oversight:
    """The parts, wired; `drops` are told what is gone for good."""
    store, control, now_ms = opened.store, opened.control, opened.now_ms
    tombstones = Tombstones(control, now_ms)
    bulk = BulkEditing(store, redacting, lifetimes, audit, now_ms)
    return Oversight(
        history=History(opened.history, store, now_ms, keep_days=settings.history_days),
        bulk=bulk,
        choosing=Choosing(store, bulk, chosen, quotas, audit, now_ms),
        forgetting=Forgetting(
            store, control, tombstones, brought_in.capturing, brought_in.inbox, audit, now_ms, drops
        ),
        tombstones=tombstones,
    )
