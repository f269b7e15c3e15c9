"""How the command line shows what `noesis bench` measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noesis.benchmark.figures import Pair
from noesis.benchmark.own_store import OwnStore
from noesis.measuring import Report
from noesis.ranking.metrics import NAMES, Quality
from noesis.shown import show_table


def text(report: Report) -> str:
    """The tables, each under a line that says what it is of."""
    return "\n\n".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    found = report.retrieval
    yield (
        f"{found.memories:,} memories of {found.conversations} conversations, vectors of {report.embedder};"
        " means in percent with 95 % intervals over questions:"
    )
    yield _quality("questions", found.quality)
    if report.data is None:
        yield (
            "The shipped weights were fitted on this set, which flatters them; --fit adds figures of weights"
            " that were fitted on other conversations than they are asked about."
        )
    yield _times(found.times_ms)
    if report.fitted is not None:
        yield f"Weights fitted on this data, in {report.fitted.folds} parts, each asked of what the others fitted:"
        yield _quality("weights", report.fitted.rows)
        yield f"Fitted on all of it: {report.weights}; NOESIS_FUSION_WEIGHTS makes Noesis use it."
    if report.store is not None:
        yield from _store(report.store)


def _store(found: OwnStore) -> Iterator[str]:
    index = (
        "none, search is exact"
        if found.vector_index is None
        else f"{found.vector_index}, over {found.indexed_vectors:,} vectors"
    )
    yield (
        f"Your store: {found.rows:,} rows, {found.archived_rows:,} archived, {found.vectors:,} vectors;"
        f" vector index: {index}."
    )
    if found.recall is not None:
        yield (
            f"recall@10 of the vector leg against exact search: {found.recall:.4f}"
            f" ({found.vectors_asked} stored vectors)"
        )
    if found.questions:
        yield _times(found.times_ms)
    if found.note is not None:
        yield f"Note: {found.note}"


def _quality(of: str, rows: Sequence[Quality]) -> str:
    cells = [[row.name, row.questions, *map(_cell, row.measures.values())] for row in rows]
    return show_table([of, "n", *NAMES], cells)


def _cell(measure: tuple[float, float, float]) -> str:
    mean, low, high = (100 * value for value in measure)
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _times(times: dict[str, Pair]) -> str:
    cells = [[name, f"{low:.1f}", f"{high:.1f}"] for name, (low, high) in times.items()]
    return show_table(["ms", "p50", "p95"], cells)
