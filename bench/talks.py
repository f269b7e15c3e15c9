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
from noesis.benchmark.labelled import SHIPPED

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


class _RawMemory(msgspec.Struct):
    id: str
    text: str
    created_at: str
    memory_type: str
    session: str | None = None
    position: int | None = None
    author: str | None = None
    author_role: str | None = None


class _RawQuestion(msgspec.Struct):
    question: str
    kind: str
    evidence: list[str]


class _RawTalk(msgspec.Struct):
    name: str
    memories: list[_RawMemory]
    questions: list[_RawQuestion]


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
    return [_talk(path) for path in sorted(folder.glob("*.json"))[:conversations]]


def _talk(path: Path) -> Talk:
    raw = msgspec.json.decode(path.read_bytes(), type=_RawTalk)
    entries = tuple(Entry(memory.id, dict(_body(raw.name, memory))) for memory in raw.memories)
    known = {entry.id for entry in entries}
    questions = (
        Question(asked.question, _NO_CATEGORY, frozenset(asked.evidence) & known) for asked in raw.questions
    )
    return Talk(raw.name, entries, tuple(asked for asked in questions if asked.gold))


def _body(talk: str, memory: _RawMemory) -> Iterator[tuple[str, Any]]:
    yield "ttl_days", 0
    for name in ("text", "memory_type", "created_at", "position", "author", "author_role"):
        if (value := getattr(memory, name)) is not None:
            yield name, value
    if memory.session is not None:
        yield "session_id", f"{talk}-{memory.session}"
