"""Labelled conversations: memories, and questions with the memories that answer them.

`docs/benchmark-data.md` describes the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from noesis.errors import InvalidInput
from noesis.indexing import check_position, check_role
from noesis.memory import MemoryType, NewMemory, check_name, to_ms
from noesis.text.normalise import is_blank

T = TypeVar("T")

SHIPPED = Path(__file__).parents[1] / "labelled/conversations"
"""The set that comes with the product; its default weights were fitted on it."""


class LabelledMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One memory; `id` is what the questions call it."""

    id: str
    text: str
    created_at: datetime
    memory_type: MemoryType = MemoryType.FACT
    session: str | None = None
    position: int | None = None
    author: str | None = None
    author_role: str | None = None

    def new(self) -> NewMemory:
        """The memory as it is indexed: one that never expires."""
        return NewMemory(
            text=self.text,
            memory_type=self.memory_type,
            ttl_days=0,
            session_id=self.session,
            position=self.position,
            author=self.author,
            author_role=self.author_role,
            created_at=to_ms(self.created_at, "created_at"),
        )


class LabelledQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and the ids of the memories that answer it; none when nothing does."""

    question: str
    evidence: tuple[str, ...]
    kind: str = "any"


class Conversation(msgspec.Struct, frozen=True):
    """What one agent remembers, and what is asked of it."""

    name: str
    memories: tuple[LabelledMemory, ...]
    questions: tuple[LabelledQuestion, ...]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    memories: list[msgspec.Raw]
    questions: list[msgspec.Raw]
    kind: str = ""
    language: str = ""
    agent: str = ""


def read(path: Path) -> list[Conversation]:
    """The conversations of a file, or of a folder's *.json files by name.

    Raises InvalidInput naming the file and the place in it.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InvalidInput(f"{path}: there is no *.json file in this folder.", field="data")
    conversations = [_conversation(file) for file in files]
    of_name: dict[str, Path] = {}
    for file, conversation in zip(files, conversations, strict=True):
        if conversation.name in of_name:
            raise _wrong(file, "name", f"{of_name[conversation.name].name} has the same.")
        of_name[conversation.name] = file
    if not any(question.evidence for each in conversations for question in each.questions):
        raise InvalidInput(f"{path}: no question names a memory that answers it.", field="data")
    return conversations


def _conversation(file: Path) -> Conversation:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read: {error.strerror}.", field="data") from error
    raw = _decoded(file, "the file", content, _File)
    memories = tuple(
        _decoded(file, f"memories[{number}]", each, LabelledMemory)
        for number, each in enumerate(raw.memories)
    )
    questions = tuple(
        _decoded(file, f"questions[{number}]", each, LabelledQuestion)
        for number, each in enumerate(raw.questions)
    )
    _check_memories(file, memories)
    _check_questions(file, questions, {memory.id for memory in memories})
    return Conversation(raw.name, memories, questions)


def _decoded(file: Path, place: str, content: bytes | msgspec.Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, place, f"{error}.") from error


def _check_memories(file: Path, memories: Sequence[LabelledMemory]) -> None:
    known: dict[str, int] = {}
    for number, memory in enumerate(memories):
        place = f"memories[{number}]"
        if memory.id in known:
            raise _wrong(file, f"{place}.id", f"memories[{known[memory.id]}] has the same id.")
        known[memory.id] = number
        try:
            _check(memory)
        except InvalidInput as error:
            raise _wrong(file, place, error.message) from error


def _check(memory: LabelledMemory) -> None:
    if is_blank(memory.text):
        raise InvalidInput("text must not be empty or blank.")
    to_ms(memory.created_at, "created_at")
    check_position(memory.position)
    check_role(memory.author_role)
    check_name(memory.session, "session")
    check_name(memory.author, "author")


def _check_questions(file: Path, questions: Sequence[LabelledQuestion], known: set[str]) -> None:
    for number, asked in enumerate(questions):
        if is_blank(asked.question):
            raise _wrong(file, f"questions[{number}].question", "must not be empty or blank.")
        for index, evidence in enumerate(asked.evidence):
            if evidence not in known:
                raise _wrong(
                    file, f"questions[{number}].evidence[{index}]", f"there is no memory {evidence!r}."
                )


def _wrong(file: Path, place: str, what: str) -> InvalidInput:
    return InvalidInput(f"{file}: {place}: {what}", field="data")
