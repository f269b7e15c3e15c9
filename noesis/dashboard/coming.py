"""When a recurring job is next."""

from __future__ import annotations

from noesis.dashboard.presenters import Moment, moment
from noesis.settings import Settings
from noesis.worker.crons import slot_ms
from noesis.worker.tasks import crons


def next_of(name: str, settings: Settings, now_ms: int) -> Moment | None:
    """When the recurring job of this name is next; None when it does not recur."""
    found = [cron for cron in crons(settings) if cron.name == name]
    return moment(slot_ms(found[0], now_ms) + found[0].period_ms, now_ms) if found else None
