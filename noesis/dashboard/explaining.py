"""Why a hit stands where it stands, in words."""

from __future__ import annotations

import msgspec

from noesis.dashboard.translation import _, gettext_noop, number
from noesis.dashboard.words import score_part_words
from noesis.memory import Explanation


class Part(msgspec.Struct, frozen=True):
    """One line of an explanation: what was looked at, what was seen, and what it added."""

    name: str
    seen: str
    added: str


_SEEN = {
    "both": gettext_noop("its rank by meaning and words together"),
    "neighbours": gettext_noop("how well it fits with what stands beside it"),
    "session": gettext_noop("how well its session fits"),
    "speaker": gettext_noop("whether the question names who said it"),
    "form": gettext_noop("its length, and whether it asks, dates or counts"),
    "priority": gettext_noop("how important it is"),
    "recency": gettext_noop("how new it is"),
    "own agent": gettext_noop("whether the asking agent wrote it"),
    "start": gettext_noop("where every memory starts"),
}


def parts(explanation: Explanation) -> tuple[Part, ...]:
    """An explanation as lines: both legs, what else was added, and what held it back."""
    added = dict(explanation.contributions)
    start = added.pop("start", None)
    lines = [
        _leg("meaning", explanation.vector_rank, explanation.vector_score, _("similarity"), added),
        _leg("words", explanation.keyword_rank, explanation.keyword_score, "BM25", added),
        *(_line(name, value) for name, value in added.items()),
    ]
    if start is not None:
        lines.append(_line("start", start))
    return tuple(lines)


def together(explanation: Explanation, score: float) -> str | None:
    """What the lines add up to; None when that is the score itself."""
    total = sum(explanation.contributions.values())
    return None if abs(total - score) < 0.005 else _signed(total)


def notes(explanation: Explanation) -> tuple[str, ...]:
    """What the lines do not say: how it came in, and whether diversity moved it."""
    found = [_("Place %(rank)s by score alone.", rank=explanation.rank)]
    if explanation.neighbour:
        found.append(_("No leg brought it: it stands beside a memory that fits."))
    if explanation.likeness >= 0.6:
        likeness = number(explanation.likeness, 2)
        found.append(_("Similarity %(value)s to a hit above, for which it was held back.", value=likeness))
    return tuple(found)


def _line(name: str, value: float) -> Part:
    seen = _SEEN.get(name)
    return Part(score_part_words(name), "" if seen is None else _(seen), _signed(value))


def _leg(name: str, rank: int | None, score: float | None, measure: str, added: dict[str, float]) -> Part:
    return Part(score_part_words(name), _seen(rank, score, measure), _signed(added.pop(name, 0.0)))


def _seen(rank: int | None, score: float | None, measure: str) -> str:
    value = number(score or 0.0, 2)
    if rank is not None:
        return _("rank %(rank)s, %(measure)s %(value)s", rank=rank, measure=measure, value=value)
    if score:
        return _("not among its first; %(measure)s %(value)s", measure=measure, value=value)
    return _("did not find it")


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{number(abs(value), 2)}"
