"""Read LoCoMo (Maharana et al. 2024): long conversations, and questions with the turns that answer them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

CATEGORIES = {1: "several turns", 2: "time", 3: "open inference", 4: "single turn", 5: "adversarial"}
"""What kind of question each category of the data set holds."""

FILE_NAME = "locomo10.json"

_ROOT = Path(__file__).parents[1]
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"


class Turn(msgspec.Struct, frozen=True):
    """One thing that one of the two said; `number` counts from 1 in its session."""

    dia_id: str
    session: int
    number: int
    speaker: str
    text: str
    session_began: datetime


class Question(msgspec.Struct, frozen=True):
    """A question and the ids of the turns that hold its answer."""

    text: str
    category: int
    gold: frozenset[str]


class Conversation(msgspec.Struct, frozen=True):
    """All sessions of two people, and the questions with usable evidence."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


class _RawTurn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _RawQuestion(msgspec.Struct):
    question: str
    category: int
    evidence: list[str] = []


class _RawSample(msgspec.Struct):
    sample_id: str
    qa: list[_RawQuestion]
    conversation: dict[str, Any]


def find(environ: Mapping[str, str], beside: Path = _ROOT) -> Path | None:
    """The data file that NOESIS_BENCH_LOCOMO names, else one in `data/` of this folder or of one next to it."""
    named = environ.get("NOESIS_BENCH_LOCOMO")
    places = (
        [Path(named).expanduser()]
        if named
        else [beside / "data" / FILE_NAME, *sorted(beside.parent.glob(f"*/data/{FILE_NAME}"))]
    )
    return next((place for place in places if place.is_file()), None)


def load(path: Path, conversations: int | None = None) -> list[Conversation]:
    """The first so many conversations, or all.  Raises OSError or msgspec.DecodeError."""
    samples = msgspec.json.decode(path.read_bytes(), type=list[_RawSample])
    return [_conversation(sample) for sample in samples[:conversations]]


def evidence_ids(evidence: Sequence[str]) -> set[str]:
    """The turn ids in the evidence of a question.

    The data hold several in one string (`D8:6; D9:17`), odd colons (`D:11:26`), zeros in front
    (`D30:05`) and rests of ids (`D`), which name nothing.
    """
    found = [match for entry in evidence for match in _TURN_ID.findall(entry)]
    return {f"D{int(session)}:{int(turn)}" for session, turn in found}


def _conversation(sample: _RawSample) -> Conversation:
    turns = tuple(_turns(sample.conversation))
    known = {turn.dia_id for turn in turns}
    questions = (
        Question(raw.question, raw.category, frozenset(evidence_ids(raw.evidence) & known))
        for raw in sample.qa
    )
    return Conversation(sample.sample_id, turns, tuple(asked for asked in questions if asked.gold))


def _turns(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    for key, value in conversation.items():
        session = _SESSION.fullmatch(key)
        if session is None:
            continue
        began = datetime.strptime(conversation[f"{key}_date_time"], _DATE).replace(tzinfo=UTC)
        for raw in msgspec.convert(value, list[_RawTurn]):
            number = int(raw.dia_id.rsplit(":", 1)[1])
            yield Turn(raw.dia_id, int(session[1]), number, raw.speaker, _text(raw), began)


def _text(raw: _RawTurn) -> str:
    return f"{raw.text} [photo: {raw.blip_caption}]" if raw.blip_caption else raw.text
