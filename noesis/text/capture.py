"""What in a turn is worth keeping as a memory, and as which type."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator

import msgspec

from noesis.memory import MemoryType
from noesis.text.languages import Language, languages
from noesis.text.sentences import LONGEST_READ, LONGEST_SENTENCE, Sentence, matching_form, sentences
from noesis.text.stop_words import STOP_WORDS
from noesis.text.terms import tokens
from noesis.text.turn_text import noise_in, turn_text
from noesis.turns import Turn

MOST_PIECES = 32
"""Memories that one turn may give; what comes later in it is left out."""

LONGEST_SUMMARY = 8_000
"""Characters of a summary that is kept as a whole."""

CONTEXT_WORDS = 6
CONTEXT_WORDS_WITHOUT_CUE = 9
"""Content words that make a user's message context: with a sign of a plan or a state of work, and without one."""

_OF_USER = (MemoryType.DECISION, MemoryType.PREFERENCE, MemoryType.FACT)
_OF_ASSISTANT = (MemoryType.DECISION, MemoryType.FACT)
_SHORTEST_SENTENCE = 10

Rule = tuple[MemoryType, str]


class Piece(msgspec.Struct, frozen=True):
    """A part of a turn that is kept: its text, its memory type and the rule that said so (`en.decision`)."""

    text: str
    memory_type: MemoryType
    rule: str


class Captured(msgspec.Struct, frozen=True):
    """What a turn gives, in its order; when that is nothing, `left_out` says why."""

    pieces: tuple[Piece, ...]
    left_out: str | None


class _Found(msgspec.Struct, frozen=True):
    """A piece in the making: which sentences it spans, [first, last]."""

    first: int
    last: int
    text: str
    rule: Rule


def captured(turn: Turn) -> Captured:
    """The decisions, preferences, facts, summaries and context in a turn.

    A piece is a sentence or list item, with the one before where it leans on that.  An assistant's
    sentences give joint decisions and reports of what was done only, never preferences or context.
    Capturing a piece as a turn of the same role gives that piece again.  Linear in the text; never raises.
    """
    text = turn_text(turn.text)
    noise = noise_in(turn, text)
    if noise:
        return Captured((), noise)
    read = sentences(text, *_plain_words())
    summary = list(_summary(text, read))
    kinds = (MemoryType.DECISION,) if summary else _OF_USER if turn.role == "user" else _OF_ASSISTANT
    pieces = summary + [_piece(found) for found in _joined(read, kinds, turn.role)]
    if not pieces and turn.role == "user":
        pieces = list(_context(text, read))
    unique = {piece.text: piece for piece in reversed(pieces)}
    kept = tuple(reversed(unique.values()))[:MOST_PIECES]
    return Captured(kept, None if kept else _reason(text, read))


def _plain_words() -> tuple[frozenset[str], frozenset[str]]:
    return _union("abbreviations"), _union("months")


@functools.cache
def _union(key: str) -> frozenset[str]:
    return frozenset().union(*(language.words.get(key, frozenset()) for language in languages()))


def _piece(found: _Found) -> Piece:
    return Piece(found.text, *found.rule)


def _joined(read: list[Sentence], kinds: tuple[MemoryType, ...], role: str) -> Iterator[_Found]:
    """The sentences that say something, each joined to the one before where it leans on it."""
    held: _Found | None = None
    for place, sentence in enumerate(read):
        rule = _rule_of(sentence, kinds, role)
        if rule is None:
            continue
        now = _Found(place, place, _with_label(sentence, rule), rule)
        if place and sentence.follows and _leans(sentence):
            before = held if held and held.last == place - 1 else None
            joined = _join(before, read[place - 1], now)
            held = None if before and joined is not now else held
            now = joined
        if held:
            yield held
        held = now
    if held:
        yield held


def _join(before: _Found | None, previous: Sentence, now: _Found) -> _Found:
    text = f"{before.text if before else previous.text} {now.text}"
    if len(text) > LONGEST_SENTENCE:
        return now
    rule = min(before.rule if before else now.rule, now.rule, key=lambda rule: _OF_USER.index(rule[0]))
    return _Found(before.first if before else now.first - 1, now.last, text, rule)


def _with_label(sentence: Sentence, rule: Rule) -> str:
    """An item under "Decisions:" gets the word itself, for without its heading it says too little."""
    kind, name = rule
    if not name.endswith(".heading"):
        return sentence.text
    language = next(language for language in languages() if name.startswith(f"{language.name}."))
    return f"{language.labels[kind.value]}: {sentence.text}"


def _rule_of(sentence: Sentence, kinds: Iterable[MemoryType], role: str) -> Rule | None:
    if not _SHORTEST_SENTENCE <= len(sentence.text) <= LONGEST_SENTENCE:
        return None
    wish = _asked(sentence.form) if role == "user" and MemoryType.PREFERENCE in kinds else None
    if wish or _asks(sentence.form):
        return wish
    for kind in kinds:
        for language in languages():
            name = _says(language, kind, sentence, role)
            if name:
                return kind, f"{language.name}.{name}"
    return None


def _asked(form: str) -> Rule | None:
    """A standing wish in the form of a question: "could you always answer in French?"."""
    for language in languages():
        if language.has("preference.asked", form):
            return MemoryType.PREFERENCE, f"{language.name}.{MemoryType.PREFERENCE}"
    return None


def _says(language: Language, kind: MemoryType, sentence: Sentence, role: str) -> str:
    """The name of the rule by which this language takes the sentence for one of this kind; empty for none."""
    keys, vetoed = _BY_ROLE[role]
    for key in keys:
        cue = language.pattern(f"{kind}.{key}").search(sentence.form)
        if cue and not vetoed(language, kind, sentence.form, cue.start()):
            return kind.value
    under = sentence.is_item and kind.value in language.labels
    if under and language.has(f"{kind}.headings", _heading_form(sentence.heading)):
        return f"{kind.value}.heading"
    return ""


def _heading_form(heading: str) -> str:
    return f" {heading.strip(' :#')} "


def _is_vetoed(language: Language, kind: MemoryType, form: str, cue_start: int) -> bool:
    """Whether the sentence unsays its cue: anywhere, or before it in the same half of the sentence."""
    if language.has(f"{kind}.unless", form):
        return True
    before = f"{form[:cue_start]} "
    turned = [turn.end() for turn in language.pattern("sentence.turns").finditer(before)]
    return language.has(f"{kind}.unless_before", before[turned[-1] - 1 :] if turned else before)


def _is_assistants_vetoed(language: Language, kind: MemoryType, form: str, _: int) -> bool:
    return language.has(f"{kind}.assistant_unless", form)


_BY_ROLE = {
    "user": (("says", "starts"), _is_vetoed),
    "assistant": (("assistant", "assistant_starts"), _is_assistants_vetoed),
}


def _asks(form: str) -> bool:
    end = form.rstrip(" )\"'*_")
    return end.endswith(("?", "？", "؟")) or (
        not end.endswith((".", "!")) and _any(lambda language: language.has("sentence.asks", form))
    )


def _leans(sentence: Sentence) -> bool:
    return _any(lambda language: language.has("sentence.leans", sentence.form))


def _any(holds: Callable[[Language], bool]) -> bool:
    return any(holds(language) for language in languages())


def _summary(text: str, read: list[Sentence]) -> Iterator[Piece]:
    """The whole message, when it opens as a summary of what was talked about or done."""
    if len(text) > LONGEST_SUMMARY or not read:
        return
    opening = matching_form(text[:300])
    for language in languages():
        if language.has("session.starts", opening) and not language.has("session.unless", opening):
            yield Piece(text, MemoryType.SESSION, f"{language.name}.session")
            return


def _context(text: str, read: list[Sentence]) -> Iterator[Piece]:
    """The whole message, when what it states is enough about the work at hand."""
    stated = [sentence.form for sentence in read if _states(sentence.form)]
    words = sum(map(_content_words, stated))
    if words < CONTEXT_WORDS or len(text) > LONGEST_READ:
        return
    form = matching_form(" ".join(stated))
    for language in languages():
        if language.has("context.unless", form):
            return
        if language.has("context.says", form):
            yield Piece(text, MemoryType.CONTEXT, f"{language.name}.context")
            return
    if words >= CONTEXT_WORDS_WITHOUT_CUE:
        yield Piece(text, MemoryType.CONTEXT, "length.context")


def _content_words(form: str) -> int:
    empty = _function_words()
    return sum(word not in empty for word in tokens(form))


@functools.cache
def _function_words() -> frozenset[str]:
    return _union("empty").union(STOP_WORDS)


def _states(form: str) -> bool:
    """Whether a sentence tells something: it asks nothing, orders nothing, and is no reply to the other's words."""
    return not _asks(form) and not _any(
        lambda language: language.has("sentence.requests", form) or language.has("sentence.replies", form)
    )


def _reason(text: str, read: list[Sentence]) -> str:
    if len(text) > LONGEST_READ:
        return "too long"
    if read and all(_asks(sentence.form) for sentence in read):
        return "question only"
    return "nothing to keep"
