"""The retrieval benchmark's figures, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bench.locomo import CATEGORIES, Question
from bench.tables import machine, markdown
from noesis.ranking import metrics
from noesis.ranking.metrics import Quality


class Asked(msgspec.Struct, frozen=True):
    """One question as it was answered: the turns found, best first, and where the time went (ms).

    `client_ms` is the client's own clock; `store_ms` adds up legs that run side by side.
    """

    conversation: int
    question: Question
    ranked: tuple[str, ...]
    hits: tuple[dict[str, Any], ...]
    client_ms: float
    took_ms: float
    embedding_ms: float
    store_ms: float


class Figures(msgspec.Struct, frozen=True):
    """Everything one run found; `times_ms` holds p50 and p95."""

    machine: str
    quality: list[Quality]
    times_ms: dict[str, tuple[float, float]]


def figures(asked: Sequence[Asked], conversations: int) -> Figures:
    """All questions, each half of the conversations, each category."""
    half = (conversations + 1) // 2
    groups = {
        "all": list(asked),
        f"conversations 1 to {half}": [item for item in asked if item.conversation < half],
        f"conversations {half + 1} to {conversations}": [item for item in asked if item.conversation >= half],
    }
    for category, name in CATEGORIES.items():
        groups[f"{category} {name}"] = [item for item in asked if item.question.category == category]
    rows = [quality_of(name, group) for name, group in groups.items() if group]
    return Figures(machine(), rows, times(asked))


def quality_of(name: str, asked: Sequence[Asked]) -> Quality:
    """One row of the table."""
    return metrics.quality_of(name, [(item.ranked, item.question.gold) for item in asked])


def times(asked: Sequence[Asked]) -> dict[str, tuple[float, float]]:
    """p50 and p95 in ms of a question's parts."""
    parts = {
        "whole, as the client sees it": [item.client_ms for item in asked],
        "search inside the server": [item.took_ms for item in asked],
        "embedding": [item.embedding_ms for item in asked],
        "store (both legs added up)": [item.store_ms for item in asked],
        "rest of the search": [max(0.0, item.took_ms - item.embedding_ms - item.store_ms) for item in asked],
        "HTTP around it": [item.client_ms - item.took_ms for item in asked],
    }
    return {name: metrics.p50_p95(values) for name, values in parts.items()}


def text(found: Figures) -> str:
    """The tables."""
    rows = [[row.name, str(row.questions), *map(_cell, row.measures.values())] for row in found.quality]
    times_rows = [[name, f"{low:.1f}", f"{high:.1f}"] for name, (low, high) in found.times_ms.items()]
    return "\n\n".join(
        [
            markdown(["questions", "n", *metrics.NAMES], rows),
            markdown(["ms per question", "p50", "p95"], times_rows),
            f"In percent, with 95 % bootstrap intervals over questions. Machine: {found.machine}.",
        ]
    )


def _cell(measure: tuple[float, float, float]) -> str:
    mean, low, high = (100 * value for value in measure)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"
