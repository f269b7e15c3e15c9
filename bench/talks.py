"""Conversations with their questions, from LoCoMo's file or from this repository, in one form."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bench import locomo
from bench.locomo import Question
from bench.retrieval import memory_of
from noesis.benchmark import labelled
from noesis.benchmark.labelled import SHIPPED, Conversation, LabelledMemory

OWN = SHIPPED

_NO_CATEGORY = 0
"""The repository's questions have kinds of their own, which are not LoCoMo's."""


class Entry(msgspec.Struct, frozen=True):
    """One memory: its id, and the body that the product's API takes."""

    id: str
    body: dict[str, Any]

    @property
    def spoken(self) -> str:
        """Speaker and text, as the product's embedder reads them too."""
        author, text = self.body.get("author"), self.body["text"]
        return f"{author}: {text}" if author else str(text)

    @property
    def created_at(self) -> float:
        """When it was said, in seconds since 1970."""
        return datetime.fromisoformat(self.body["created_at"]).timestamp()


class Talk(msgspec.Struct, frozen=True):
    """A conversation, and its questions that something in it answers."""

    name: str
    entries: tuple[Entry, ...]
    questions: tuple[Question, ...]


def from_locomo(path: Path, conversations: int | None) -> list[Talk]:
    """LoCoMo's first conversations, or all of them."""
    return [
        Talk(
            talk.name,
            tuple(Entry(turn.dia_id, memory_of(talk, turn)) for turn in talk.turns),
            talk.questions,
        )
        for talk in locomo.load(path, conversations)
    ]


def own(conversations: int | None, folder: Path = OWN) -> list[Talk]:
    """The repository's first conversations by name, or all of them."""
    return [_talk(each) for each in labelled.read(folder)[:conversations]]


def _talk(conversation: Conversation) -> Talk:
    questions = (
        Question(asked.question, _NO_CATEGORY, frozenset(asked.evidence)) for asked in conversation.questions
    )
    return Talk(
        conversation.name,
        tuple(Entry(memory.id, dict(_body(conversation.name, memory))) for memory in conversation.memories),
        tuple(asked for asked in questions if asked.gold),
    )


def _body(talk: str, memory: LabelledMemory) -> Iterator[tuple[str, Any]]:
    yield "ttl_days", 0
    yield "created_at", memory.created_at.isoformat()
    yield "memory_type", memory.memory_type.value
    for name in ("text", "position", "author", "author_role"):
        if (value := getattr(memory, name)) is not None:
            yield name, value
    if memory.session is not None:
        yield "session_id", f"{talk}-{memory.session}"
