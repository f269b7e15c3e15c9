"""Findings of duplicates as the templates show them: side by side, with what tells the texts apart marked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard.inbox_cards import cut
from noesis.dashboard.presenters import Moment, moment, source_words
from noesis.duplicates.values import Decision, Kind, Report, Shown, ShownMember
from noesis.memory import Memory
from noesis.text.words import fold, spans

_COMPARED_CHARS = 20_000

KINDS: dict[Kind, str] = {
    Kind.EXACT: "the same words",
    Kind.NEAR: "nearly the same",
    Kind.NEWER: "a newer statement and an older one",
}
"""What a finding is."""

DECISIONS: dict[Decision, tuple[str, str]] = {
    Decision.MERGE: (
        "Merge",
        "one stays, with the tags of all and the longest life; the others go to the archive",
    ),
    Decision.SUPERSEDE: ("Supersede", "one replaces the others, which stay and rank below it"),
    Decision.KEEP_BOTH: ("Keep both", "nothing changes, and they are not proposed again"),
    Decision.DELETE: (
        "Delete the others",
        "one stays; the others can be brought back from their pages for a time",
    ),
}
"""What can be done with a finding, on a button and as a sentence."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One memory of a finding; `fragments` are pieces of its text with whether only it has them."""

    id: str
    fragments: tuple[tuple[str, bool], ...]
    left: str
    kind: str
    source: str | None
    created: Moment
    priority: int
    tags: tuple[str, ...]
    keep: bool
    reason: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One finding."""

    id: str
    agent: str
    words: str
    alike: str
    sides: tuple[Side, ...]
    decisions: tuple[tuple[str, str], ...]


class Line(msgspec.Struct, frozen=True):
    """What the last look through one agent's memories found."""

    agent: str
    at: Moment
    words: str


def card(finding: Shown, now_ms: int) -> Card:
    """A finding for the list."""
    memories = [member.memory for member in finding.members]
    return Card(
        id=finding.id,
        agent=finding.agent,
        words=KINDS[finding.kind],
        alike=f"{finding.similarity:.0%} alike",
        sides=tuple(_side(member, memories, now_ms) for member in finding.members),
        decisions=tuple((decision.value, DECISIONS[decision][0]) for decision in finding.decisions),
    )


def line(report: Report, now_ms: int) -> Line:
    """A report in words."""
    counts = (
        (report.exact, "with the same words"),
        (report.near, "nearly the same"),
        (report.newer, "newer"),
    )
    found = ", ".join(f"{count:,} {words}" for count, words in counts if count) or "nothing"
    more = f"; {report.without_vector:,} had no vector yet" if report.without_vector else ""
    return Line(report.agent, moment(report.at, now_ms), f"{report.checked:,} memories: {found}{more}")


def _side(member: ShownMember, all_of_them: Sequence[Memory], now_ms: int) -> Side:
    memory = member.memory
    at = cut(memory.text)
    others = [each.text for each in all_of_them if each is not memory]
    return Side(
        id=memory.id,
        fragments=marked(memory.text[:at], others),
        left=f"{len(memory.text) - at:,}" if at < len(memory.text) else "",
        kind=memory.memory_type.value,
        source=source_words(memory),
        created=moment(memory.created_at, now_ms),
        priority=memory.priority,
        tags=memory.tags,
        keep=member.keep,
        reason=member.reason,
    )


def marked(text: str, others: Sequence[str]) -> tuple[tuple[str, bool], ...]:
    """The text in pieces, with the words marked that none of the others has."""
    known = {
        fold(other[span.start : span.end]) for other in others for span in spans(other[:_COMPARED_CHARS])
    }
    pieces: list[tuple[str, bool]] = []
    done = 0
    for span in spans(text):
        word = text[span.start : span.end]
        if fold(word) not in known:
            pieces += [(text[done : span.start], False), (word, True)]
            done = span.end
    return tuple(piece for piece in [*pieces, (text[done:], False)] if piece[0])
