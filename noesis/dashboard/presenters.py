"""Memories as the templates show them: words instead of codes, nothing left to work out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard import times
from noesis.dashboard.explaining import Part, notes, parts, together
from noesis.dashboard.translation import _, listed, ngettext, number
from noesis.dashboard.words import kind_words
from noesis.memory import EXPIRED, NEVER, EmbeddingState, Memory, SearchHit
from noesis.text.excerpt import excerpt
from noesis.text.unmarked import unmarked

EXCERPT_CHARS = 260
_TITLE_CHARS = 90


class Moment(msgspec.Struct, frozen=True):
    """A point in time: in words, exactly, and for machines (empty when no calendar has it)."""

    words: str
    exact: str
    machine: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A memory in a list; `fragments` are pieces of its text with whether they match the query."""

    id: str
    fragments: Sequence[tuple[str, bool]]
    kind: str
    agent: str
    author: str | None
    source: str | None
    created: Moment
    priority: int
    tags: tuple[str, ...]
    archived: bool
    waiting: bool
    score: str | None = None
    parts: tuple[Part, ...] = ()
    together: str | None = None
    notes: tuple[str, ...] = ()
    superseded_by: str | None = None


class Detail(msgspec.Struct, frozen=True, kw_only=True):
    """One memory in full; `facts` are names and values in words, in the order to show them."""

    id: str
    title: str
    text: str
    kind: str
    agent: str
    created: Moment
    tags: tuple[str, ...]
    archived: bool
    deleted: bool
    embedding_failed: bool
    facts: tuple[Fact, ...]


class Fact(msgspec.Struct, frozen=True):
    """One line of a memory's metadata."""

    name: str
    value: str
    moment: Moment | None = None


def moment(at_ms: int, now_ms: int) -> Moment:
    """A past or coming time."""
    if not times.is_shown_exactly(at_ms):
        return Moment(times.age(at_ms, now_ms), "", "")
    return Moment(times.age(at_ms, now_ms), times.exact(at_ms), times.machine(at_ms))


def row(memory: Memory, query: str, now_ms: int) -> Row:
    """A memory for a list."""
    return Row(
        id=memory.id,
        fragments=excerpt(unmarked(memory.text), query, EXCERPT_CHARS),
        kind=memory.memory_type.value,
        agent=memory.agent_id,
        author=memory.author,
        source=source_words(memory),
        created=moment(memory.created_at, now_ms),
        priority=memory.priority,
        tags=memory.tags,
        archived=memory.archived,
        waiting=memory.embedding_state is not EmbeddingState.READY,
    )


def hit_row(hit: SearchHit, query: str, now_ms: int) -> Row:
    """A hit for a list, with its score and how it came by it."""
    return msgspec.structs.replace(
        row(hit.memory, query, now_ms),
        score=number(hit.score, 2),
        superseded_by=hit.superseded_by,
        parts=() if hit.explanation is None else parts(hit.explanation),
        together=None if hit.explanation is None else together(hit.explanation, hit.score),
        notes=() if hit.explanation is None else notes(hit.explanation),
    )


def source_words(memory: Memory) -> str | None:
    """Where it came from: source or session, with the place in it."""
    name = memory.source or (_("session %(id)s", id=memory.session_id) if memory.session_id else None)
    if name is None or memory.position is None:
        return name
    return f"{name} · {memory.position}"


def took(count: int, total_ms: float) -> str:
    """`4 memories in 8 ms`."""
    took_ms = max(1, round(total_ms))
    return ngettext(
        "%(count)s memory in %(ms)s ms", "%(count)s memories in %(ms)s ms", count, count=count, ms=took_ms
    )


def detail(memory: Memory, now_ms: int) -> Detail:
    """A memory for its own page."""
    return Detail(
        id=memory.id,
        title=title_of(memory.text),
        text=memory.text,
        kind=memory.memory_type.value,
        agent=memory.agent_id,
        created=moment(memory.created_at, now_ms),
        tags=memory.tags,
        archived=memory.archived,
        deleted=memory.deleted,
        embedding_failed=memory.embedding_state is EmbeddingState.FAILED,
        facts=tuple(_facts(memory, now_ms)),
    )


def title_of(text: str) -> str:
    """The first line of a text, for a page's title, without the marks of a heading or a list."""
    line = text.strip().split("\n", 1)[0].strip()
    words = line.lstrip("#>*-+ ") or line
    return words if len(words) <= _TITLE_CHARS else f"{words[: _TITLE_CHARS - 1].rstrip()}…"


def _facts(memory: Memory, now_ms: int) -> list[Fact]:
    facts = [
        Fact(_("Agent"), memory.agent_id),
        Fact(_("Type"), kind_words(memory.memory_type.value)),
        Fact(_("Priority"), priority_words(memory)),
        Fact(_("Tags"), listed(memory.tags) or _("none")),
        _expiry(memory, now_ms),
        Fact(_("Created"), "", moment(memory.created_at, now_ms)),
        Fact(_("Changed"), "", moment(memory.updated_at, now_ms)),
    ]
    if memory.archived_at is not None:
        facts.append(Fact(archive_words(memory), "", moment(memory.archived_at, now_ms)))
    facts.append(Fact(_("Vector"), embedding_words(memory)))
    named = (
        (_("Source"), memory.source),
        (_("Session"), memory.session_id),
        (_("Position"), None if memory.position is None else str(memory.position)),
        (_("Author"), author_words(memory)),
    )
    facts += [Fact(name, value) for name, value in named if value]
    size = ngettext(
        "%(length)s characters in %(count)s chunk",
        "%(length)s characters in %(count)s chunks",
        memory.chunks,
        length=number(len(memory.text)),
        count=memory.chunks,
    )
    return [*facts, Fact(_("Size"), size), Fact(_("Id"), memory.id)]


def _expiry(memory: Memory, now_ms: int) -> Fact:
    name = _("Expired") if memory.expires_at <= now_ms else _("Expires")
    if memory.expires_at == NEVER:
        return Fact(name, _("never"))
    return Fact(name, "", moment(memory.expires_at, now_ms))


def priority_words(memory: Memory) -> str:
    """The priority and who chose it."""
    if memory.priority_set_by == "type":
        return _("%(priority)s (from its type)", priority=memory.priority)
    return _("%(priority)s (set by hand)", priority=memory.priority)


def archive_words(memory: Memory) -> str:
    """Why it left the active memories."""
    if memory.deleted:
        return _("Deleted")
    return _("Archived after expiry") if memory.archive_reason == EXPIRED else _("Archived")


def embedding_words(memory: Memory) -> str:
    """Whether it can be found by meaning, and why not."""
    words = {
        EmbeddingState.READY: _("ready: found by meaning and by words"),
        EmbeddingState.PENDING: _("waiting: found by words until it is made"),
        EmbeddingState.FAILED: _("could not be made: found by words only"),
    }[memory.embedding_state]
    if memory.embedding_state is EmbeddingState.READY or not memory.embedding_reason:
        return words
    return f"{words} ({memory.embedding_reason})"


def author_words(memory: Memory) -> str | None:
    """Who said it."""
    if memory.author and memory.author_role:
        return f"{memory.author} ({memory.author_role})"
    return memory.author or memory.author_role
