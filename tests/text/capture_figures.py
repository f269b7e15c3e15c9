"""How well the capture rules find what a labelled message holds: precision and recall for each memory type."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from noesis.memory import MemoryType
from noesis.text.capture import captured
from noesis.turns import Turn

LABELLED = Path(__file__).parents[1] / "data/capture/labelled.jsonl"
NONE = "none"
KINDS = (*(kind.value for kind in MemoryType), NONE)


class Labelled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message and the one type of memory that it holds, `none` for none."""

    text: str
    role: Literal["user", "assistant", "tool", "system"]
    expect: Literal["decision", "preference", "fact", "session", "context", "none"]
    half: Literal["tuned", "held-out"]
    why: str | None = None


class Figures(msgspec.Struct, frozen=True):
    """Of one type: how often it was found rightly and wrongly, and how often it was missed."""

    right: int
    wrong: int
    missed: int

    @property
    def precision(self) -> float:
        """The share of the finds that are right; 1 when there are none."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """The share of those that are there and were found; 1 when there are none."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0


def read_labelled(half: str | None = None) -> list[Labelled]:
    """The labelled messages of one half, or all."""
    lines = LABELLED.read_bytes().splitlines()
    labelled = [msgspec.json.decode(line, type=Labelled) for line in lines]
    return [item for item in labelled if half is None or item.half == half]


def found_in(item: Labelled) -> frozenset[str]:
    """The types of all pieces that the message gives; `none` alone when it gives none."""
    turn = Turn(session_id="s", number=0, role=item.role, text=item.text)
    return frozenset(piece.memory_type.value for piece in captured(turn).pieces) or frozenset({NONE})


def measure(labelled: Iterable[Labelled]) -> dict[str, Figures]:
    """Precision and recall of every type and of `none`; a second type in one message counts as wrong."""
    results = [(item.expect, found_in(item)) for item in labelled]
    return {kind: _figures(kind, results) for kind in KINDS}


def _figures(kind: str, results: Sequence[tuple[str, frozenset[str]]]) -> Figures:
    return Figures(
        right=sum(expect == kind and kind in found for expect, found in results),
        wrong=sum(expect != kind and kind in found for expect, found in results),
        missed=sum(expect == kind and kind not in found for expect, found in results),
    )
