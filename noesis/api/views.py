"""The shapes of requests and answers; times are RFC 3339 in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from noesis.editing import Edit
from noesis.memory import (
    NEVER,
    ArchiveUse,
    EmbeddingState,
    Explanation,
    Memory,
    MemoryFilter,
    MemoryType,
    Mode,
    NewMemory,
    SearchHit,
    SearchQuery,
    SearchResult,
    to_datetime,
    to_ms,
)
from noesis.text.normalise import agent_name


class IndexRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory to store."""

    text: str
    memory_type: MemoryType = MemoryType.FACT
    priority: int | None = None
    tags: tuple[str, ...] = ()
    ttl_days: float | None = None
    session_id: str | None = None
    source: str | None = None
    position: int | None = None
    author: str | None = None
    author_role: str | None = None
    created_at: datetime | None = None
    agent_id: str | None = None

    def to_new(self) -> NewMemory:
        """The domain's form.  Raises InvalidInput."""
        values: dict[str, Any] = {name: getattr(self, name) for name in _INDEX_FIELDS}
        created = None if self.created_at is None else to_ms(self.created_at, "created_at")
        return NewMemory(**values, created_at=created)


_INDEX_FIELDS = tuple(name for name in NewMemory.__struct_fields__ if name != "created_at")


class IndexAnswer(msgspec.Struct, frozen=True):
    """What came of storing it."""

    id: str
    duplicate: bool
    chunks: int
    embedding_state: EmbeddingState


class PatchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change; a priority of null goes back to that of the type.

    A pinned memory never expires; `pinned` false gives it the life of its type again.
    """

    text: str | UnsetType = UNSET
    memory_type: MemoryType | UnsetType = UNSET
    priority: int | UnsetType | None = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    ttl_days: float | UnsetType = UNSET
    trusted: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET

    def to_edit(self) -> Edit:
        """The domain's form."""
        return Edit(**{name: getattr(self, name) for name in self.__struct_fields__})


class MemoryView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory as the API shows it; `expires_at` is null when it never does.

    `trust` is "flagged" when its text speaks to the model: it is found, and put into no prompt by itself.

    `superseded_by` is the memory that replaces it; answers about one memory and searches name it.
    """

    id: str
    agent_id: str
    session_id: str | None
    memory_type: MemoryType
    text: str
    priority: int
    priority_set_by: str
    tags: tuple[str, ...]
    source: str | None
    position: int | None
    author: str | None
    author_role: str | None
    embedding_state: EmbeddingState
    embedding_reason: str | None
    chunks: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    archived: bool
    archived_at: datetime | None
    archive_reason: str | None
    trust: str
    superseded_by: str | UnsetType | None = UNSET


class HitView(MemoryView, frozen=True, kw_only=True):
    """A memory with its score in this answer."""

    score: float
    explanation: Explanation | UnsetType = UNSET


_SAME = tuple(
    name
    for name in MemoryView.__struct_fields__
    if name not in ("created_at", "updated_at", "expires_at", "archived_at", "superseded_by")
)


def memory_view(memory: Memory, superseded_by: str | UnsetType | None = UNSET) -> MemoryView:
    """The API's form of a memory."""
    return MemoryView(**_values(memory), superseded_by=superseded_by)


def hit_view(hit: SearchHit) -> HitView:
    """The API's form of a hit."""
    return HitView(
        **_values(hit.memory),
        superseded_by=hit.superseded_by,
        score=hit.score,
        explanation=hit.explanation or UNSET,
    )


def _values(memory: Memory) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(memory, name) for name in _SAME}
    values["created_at"] = to_datetime(memory.created_at)
    values["updated_at"] = to_datetime(memory.updated_at)
    values["expires_at"] = None if memory.expires_at == NEVER else to_datetime(memory.expires_at)
    values["archived_at"] = None if memory.archived_at is None else to_datetime(memory.archived_at)
    return values


class PageView(msgspec.Struct, frozen=True):
    """Part of a list; ask for the rest with `cursor`, which is null at the end."""

    memories: list[MemoryView]
    cursor: str | None


class MemoriesView(msgspec.Struct, frozen=True):
    """Memories, newest first."""

    memories: list[MemoryView]


class FilterFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters that every question may carry."""

    memory_types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    after: datetime | None = None
    before: datetime | None = None
    agent_id: str | None = None

    def to_filter(self) -> MemoryFilter:
        """The domain's form.  Raises InvalidInput."""
        return MemoryFilter(
            memory_types=self.memory_types,
            tags=self.tags,
            session_id=self.session_id,
            after=None if self.after is None else to_ms(self.after, "after"),
            before=None if self.before is None else to_ms(self.before, "before"),
        )


class SearchRequest(FilterFields, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question."""

    query: str
    limit: int | None = None
    mode: Mode = Mode.HYBRID
    cross_agent: bool = False
    archive: ArchiveUse = ArchiveUse.AUTO
    explain: bool = False

    def to_query(self, top_k: int) -> SearchQuery:
        """The domain's form.  Raises InvalidInput."""
        return SearchQuery(
            text=self.query,
            limit=top_k if self.limit is None else self.limit,
            mode=self.mode,
            filter=self.to_filter(),
            cross_agent=self.cross_agent,
            archive=self.archive,
            explain=self.explain,
            agent=named_agent(self.agent_id),
        )


class WhyNotRequest(SearchRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The question as it was searched for, and the id of the memory that was missed."""

    id: str


class TimingsView(msgspec.Struct, frozen=True):
    """Where the time went, in ms: the embedder, the store (both legs added up) and everything else."""

    embedding: float
    store: float


class SearchAnswer(msgspec.Struct, frozen=True):
    """The hits, best first; `degraded` says that a leg is missing and `reason` why."""

    hits: list[HitView]
    took_ms: float
    degraded: bool
    reason: str | None
    timings: TimingsView


def search_answer(result: SearchResult) -> SearchAnswer:
    """The API's form of a search's result."""
    return SearchAnswer(
        hits=[hit_view(hit) for hit in result.hits],
        took_ms=round(result.timings.total, 2),
        degraded=result.degraded,
        reason=result.reason,
        timings=TimingsView(round(result.timings.embedding, 2), round(result.timings.store, 2)),
    )


class RecallRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which recent memories."""

    session_id: str | None = None
    limit: int = 20
    agent_id: str | None = None
    cross_agent: bool = False


def named_agent(raw: str | None) -> str | None:
    """An agent named in a body or a parameter, in its one spelling.  Raises InvalidInput."""
    return None if raw is None else agent_name(raw)
