"""What the product promises, in plain Python: a dict of memories, and the rules that change and choose them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec
from msgspec import UNSET

from noesis.cleaning import Cleaned
from noesis.editing import Edit
from noesis.memory import (
    DELETED,
    EXPIRED,
    NEVER,
    ArchiveUse,
    EmbeddingState,
    Indexed,
    Memory,
    MemoryFilter,
    MemoryType,
    Mode,
    NewMemory,
    Role,
    Scope,
    SearchQuery,
)

AGENTS = frozenset({"alpha", "beta", "gamma"})
DEFAULT_TTL_DAYS = 90.0
DAY_MS = 86_400_000
ARCHIVE_TTL_MS = 365 * DAY_MS
DELETED_KEEP_MS = 30 * DAY_MS
AWAY_MS = 30 * DAY_MS
ASK_FROM = 20
MOST_SHARE = 0.5
CANDIDATES = 60
"""So many rows each leg of a search may bring from a table: with more that fit, some may be missing."""


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller can see of one memory."""

    id: str
    agent: str
    text: str
    kind: MemoryType
    priority: int
    by_hand: bool
    tags: tuple[str, ...]
    session: str | None
    source: str | None
    position: int | None
    created_at: int
    updated_at: int
    expires_at: int
    archived_at: int | None = None
    reason: str | None = None
    pending: bool = False
    chunks: int = 1

    @property
    def origin(self) -> tuple[object, ...]:
        """What tells equal texts of one agent apart."""
        numbered = self.source is None and self.position is not None
        return self.agent, self.source, self.session if numbered else None, self.position

    def is_live(self, now: int) -> bool:
        """Whether it is neither archived nor expired."""
        return self.archived_at is None and self.expires_at > now

    @property
    def in_archive(self) -> bool:
        """Whether it lies in the archive for everybody to see."""
        return self.archived_at is not None and self.reason != DELETED

    def has_word_of(self, question: str) -> bool:
        """Whether the text and the question share a word."""
        return not set(question.split()).isdisjoint(self.text.split())

    def fits(self, wanted: MemoryFilter) -> bool:
        """Whether the filter lets it through."""
        return (
            (not wanted.memory_types or self.kind in wanted.memory_types)
            and set(wanted.tags) <= set(self.tags)
            and wanted.session_id in (None, self.session)
            and wanted.source in (None, self.source)
            and (wanted.after is None or self.created_at >= wanted.after)
            and (wanted.before is None or self.created_at < wanted.before)
        )


class Expected(msgspec.Struct, frozen=True):
    """The memories that may answer a question; `complete` says that none of them may be missing."""

    memories: tuple[Remembered, ...]
    complete: bool


class Refused(Exception):
    """The caller may not read what it asks for."""


class Model:
    """The memories as they should be."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self.memories: dict[str, Remembered] = {}
        self.believed: int | None = None

    def live(self) -> list[Remembered]:
        """Every agent's memories that are neither archived nor expired."""
        return [memory for memory in self.memories.values() if memory.is_live(self._now_ms())]

    def archived(self) -> list[Remembered]:
        """Every agent's memories in the archive, without the deleted ones."""
        return [memory for memory in self.memories.values() if memory.in_archive]

    def expired(self) -> list[Remembered]:
        """What waits to be archived."""
        return [
            memory
            for memory in self.memories.values()
            if memory.archived_at is None and not memory.is_live(self._now_ms())
        ]

    def pending_rows(self) -> int:
        """How many chunks wait for a vector, wherever they lie."""
        return sum(memory.chunks for memory in self.memories.values() if memory.pending)

    def index(self, agent: str, new: NewMemory, answer: Indexed, *, pending: bool) -> None:
        """A new memory is added; a repeat changes nothing, unless all there is of it is not live: then it is again."""
        fresh = self._made(agent, new, answer, pending=pending)
        same = [memory for memory in self.memories.values() if _repeats(fresh, memory)]
        assert answer.duplicate == bool(same)
        if not same:
            assert answer.id not in self.memories
            self._keep(fresh)
        else:
            assert answer.id in {memory.id for memory in same}
            if not any(memory.is_live(self._now_ms()) for memory in same):
                self._change(answer.id, archived_at=None, reason=None, expires_at=fresh.expires_at)
            assert self.memories[answer.id].is_live(self._now_ms())
        assert (answer.embedding_state is EmbeddingState.PENDING) == self.memories[answer.id].pending
        assert answer.chunks == self.memories[answer.id].chunks

    def edit(self, memory_id: str, edit: Edit, *, pending: bool, chunks: int) -> None:
        """Change what is named; a priority that nobody set by hand follows the type."""
        old = self.memories[memory_id]
        values: dict[str, object] = {}
        if edit.text is not UNSET:
            values |= {"text": edit.text, "pending": pending, "chunks": chunks}
        if edit.tags is not UNSET:
            values["tags"] = edit.tags
        if edit.ttl_days is not UNSET:
            values["expires_at"] = _expiry(edit.ttl_days, self._now_ms())
        if edit.pinned is True:
            values["expires_at"] = NEVER
        elif edit.pinned is False and old.expires_at == NEVER:
            values["expires_at"] = _expiry(DEFAULT_TTL_DAYS, self._now_ms())
        kind = old.kind if edit.memory_type is UNSET else edit.memory_type
        by_hand = old.by_hand if edit.priority is UNSET else edit.priority is not None
        priority = edit.priority if isinstance(edit.priority, int) else old.priority
        priority = priority if by_hand else kind.default_priority
        self._change(memory_id, kind=kind, by_hand=by_hand, priority=priority, **values)

    def delete(self, memory_id: str) -> None:
        """Out of every answer, but still there."""
        self._change(memory_id, archived_at=self._now_ms(), reason=DELETED)

    def undelete(self, memory_id: str) -> None:
        """Back, with a new life when the old one ran out meanwhile."""
        expires_at = self.memories[memory_id].expires_at
        if expires_at <= self._now_ms():
            expires_at = _expiry(DEFAULT_TTL_DAYS, self._now_ms())
        self._change(memory_id, archived_at=None, reason=None, expires_at=expires_at)

    def restore(self, memory_id: str, ttl_days: float | None) -> None:
        """Back from the archive, or alive again, with a new life."""
        expires_at = _expiry(DEFAULT_TTL_DAYS if ttl_days is None else ttl_days, self._now_ms())
        self._change(memory_id, archived_at=None, reason=None, expires_at=expires_at)

    def clean(self, *, confirm: bool) -> Cleaned:
        """What is over goes to the archive and what lay there too long is gone, unless it looks wrong."""
        now = self._now_ms()
        expired, due = self.expired(), [memory for memory in self.memories.values() if _is_due(memory, now)]
        doubtful = self.believed is not None and not -3_600_000 <= now - self.believed <= AWAY_MS
        if doubtful and not confirm:
            return Cleaned(state="needs confirmation", held=len(expired), held_purge=len(due))
        self.believed = now
        active = [memory for memory in self.memories.values() if memory.archived_at is None]
        held = [] if confirm else _suspicious(expired, active)
        old = [memory for memory in due if memory.reason != DELETED]
        held_due = [] if confirm else _suspicious(old, self.archived())
        for memory in expired:
            if memory not in held:
                self._change(memory.id, archived_at=now, reason=EXPIRED)
        for memory in due:
            if memory not in held_due:
                del self.memories[memory.id]
        return Cleaned(
            state="needs confirmation" if held or held_due else "done",
            archived=len(expired) - len(held),
            purged=len(due) - len(held_due),
            held=len(held),
            held_purge=len(held_due),
        )

    def fill(self) -> None:
        """Every vector that was missing is there."""
        for memory in list(self.memories.values()):
            self._keep(msgspec.structs.replace(memory, pending=False))

    def listed(self, agents: Iterable[str], wanted: MemoryFilter, *, archived: bool) -> list[Remembered]:
        """The memories that fit, newest first, then by id."""
        chosen = self._of(self.archived() if archived else self.live(), agents, wanted)
        return sorted(chosen, key=lambda memory: (-memory.created_at, memory.id))

    def expected(self, query: SearchQuery, agents: Iterable[str], *, meaning: bool) -> Expected:
        """What may answer a question; `meaning` says whether the question has a vector."""
        found = _candidates(self._of(self.live(), agents, query.filter), query, meaning=meaning)
        old = _candidates(self._of(self.archived(), agents, query.filter), query, meaning=meaning)
        use = query.archive
        if use is ArchiveUse.ONLY:
            return old
        if use is ArchiveUse.NEVER or (use is ArchiveUse.AUTO and len(found.memories) >= 2):
            return found
        return Expected(found.memories + old.memories, found.complete and old.complete)

    def _of(
        self, memories: Iterable[Remembered], agents: Iterable[str], wanted: MemoryFilter
    ) -> list[Remembered]:
        return [memory for memory in memories if memory.agent in agents and memory.fits(wanted)]

    def _made(self, agent: str, new: NewMemory, answer: Indexed, *, pending: bool) -> Remembered:
        now = self._now_ms()
        return Remembered(
            id=answer.id,
            agent=agent,
            text=new.text,
            kind=new.memory_type,
            priority=new.memory_type.default_priority if new.priority is None else new.priority,
            by_hand=new.priority is not None,
            tags=new.tags,
            session=new.session_id,
            source=new.source,
            position=new.position,
            created_at=now if new.created_at is None else new.created_at,
            updated_at=now,
            expires_at=_expiry(DEFAULT_TTL_DAYS if new.ttl_days is None else new.ttl_days, now),
            pending=pending,
            chunks=answer.chunks,
        )

    def _keep(self, memory: Remembered) -> None:
        self.memories[memory.id] = memory

    def _change(self, memory_id: str, **values: object) -> None:
        self._keep(msgspec.structs.replace(self.memories[memory_id], updated_at=self._now_ms(), **values))


def seen(memory: Memory) -> Remembered:
    """A memory of the product in the model's form."""
    return Remembered(
        id=memory.id,
        agent=memory.agent_id,
        text=memory.text,
        kind=memory.memory_type,
        priority=memory.priority,
        by_hand=memory.priority_set_by == "caller",
        tags=memory.tags,
        session=memory.session_id,
        source=memory.source,
        position=memory.position,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        expires_at=memory.expires_at,
        archived_at=memory.archived_at,
        reason=memory.archive_reason,
        pending=memory.embedding_state is EmbeddingState.PENDING,
        chunks=memory.chunks,
    )


def readable(scope: Scope, *, cross_agent: bool, agent: str | None) -> frozenset[str]:
    """The agents whose memories a caller may read when it asks so.  Raises Refused."""
    wanted = AGENTS if agent is None else frozenset({agent})
    if scope.agent is None:
        return wanted
    if agent == scope.agent or (agent is None and not cross_agent):
        return frozenset({scope.agent})
    if cross_agent and (scope.may_read_across or scope.role is Role.ADMIN):
        return wanted
    raise Refused


def _candidates(memories: list[Remembered], query: SearchQuery, *, meaning: bool) -> Expected:
    by_words = [m for m in memories if query.mode is not Mode.VECTOR and m.has_word_of(query.text)]
    by_meaning = [m for m in memories if meaning and query.mode is not Mode.KEYWORD and not m.pending]
    both = {memory.id: memory for memory in (*by_words, *by_meaning)}
    most = max(sum(memory.chunks for memory in leg) for leg in (by_words, by_meaning))
    return Expected(tuple(both.values()), most <= CANDIDATES)


def _is_due(memory: Remembered, now: int) -> bool:
    """Whether its time in the archive is over."""
    keep = DELETED_KEEP_MS if memory.reason == DELETED else ARCHIVE_TTL_MS
    return memory.archived_at is not None and memory.archived_at <= now - keep


def _suspicious(some: list[Remembered], of: list[Remembered]) -> list[Remembered]:
    """Those of agents of whose memories they are too many."""
    counts, totals = Counter(memory.agent for memory in some), Counter(memory.agent for memory in of)
    return [m for m in some if counts[m.agent] >= ASK_FROM and counts[m.agent] > totals[m.agent] * MOST_SHARE]


def _repeats(new: Remembered, old: Remembered) -> bool:
    return (new.text, new.origin) == (old.text, old.origin)


def _expiry(ttl_days: float, now: int) -> int:
    return NEVER if ttl_days == 0 else now + round(ttl_days * DAY_MS)
