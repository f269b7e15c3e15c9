"""Fit the learned fusion anew on labelled conversations, and say what it is worth on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from noesis.benchmark.asking import Say, Stored, ask_all
from noesis.benchmark.figures import Asked, row_of
from noesis.benchmark.labelled import LabelledQuestion
from noesis.errors import EmbedderUnavailable, InvalidInput
from noesis.memory import Mode, SearchQuery
from noesis.ranking.features import FEATURES, features
from noesis.ranking.fitting import Labelled, fit
from noesis.ranking.fusion import Fusion
from noesis.ranking.metrics import Quality
from noesis.ranking.pool import Pool
from noesis.search import Search

FOLDS = 5

HYBRID_FEATURES = tuple(FEATURES)

KEYWORD_FEATURES = tuple(name for name in FEATURES if "meaning" not in name and name != "both_rank")
"""Without vectors the others repeat these: meaning is judged by the words then."""

NewSearch = Callable[[Fusion], Search]


class Sheet(msgspec.Struct, frozen=True):
    """One question's candidates as features, with vectors and without; whose conversation it is of."""

    conversation: int
    hybrid: Labelled
    keyword: Labelled


class Compared(msgspec.Struct, frozen=True):
    """The weights in use beside fitted ones; a fitted row was measured on conversations it never saw."""

    questions: int
    folds: int
    rows: list[Quality]


async def sheets_of(search: Search, stored: Sequence[Stored], say: Say) -> list[Sheet]:
    """Every question's candidates, those of questions that nothing answers too.  Raises as a search does."""
    sheets: list[Sheet] = []
    for number, each in enumerate(stored):
        sheets += [await _sheet(search, number, each, question) for question in each.conversation.questions]
        say(f"features, {number + 1} of {len(stored)}: {each.conversation.name}")
    return sheets


async def _sheet(search: Search, number: int, stored: Stored, question: LabelledQuestion) -> Sheet:
    found = await search.pool(stored.scope, SearchQuery(text=question.question))
    if found.pool.question.vector is None:
        raise EmbedderUnavailable("The embedder did not answer a question, so nothing was fitted.")
    gold = stored.gold(question)
    answers = np.array([candidate.row.parent_id in gold for candidate in found.candidates], dtype=bool)
    return Sheet(
        number,
        Labelled(features(found.pool, HYBRID_FEATURES), answers),
        Labelled(features(without_vectors(found.pool), KEYWORD_FEATURES), answers),
    )


def without_vectors(pool: Pool) -> Pool:
    """The same candidates as a search sees them whose embedder does not answer."""
    question = msgspec.structs.replace(pool.question, vector=None)
    return Pool(question, pool.passages, pool.statistics)


def fusion_of(sheets: Sequence[Sheet], note: str = "") -> Fusion:
    """Both models, fitted on these questions.  Raises InvalidInput when none was found an answer for."""
    try:
        return Fusion(
            fit([sheet.hybrid for sheet in sheets], HYBRID_FEATURES),
            fit([sheet.keyword for sheet in sheets], KEYWORD_FEATURES),
            note,
        )
    except ValueError as error:
        raise InvalidInput(f"{error} There is nothing to fit on.", field="data") from error


async def compare(
    new_search: NewSearch,
    sheets: Sequence[Sheet],
    stored: Sequence[Stored],
    in_use: tuple[Sequence[Asked], Sequence[Asked]],
    say: Say,
) -> Compared:
    """Cross-fitted figures next to those of the weights in use, which come by hybrid and by keyword.

    Raises InvalidInput when there are fewer than two conversations.
    """
    parts = folds(len(stored))
    hybrid: list[Asked] = []
    keyword: list[Asked] = []
    for number, part in enumerate(parts, 1):
        say(f"cross-fitting, {number} of {len(parts)}")
        search = new_search(fusion_of([sheet for sheet in sheets if sheet.conversation not in part]))
        held_out = [stored[index] for index in part]
        hybrid += await ask_all(search, held_out, say)
        keyword += await ask_all(search, held_out, say, mode=Mode.KEYWORD)
    rows = [
        row_of("hybrid, weights in use", in_use[0]),
        row_of("hybrid, fitted on others", hybrid),
        row_of("keyword, weights in use", in_use[1]),
        row_of("keyword, fitted on others", keyword),
    ]
    return Compared(len(hybrid), len(parts), rows)


def folds(conversations: int) -> list[list[int]]:
    """The numbers of the conversations in up to five parts.  Raises InvalidInput for fewer than two."""
    if conversations < 2:
        raise InvalidInput(
            "--fit needs at least two conversations: what is fitted on one is tried on another.", field="data"
        )
    parts = min(FOLDS, conversations)
    return [list(range(part, conversations, parts)) for part in range(parts)]


def write(fusion: Fusion, path: Path) -> None:
    """Write a weights file.  Raises InvalidInput."""
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(fusion)) + b"\n")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.", field="fit") from error
