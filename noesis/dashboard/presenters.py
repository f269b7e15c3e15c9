"""Memories as the templates show them: words instead of codes, nothing left to work out."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from noesis.dashboard import times
from noesis.dashboard.explaining import Part, notes, parts, together
from noesis.memory import EXPIRED, NEVER, EmbeddingState, Memory, SearchHit
from noesis.text.excerpt import excerpt

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
        fragments=excerpt(memory.text, query, EXCERPT_CHARS),
        kind=memory.memory_type.value,
        agent=memory.agent_id,
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
        score=f"{hit.score:.2f}",
        superseded_by=hit.superseded_by,
        parts=() if hit.explanation is None else parts(hit.explanation),
        together=None if hit.explanation is None else together(hit.explanation, hit.score),
        notes=() if hit.explanation is None else notes(hit.explanation),
    )


def source_words(memory: Memory) -> str | None:
    """Where it came from: source or session, with the place in it."""
    name = memory.source or (f"session {memory.session_id}" if memory.session_id else None)
    if name is None or memory.position is None:
        return name
    return f"{name} · {memory.position}"


def took(count: int, total_ms: float) -> str:
    """`4 memories in 8 ms`."""
    return f"{count} {'memory' if count == 1 else 'memories'} in {max(1, round(total_ms))} ms"


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
        Fact("Agent", memory.agent_id),
        Fact("Type", memory.memory_type.value),
        Fact("Priority", priority_words(memory)),
        Fact("Tags", ", ".join(memory.tags) or "none"),
        _expiry(memory, now_ms),
        Fact("Created", "", moment(memory.created_at, now_ms)),
        Fact("Changed", "", moment(memory.updated_at, now_ms)),
    ]
    if memory.archived_at is not None:
        facts.append(Fact(archive_words(memory), "", moment(memory.archived_at, now_ms)))
    facts.append(Fact("Vector", embedding_words(memory)))
    named = (
        ("Source", memory.source),
        ("Session", memory.session_id),
        ("Position", None if memory.position is None else str(memory.position)),
        ("Author", author_words(memory)),
    )
    facts += [Fact(name, value) for name, value in named if value]
    size = f"{len(memory.text):,} characters in {memory.chunks} chunk{'' if memory.chunks == 1 else 's'}"
    return [*facts, Fact("Size", size), Fact("Id", memory.id)]


def _expiry(memory: Memory, now_ms: int) -> Fact:
    name = "Expired" if memory.expires_at <= now_ms else "Expires"
    if memory.expires_at == NEVER:
        return Fact(name, "never")
    return Fact(name, "", moment(memory.expires_at, now_ms))


def priority_words(memory: Memory) -> str:
    """The priority and who chose it."""
    return f"{memory.priority} ({'from its type' if memory.priority_set_by == 'type' else 'set by hand'})"


def archive_words(memory: Memory) -> str:
    """Why it left the active memories."""
    if memory.deleted:
        return "Deleted"
    return "Archived after expiry" if memory.archive_reason == EXPIRED else "Archived"


def embedding_words(memory: Memory) -> str:
    """Whether it can be found by meaning, and why not."""
    reason = f" ({memory.embedding_reason})" if memory.embedding_reason else ""
    return {
        EmbeddingState.READY: "ready: found by meaning and by words",
        EmbeddingState.PENDING: f"waiting: found by words until it is made{reason}",
        EmbeddingState.FAILED: f"could not be made: found by words only{reason}",
    }[memory.embedding_state]


def author_words(memory: Memory) -> str | None:
    """Who said it."""
    if memory.author and memory.author_role:
        return f"{memory.author} ({memory.author_role})"
    return memory.author or memory.author_role
