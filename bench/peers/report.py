"""The systems side by side: how well they find, and how long they take."""

from __future__ import annotations

import msgspec

from bench.peers.trial import Trial
from bench.reports import quality_of
from bench.tables import markdown
from noesis.ranking.metrics import NAMES, Quality, p50_p95


class Line(msgspec.Struct, frozen=True):
    """One system; without `quality` it was not measured and `note` says why.

    Times in ms: to add one text, and p50 and p95 of a question without its embedding.
    """

    system: str
    quality: Quality | None
    add_ms: float
    query_ms: tuple[float, float]
    note: str


class Comparison(msgspec.Struct, frozen=True):
    """Everything one run found; `embedding_ms` is what the model takes for a text."""

    machine: str
    data: str
    conversations: int
    questions: int
    embedding_ms: float
    lines: list[Line]


def measured(system: str, trial: Trial, note: str = "") -> Line:
    """The line of a system that was measured."""
    times = p50_p95([asked.client_ms - asked.embedding_ms for asked in trial.asked])
    return Line(f"{system} {trial.version}", quality_of(system, trial.asked), trial.add_ms, times, note)


def failed(system: str, reason: str) -> Line:
    """The line of a system that was not."""
    return Line(system, None, 0.0, (0.0, 0.0), reason)


def text(found: Comparison) -> str:
    """The table, and what its figures mean."""
    headings = ["system", *NAMES, "add, ms a text", "query p50, ms", "query p95, ms", "note"]
    return "\n\n".join(
        [
            markdown(headings, [_row(line) for line in found.lines]),
            f"{found.data}: {found.conversations} conversations, {found.questions} questions. Quality in percent,"
            " with 95 % bootstrap intervals over questions. Peers are given all vectors and asked in their own"
            f" process; the product is asked over HTTP and embeds for itself ({found.embedding_ms:.1f} ms a text,"
            f" part of its time to add and left out of its queries). Machine: {found.machine}.",
        ]
    )


def _row(line: Line) -> list[str]:
    if line.quality is None:
        return [line.system, *[""] * (len(NAMES) + 3), line.note]
    qualities = [_percent(*measure) for measure in line.quality.measures.values()]
    times = [f"{value:.1f}" for value in (line.add_ms, *line.query_ms)]
    return [line.system, *qualities, *times, line.note]


def _percent(mean: float, low: float, high: float) -> str:
    return f"{100 * mean:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
