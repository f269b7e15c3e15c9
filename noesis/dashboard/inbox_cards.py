"""Texts that wait, as the templates show them: whole, with what hides in them in sight, reasons in words."""

from __future__ import annotations

import msgspec
import re2

from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.translation import _, gettext_noop, listed, number
from noesis.inbox import Waiting
from noesis.text.suspicion import HIDDEN, INSTRUCTION, JUNK, SECRET

SHOWN_CHARS = 700
SHOWN_LINES = 14

_REASONS = {
    INSTRUCTION: gettext_noop("speaks to the model like an instruction"),
    SECRET: gettext_noop("held a secret, which was taken out"),
    JUNK: gettext_noop("holds hardly any words"),
    HIDDEN: gettext_noop("holds hidden characters"),
}
_UNSEEN = re2.compile(
    r"([\x{E0000}-\x{E007F}]+|[\x{200B}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2069}\x{FEFF}]+)"
)
_TAG, _TAG_END = 0xE0000, 0xE007F

Fragment = tuple[str, bool]
"""A piece of a text, and whether it stands for characters that cannot be seen."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """A text that waits; `start` and `rest` are its fragments, `left` counts the characters of `rest`."""

    id: str
    text: str
    start: tuple[Fragment, ...]
    rest: tuple[Fragment, ...]
    left: str
    reasons: str
    kind: str
    agent: str
    role: str | None
    session: str | None
    origin: str
    captured: Moment


def card(waiting: Waiting, now_ms: int) -> Card:
    """A text that waits, for a list or a page of its own."""
    memory = waiting.memory
    at = cut(memory.text)
    return Card(
        id=waiting.id,
        text=memory.text,
        start=in_sight(memory.text[:at]),
        rest=in_sight(memory.text[at:]),
        left=number(len(memory.text) - at),
        reasons=reason_words(waiting.reasons),
        kind=memory.memory_type.value,
        agent=waiting.agent,
        role=memory.author_role,
        session=memory.session_id,
        origin=waiting.origin,
        captured=moment(waiting.at, now_ms),
    )


def reason_words(reasons: tuple[str, ...]) -> str:
    """Why it waits, as a sentence."""
    said = [_reason(reason) for reason in reasons if reason]
    if not said:
        return _("Waits to be looked at.")
    if len(said) == 1:
        return _("Waits because it %(reason)s.", reason=said[0])
    return _("Waits because it %(reasons)s, and %(last)s.", reasons=listed(said[:-1]), last=said[-1])


def _reason(reason: str) -> str:
    known = _REASONS.get(reason)
    return _("was held for this: %(reason)s", reason=reason) if known is None else _(known)


def cut(text: str) -> int:
    """Where the part ends that a list shows: between words, and never for the sake of a few characters."""
    lines = text.split("\n", SHOWN_LINES)
    end = len(text) - len(lines[-1]) if len(lines) > SHOWN_LINES else len(text)
    end = min(end, SHOWN_CHARS)
    if len(text) - end < SHOWN_CHARS // 5:
        return len(text)
    blank = max(text.rfind(" ", 0, end), text.rfind("\n", 0, end))
    return blank + 1 if blank > end // 2 else end


def in_sight(text: str) -> tuple[Fragment, ...]:
    """The text in pieces, with runs of characters that cannot be seen replaced by what they are.

    Tag characters spell ASCII that a model may read and a person does not see, so they are spelled out.
    """
    pieces = _UNSEEN.split(text)
    return tuple(
        (_spelled(piece), True) if number % 2 else (piece, False)
        for number, piece in enumerate(pieces)
        if piece
    )


def _spelled(run: str) -> str:
    if not _TAG <= ord(run[0]) <= _TAG_END:
        return " ".join(f"U+{ord(character):04X}" for character in run)
    letters = (chr(ord(character) - _TAG) for character in run)
    return _("hidden: %(letters)s", letters="".join(each if each.isprintable() else "·" for each in letters))
