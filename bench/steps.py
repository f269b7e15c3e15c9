"""What each part of the ranking is worth: fitted on the shipped conversations, asked on LoCoMo.

python -m bench.steps [--data FILE] [--json FILE]

The candidates are the product's own (`Search.pool`); every row is the order that a model gives which
may look at some of the features only, before diversity.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from bench import locomo
from bench.tables import markdown
from noesis.benchmark import labelled
from noesis.benchmark.asking import Say, index_all
from noesis.benchmark.labelled import Conversation, LabelledMemory, LabelledQuestion
from noesis.benchmark.refitting import Sheet, folds, sheets_of
from noesis.memory import MemoryType
from noesis.ranking.features import FEATURES, GROUPS
from noesis.ranking.fitting import Labelled, fit
from noesis.ranking.metrics import bootstrap, quality
from noesis.runtime import open_runtime
from noesis.settings import load

NAMES = tuple(FEATURES)
CORE = ("meaning", "words")
ORDER = ("both", "neighbours", "session", "speaker", "form")

Kept = Sequence[str]


class Step(msgspec.Struct, frozen=True):
    """One model: the mean measures, and what it gains in R@10 over another, with a 95 % interval."""

    name: str
    r5: float
    r10: float
    ndcg: float
    mrr: float
    gain: tuple[float, float, float] | None


def conversation_of(talk: locomo.Conversation) -> Conversation:
    """A LoCoMo conversation in the labelled form."""
    return Conversation(
        name=talk.name,
        memories=tuple(
            LabelledMemory(
                id=turn.dia_id,
                text=turn.text,
                created_at=turn.session_began,
                memory_type=MemoryType.SESSION,
                session=f"session-{turn.session}",
                position=turn.number,
                author=turn.speaker,
            )
            for turn in talk.turns
        ),
        questions=tuple(
            LabelledQuestion(question.text, tuple(sorted(question.gold))) for question in talk.questions
        ),
    )


async def collect(conversations: Sequence[Conversation], say: Say) -> tuple[list[Sheet], list[int]]:
    """The candidates of every question as features, and how many memories answer each."""
    with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
        settings = load({**os.environ, "NOESIS_DATA": place, "NOESIS_EMBEDDER": "local"})
        async with open_runtime(settings, query_deadline_s=30.0) as noesis:
            await noesis.vectors.prepare(None)
            stored = await index_all(conversations, noesis.indexing, noesis.filling, say)
            await noesis.store.maintain(force=True)
            sheets = await sheets_of(noesis.search, stored, say)
    asked = [question for each in conversations for question in each.questions]
    return sheets, [len(question.evidence) for question in asked]


def values_of(sheets: Sequence[Sheet], answers: Sequence[int], points: Sequence[Any]) -> Any:
    """The measures of each question (questions, measures)."""
    rows = []
    for sheet, many, scores in zip(sheets, answers, points, strict=True):
        order = np.argsort(-scores, kind="stable")[:10]
        found = np.flatnonzero(sheet.hybrid.answers)
        missing = [f"missing {number}" for number in range(many - len(found))]
        gold = {*map(str, found.tolist()), *missing}
        rows.append(quality([str(index) for index in order.tolist()], gold))
    return np.array(rows)


def fitted(train: Sequence[Sheet], test: Sequence[Sheet], kept: Kept) -> list[Any]:
    """The points of the tested questions' candidates by a model that looks at `kept` only."""
    columns = [NAMES.index(name) for name in kept]
    model = fit([Labelled(sheet.hybrid.values[:, columns], sheet.hybrid.answers) for sheet in train], kept)
    names = list(model.weights)
    weights = np.array([model.weights[name].weight for name in names])
    return [sheet.hybrid.values[:, [NAMES.index(name) for name in names]] @ weights for sheet in test]


def cross_fitted(sheets: Sequence[Sheet], conversations: int) -> list[Any]:
    """The points by models fitted on the other conversations of the same set."""
    points: dict[int, Any] = {}
    for part in folds(conversations):
        held = [index for index, sheet in enumerate(sheets) if sheet.conversation in part]
        train = [sheet for sheet in sheets if sheet.conversation not in part]
        points |= dict(zip(held, fitted(train, [sheets[index] for index in held], NAMES), strict=True))
    return [points[index] for index in range(len(sheets))]


def step(name: str, values: Any, over: Any | None) -> Step:
    """One row of the table."""
    r5, r10, ndcg, mrr = (round(100 * float(value), 2) for value in values.mean(axis=0))
    gain = None
    if over is not None:
        gained = values[:, 1:2] - over[:, 1:2]
        low, high = bootstrap(gained)[0]
        gain = (100 * float(gained.mean()), 100 * float(low), 100 * float(high))
    return Step(name, r5, r10, ndcg, mrr, gain)


def steps(
    train: Sequence[Sheet], test: Sequence[Sheet], answers: Sequence[int], conversations: int
) -> list[Step]:
    """Every model: one leg, both, the groups added one by one and left out one by one."""
    column = {name: NAMES.index(name) for name in CORE}

    def measured(kept: Kept) -> Any:
        return values_of(test, answers, fitted(train, test, kept))

    found: list[Step] = []
    for name in CORE:
        alone = [sheet.hybrid.values[:, column[name]] for sheet in test]
        found.append(step(f"{name} alone", values_of(test, answers, alone), None))
    shares = [
        0.6 * sheet.hybrid.values[:, column["meaning"]] + 0.4 * sheet.hybrid.values[:, column["words"]]
        for sheet in test
    ]
    last = values_of(test, answers, shares)
    found.append(step("60/40, both scores completed", last, None))
    kept: list[str] = [*GROUPS["meaning"], *GROUPS["words"]]
    for group in ("", *ORDER):
        kept += GROUPS.get(group, ())
        values = measured(kept)
        found.append(step(f"+ {group}" if group else "all of meaning and words, fitted", values, last))
        last = values
    whole = last
    for group, names in GROUPS.items():
        values = measured([name for name in NAMES if name not in names])
        found.append(step(f"all without {group}", values, whole))
    found.append(
        step(
            "all, fitted on LoCoMo's other conversations",
            values_of(test, answers, cross_fitted(test, conversations)),
            whole,
        )
    )
    return found


def table(rows: Sequence[Step]) -> str:
    """The steps as Markdown."""
    cells = []
    for row in rows:
        gain = "" if row.gain is None else f"{row.gain[0]:+.1f} [{row.gain[1]:+.1f}, {row.gain[2]:+.1f}]"
        cells.append([row.name, f"{row.r5:.1f}", f"{row.r10:.1f}", f"{row.ndcg:.1f}", f"{row.mrr:.1f}", gain])
    return markdown(["model", "R@5", "R@10", "nDCG@10", "MRR", "R@10 gained"], cells)


@click.command()
@click.option("--data", type=click.Path(path_type=Path), help="The LoCoMo file (NOESIS_BENCH_LOCOMO).")
@click.option("--json", "json_out", type=click.File("wb"), help="Where the figures go as JSON.")
def main(data: Path | None, json_out: Any) -> None:
    """Show what each part of the ranking is worth."""
    path = data if data is not None else locomo.find(os.environ)
    if path is None or not path.is_file():
        click.echo(f"LoCoMo's file is not here: name {locomo.FILE_NAME} with --data or NOESIS_BENCH_LOCOMO.")
        return
    own = labelled.read(labelled.SHIPPED)
    talks = [conversation_of(talk) for talk in locomo.load(path)]
    sheets, answers = asyncio.run(collect([*own, *talks], lambda line: click.echo(line, err=True)))
    train = [sheet for sheet in sheets if sheet.conversation < len(own)]
    test = [
        msgspec.structs.replace(sheet, conversation=sheet.conversation - len(own))
        for sheet in sheets
        if sheet.conversation >= len(own)
    ]
    rows = steps(train, test, answers[len(train) :], len(talks))
    if json_out is not None:
        json_out.write(msgspec.json.format(msgspec.json.encode(rows)))
    click.echo(table(rows))


if __name__ == "__main__":
    main()
