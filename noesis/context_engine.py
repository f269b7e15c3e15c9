"""The context engine, put together."""

from __future__ import annotations

import msgspec

from noesis.capturing import Capturing
from noesis.context.assembling import Assembling
from noesis.context.fitness import Fitness
from noesis.context.intake import Intake
from noesis.context.recalling import Recalling
from noesis.context.standing import Standing
from noesis.opened import Opened
from noesis.redacting import Redacting
from noesis.search import Search
from noesis.settings import Settings
from noesis.superseding import Superseding


class ContextEngine(msgspec.Struct, kw_only=True):
    """What goes into a host's prompts, and what its turns leave behind."""

    recalling: Recalling
    assembling: Assembling
    intake: Intake


def context_engine(
    opened: Opened,
    capturing: Capturing,
    redacting: Redacting,
    search: Search,
    superseding: Superseding,
    settings: Settings,
) -> ContextEngine:
    """The context engine."""
    store, now_ms = opened.store, opened.now_ms
    fitness = Fitness(superseding)
    recalling = Recalling(store, opened.vectors, search, settings)
    return ContextEngine(
        recalling=recalling,
        assembling=Assembling(
            opened.control, Standing(store, fitness, settings, now_ms), recalling, fitness, settings
        ),
        intake=Intake(opened.control, capturing, redacting, now_ms),
    )
