"""Why a hit stands where it stands, in words."""

from __future__ import annotations

import msgspec

from noesis.memory import Explanation


class Part(msgspec.Struct, frozen=True):
    """One line of an explanation: what was looked at, what was seen, and what it added."""

    name: str
    seen: str
    added: str


_SEEN = {
    "both": "its rank by meaning and words together",
    "neighbours": "how well it fits with what stands beside it",
    "session": "how well its session fits",
    "speaker": "whether the question names who said it",
    "form": "its length, and whether it asks, dates or counts",
    "priority": "how important it is",
    "recency": "how new it is",
    "own agent": "whether the asking agent wrote it",
    "start": "where every memory starts",
}


def parts(explanation: Explanation) -> tuple[Part, ...]:
    """An explanation as lines: both legs, what else was added, and what held it back."""
    added = dict(explanation.contributions)
    start = added.pop("start", None)
    lines = [
        _leg("meaning", explanation.vector_rank, explanation.vector_score, "similarity", added),
        _leg("words", explanation.keyword_rank, explanation.keyword_score, "BM25", added),
        *(Part(name, _SEEN.get(name, ""), f"{value:+.2f}") for name, value in added.items()),
    ]
    if start is not None:
        lines.append(Part("start", _SEEN["start"], f"{start:+.2f}"))
    return tuple(lines)


def together(explanation: Explanation, score: float) -> str | None:
    """What the lines add up to; None when that is the score itself."""
    total = sum(explanation.contributions.values())
    return None if abs(total - score) < 0.005 else f"{total:+.2f}"


def notes(explanation: Explanation) -> tuple[str, ...]:
    """What the lines do not say: how it came in, and whether diversity moved it."""
    found = [f"Place {explanation.rank} by score alone."]
    if explanation.neighbour:
        found.append("No leg brought it: it stands beside a memory that fits.")
    if explanation.likeness >= 0.6:
        found.append(f"Similarity {explanation.likeness:.2f} to a hit above, for which it was held back.")
    return tuple(found)


def _leg(name: str, rank: int | None, score: float | None, measure: str, added: dict[str, float]) -> Part:
    return Part(name, _seen(rank, score, measure), f"{added.pop(name, 0.0):+.2f}")


def _seen(rank: int | None, score: float | None, measure: str) -> str:
    if rank is None:
        return f"not among its first; {measure} {score:.2f}" if score else "did not find it"
    return f"rank {rank}, {measure} {score or 0.0:.2f}"
