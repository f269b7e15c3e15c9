"""The domain: what a memory is, who may see it, and what may be asked."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from noesis.errors import Forbidden, InvalidInput

NEVER = 2**63 - 1
"""`expires_at` of a memory that does not expire (ms since 1970; larger than any real time)."""

DAY_MS = 86_400_000

MAX_TEXT_CHARS = 500_000
MAX_QUERY_CHARS = 50_000
MAX_LIMIT = 200
MAX_TTL_DAYS = 36_500.0
MAX_TAGS = 32
MAX_TAG_CHARS = 64
MAX_NAME_CHARS = 512
"""Limits of one memory; all are checked before anything is stored."""

EARLIEST_MS = 0
LATEST_MS = 4_102_444_800_000
"""Times outside 1970 to 2100 are taken for mistakes."""

_NAMESPACE = uuid.UUID("5f1f3cf0-62a5-5a5e-9a5d-0e4f4d0c8a11")


class MemoryType(enum.StrEnum):
    """What kind of thing is remembered."""

    FACT = "fact"
    DECISION = "decision"
    PREFERENCE = "preference"
    CONTEXT = "context"
    SESSION = "session"

    @property
    def default_priority(self) -> int:
        """The priority (0 to 100) of a memory of this type that nobody set by hand."""
        return _DEFAULT_PRIORITY[self]


_DEFAULT_PRIORITY = {
    MemoryType.DECISION: 85,
    MemoryType.PREFERENCE: 80,
    MemoryType.CONTEXT: 60,
    MemoryType.FACT: 30,
    MemoryType.SESSION: 20,
}


class EmbeddingState(enum.StrEnum):
    """Whether a memory can be found by meaning yet."""

    PENDING = "pending"
    READY = "ready"
    FAILED = "failed"


class Role(enum.StrEnum):
    """What a token is for; each includes the rights of the one before it."""

    AGENT = "agent"
    GATEWAY = "gateway"
    ADMIN = "admin"


class Mode(enum.StrEnum):
    """Which legs a search uses."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    KEYWORD = "keyword"


class ArchiveUse(enum.StrEnum):
    """When a search looks into the archive."""

    AUTO = "auto"
    NEVER = "never"
    ONLY = "only"
    ALWAYS = "always"


class Scope(msgspec.Struct, frozen=True):
    """Whose memories an operation may touch; every access to the store takes one.

    `agent` is the acting agent, or None for an administrator who looks at all of them.
    """

    agent: str | None
    role: Role = Role.AGENT
    may_read_across: bool = False
    actor: str = ""

    @property
    def whose(self) -> str | None:
        """The agent whose memories are meant, or None for all of them, which only an administrator may mean.

        Raises InvalidInput when anybody else names no agent.
        """
        if self.agent is None and self.role is not Role.ADMIN:
            raise _agent_missing()
        return self.agent

    def readable(self, *, cross_agent: bool = False, agent: str | None = None) -> str | None:
        """The agent whose memories may be read, or None for all.

        `agent` narrows it to one; naming another than oneself takes `cross_agent` and the
        permission for it.  Raises Forbidden, and InvalidInput as `whose` does.
        """
        if self.whose is None or (agent is not None and agent == self.agent):
            return agent
        if not cross_agent:
            if agent is not None:
                raise Forbidden("Another agent's memories are read with cross_agent only.")
            return self.agent
        if not (self.may_read_across or self.role is Role.ADMIN):
            raise Forbidden(
                "This agent may not search other agents' memories; an administrator can allow it."
            )
        return agent

    def owner(self, agent: str | None = None) -> str:
        """The agent in whose name something is written; `agent` may only repeat it.

        Raises InvalidInput when none is named, Forbidden when it is another.
        """
        if self.agent is None:
            raise _agent_missing()
        if agent is not None and agent != self.agent:
            raise Forbidden("Memories are written in the caller's own name only.")
        return self.agent

    def require(self, role: Role) -> None:
        """Raise Forbidden unless the caller has this role or a higher one."""
        order = list(Role)
        if order.index(self.role) < order.index(role):
            raise Forbidden(f"This needs a token of the role {role.value}.")


def _agent_missing() -> InvalidInput:
    return InvalidInput("Name the agent: send its name in the X-Noesis-Agent header.", field="X-Noesis-Agent")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One memory as a whole, however many chunks it is stored in.  Times are ms since 1970, UTC."""

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
    created_at: int
    updated_at: int
    expires_at: int
    archived_at: int | None
    archive_reason: str | None
    chunks: int
    content_hash: str
    trust: str = ""

    @property
    def archived(self) -> bool:
        """Whether it lies in the archive."""
        return self.archived_at is not None

    @property
    def deleted(self) -> bool:
        """Whether it was deleted and can still be brought back."""
        return self.archive_reason == DELETED


FLAGGED = "flagged"
"""`trust` of a memory whose text speaks to the model; a search finds it, nothing puts it into a prompt by itself."""

DELETED = "deleted"
EXPIRED = "expired"
SOURCE_GONE = "source gone"
MERGED = "merged"
BY_HAND = "by hand"
"""Why a row left the active table (`archive_reason`)."""

ARCHIVE_REASONS = frozenset({DELETED, EXPIRED, SOURCE_GONE, MERGED, BY_HAND})


class NewMemory(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller gives to be remembered."""

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
    created_at: int | None = None


class Indexed(msgspec.Struct, frozen=True):
    """What came of indexing one memory."""

    id: str
    duplicate: bool
    chunks: int
    embedding_state: EmbeddingState


class MemoryFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which memories an operation means; None means any.  `after` and `before` are ms, half open."""

    memory_types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    source: str | None = None
    after: int | None = None
    before: int | None = None
    archive_reason: str | None = None


class SearchQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A question put to the memory."""

    text: str
    limit: int = 6
    mode: Mode = Mode.HYBRID
    filter: MemoryFilter = MemoryFilter()
    cross_agent: bool = False
    archive: ArchiveUse = ArchiveUse.AUTO
    explain: bool = False
    agent: str | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """How one hit came by its place.

    Each leg's rank (from 1, None when it did not bring the memory) and score; `covered` is the share of
    the question's rare words (0..1, rarer ones count more) that it holds; `neighbour` when it came
    in only because it stands beside a good candidate; `contributions` add up to the points behind the
    score (`score` = 1 / (1 + e^-points) with the learned fusion), `features` are what they are made of;
    `rank` is the place by score alone, and `likeness` the similarity to the most alike hit above it,
    for which diversity held it back.
    """

    vector_rank: int | None
    vector_score: float | None
    keyword_rank: int | None
    keyword_score: float | None
    neighbour: bool
    rank: int
    likeness: float
    contributions: dict[str, float]
    features: dict[str, float] = {}
    covered: float = 0.0


class SearchHit(msgspec.Struct, frozen=True):
    """One answer to a search; `score` lies in 0 to 1 and compares within one answer only.

    `superseded_by` is the id of the memory that replaces it, if one does.
    """

    memory: Memory
    score: float
    explanation: Explanation | None = None
    superseded_by: str | None = None


class Timings(msgspec.Struct, frozen=True):
    """Where the time of one search went, in ms."""

    embedding: float
    store: float
    total: float


class SearchResult(msgspec.Struct, frozen=True):
    """The answer to a search; `degraded` says that a leg is missing and `reason` why."""

    hits: tuple[SearchHit, ...]
    timings: Timings
    degraded: bool = False
    reason: str | None = None


def memory_id(agent_id: str, source_key: str, position: int | None, content_hash: str) -> str:
    """The id of a memory: the same memory gets the same id from whoever brings it."""
    return str(uuid.uuid5(_NAMESPACE, "\x1f".join((agent_id, source_key, str(position), content_hash))))


def chunk_id(parent_id: str, chunk: int) -> str:
    """The row id of one chunk; the first has the memory's own id."""
    return parent_id if chunk == 0 else str(uuid.uuid5(uuid.UUID(parent_id), str(chunk)))


def source_key(source: str | None, session_id: str | None, position: int | None) -> str:
    """What keeps equal texts apart: the source, or the session of a numbered turn.

    Explicit `index` calls name neither and so count as one source.
    """
    if source is not None:
        return source
    if session_id is not None and position is not None:
        return f"session:{session_id}"
    return ""


def expiry(ttl_days: float, now_ms: int) -> int:
    """When a memory of this TTL (days, fractions allowed, 0 = never) expires, in ms."""
    return NEVER if ttl_days == 0 else now_ms + round(ttl_days * DAY_MS)


def check_priority(value: int) -> int:
    """The value, or InvalidInput when it is outside 0 to 100."""
    if not 0 <= value <= 100:
        raise InvalidInput("priority must be a whole number from 0 to 100.", field="priority")
    return value


def check_ttl(value: float) -> float:
    """The value, or InvalidInput when it is negative, not finite or over 100 years."""
    if not 0 <= value <= MAX_TTL_DAYS:
        raise InvalidInput(
            f"ttl_days must be between 0 (never expires) and {MAX_TTL_DAYS:.0f}.", field="ttl_days"
        )
    return value


def check_time(value: int, field: str) -> int:
    """The value (ms), or InvalidInput when it is not between 1970 and 2100."""
    if not EARLIEST_MS <= value < LATEST_MS:
        raise InvalidInput(f"{field} must lie between the years 1970 and 2100.", field=field)
    return value


_CONTROLS = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0))))


def check_tags(values: Sequence[str]) -> tuple[str, ...]:
    """The tags trimmed, without repeats, in order; InvalidInput when there are too many or one is too long."""
    tags = tuple(dict.fromkeys(tag.strip() for tag in values))
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"At most {MAX_TAGS} tags are allowed.", field="tags")
    if any(not tag or len(tag) > MAX_TAG_CHARS or _CONTROLS.intersection(tag) for tag in tags):
        raise InvalidInput(f"A tag must have 1 to {MAX_TAG_CHARS} visible characters.", field="tags")
    return tags


def check_name(value: str | None, field: str) -> str | None:
    """A session, source or author name without surrounding blanks; InvalidInput when empty or too long."""
    if value is None:
        return None
    name = value.strip()
    if not name or len(name) > MAX_NAME_CHARS or _CONTROLS.intersection(name):
        raise InvalidInput(f"{field} must have 1 to {MAX_NAME_CHARS} visible characters.", field=field)
    return name


def to_datetime(ms: int) -> datetime:
    """The UTC time of ms since 1970."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def to_ms(value: datetime, field: str) -> int:
    """Ms since 1970 of a time with a zone; InvalidInput when it has none or lies out of range."""
    if value.tzinfo is None:
        raise InvalidInput(f"{field} needs a time zone, for example 2026-05-04T10:00:00Z.", field=field)
    return check_time(round(value.timestamp() * 1000), field)
