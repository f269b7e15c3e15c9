"""Findings of duplicates as the templates show them: side by side, with what tells the texts apart marked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard.inbox_cards import cut
from noesis.dashboard.presenters import Moment, moment, source_words
from noesis.dashboard.translation import _, gettext_noop, listed, number, percent
from noesis.duplicates.values import Decision, Kind, Report, Shown, ShownMember
from noesis.memory import Memory
from noesis.text.words import fold, spans

_COMPARED_CHARS = 20_000

KINDS: dict[Kind, str] = {
    Kind.EXACT: gettext_noop("the same words"),
    Kind.NEAR: gettext_noop("nearly the same"),
    Kind.NEWER: gettext_noop("a newer statement and an older one"),
}
"""What a finding is, in a list of choices."""

_HEADS: dict[Kind, str] = {
    Kind.EXACT: gettext_noop("The same words"),
    Kind.NEAR: gettext_noop("Nearly the same"),
    Kind.NEWER: gettext_noop("A newer statement and an older one"),
}

DECISIONS: dict[Decision, tuple[str, str, str]] = {
    Decision.MERGE: (
        gettext_noop("Merge"),
        gettext_noop("merge"),
        gettext_noop("one stays, with the tags of all and the longest life; the others go to the archive"),
    ),
    Decision.SUPERSEDE: (
        gettext_noop("Supersede"),
        gettext_noop("supersede"),
        gettext_noop("one replaces the others, which stay and rank below it"),
    ),
    Decision.KEEP_BOTH: (
        gettext_noop("Keep both"),
        gettext_noop("keep both"),
        gettext_noop("nothing changes, and they are not proposed again"),
    ),
    Decision.DELETE: (
        gettext_noop("Delete the others"),
        gettext_noop("delete the others"),
        gettext_noop("one stays; the others can be brought back from their pages for a time"),
    ),
}
"""What can be done with a finding, on a button, in a list of choices and as a sentence."""


class Choice(msgspec.Struct, frozen=True):
    """A decision: its name, and what it is called on a button, in a list of choices and as a sentence."""

    name: str
    button: str
    words: str
    meaning: str


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


def choices() -> list[Choice]:
    """Every decision."""
    return [Choice(decision.value, *map(_, words)) for decision, words in DECISIONS.items()]


def card(finding: Shown, now_ms: int) -> Card:
    """A finding for the list."""
    memories = [member.memory for member in finding.members]
    return Card(
        id=finding.id,
        agent=finding.agent,
        words=_(_HEADS[finding.kind]),
        alike=_("%(share)s alike", share=percent(finding.similarity)),
        sides=tuple(_side(member, memories, now_ms) for member in finding.members),
        decisions=tuple((decision.value, _(DECISIONS[decision][0])) for decision in finding.decisions),
    )


def line(report: Report, now_ms: int) -> Line:
    """A report in words."""
    counts = (
        (report.exact, _("%(count)s with the same words", count=number(report.exact))),
        (report.near, _("%(count)s nearly the same", count=number(report.near))),
        (report.newer, _("%(count)s newer", count=number(report.newer))),
    )
    found = listed(words for count, words in counts if count) or _("nothing")
    told = {"count": number(report.checked), "found": found}
    if report.without_vector:
        missing = number(report.without_vector)
        words = _("%(count)s memories: %(found)s; %(missing)s had no vector yet", **told, missing=missing)
    else:
        words = _("%(count)s memories: %(found)s", **told)
    return Line(report.agent, moment(report.at, now_ms), words)


def _side(member: ShownMember, all_of_them: Sequence[Memory], now_ms: int) -> Side:
    memory = member.memory
    at = cut(memory.text)
    others = [each.text for each in all_of_them if each is not memory]
    return Side(
        id=memory.id,
        fragments=marked(memory.text[:at], others),
        left=number(len(memory.text) - at) if at < len(memory.text) else "",
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
