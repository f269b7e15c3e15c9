"""Index: store memories, once each, whether or not a vector can be had."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence

import msgspec

from noesis.collecting import Lanes
from noesis.errors import InvalidInput, NoesisError, TooLarge
from noesis.lifetimes import Lifetimes, Lives
from noesis.memory import (
    DELETED,
    FLAGGED,
    MAX_TEXT_CHARS,
    EmbeddingState,
    Indexed,
    Memory,
    NewMemory,
    Scope,
    check_name,
    check_priority,
    check_tags,
    check_time,
    check_ttl,
    chunk_id,
    expiry,
    memory_id,
    source_key,
)
from noesis.quotas import Quotas, Room
from noesis.redacting import Redacting, Redactor
from noesis.rows import by_memory, to_memory, to_rows, vector_text, with_embeddings
from noesis.settings import Settings
from noesis.store import Column, Row, Store, View
from noesis.store.filters import one_of
from noesis.text.chunking import Chunk, chunk_text
from noesis.text.normalise import content_hash, is_blank
from noesis.text.suspicion import speaks_to_model
from noesis.vectors import Vectors

ROLES = ("user", "assistant", "tool", "system")
MAX_POSITION = 2**53
_EMBED_AT_ONCE = 64


class Indexing:
    """Stores new memories."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        redacting: Redacting,
        quotas: Quotas,
        lifetimes: Lifetimes,
        settings: Settings,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._redacting = redacting
        self._quotas = quotas
        self._lifetimes = lifetimes
        self._settings = settings
        self._now_ms = now_ms
        # Texts that arrive while others are embedded go to the model together.
        # Each agent's apart from the others': who brings many makes nobody else wait.
        self._embedding: Lanes[Memory, list[Row]] = Lanes(
            self._rows_of, most=_EMBED_AT_ONCE, lane=lambda memory: memory.agent_id
        )

    async def index(self, scope: Scope, new: NewMemory, *, looked_at: bool = False) -> Indexed:
        """Store one memory; a repeat is answered with the existing one.

        `looked_at` says that its text needs no flag any more.  Returns when it is on the disk.
        Raises InvalidInput or a StoreError.
        """
        result = (await self.index_many(scope, [new], looked_at=looked_at))[0]
        if isinstance(result, NoesisError):
            raise result
        return result

    async def index_many(
        self, scope: Scope, news: Sequence[NewMemory], *, looked_at: bool = False
    ) -> list[Indexed | NoesisError]:
        """Store several in one go; one that cannot be stored fails alone.  Results are in order."""
        agent = scope.owner()
        redactor = await self._redacting.redactor(agent)
        lives = await self._lifetimes.of(agent)
        prepared = [self._prepare(agent, new, redactor, lives, looked_at) for new in news]
        async with self._quotas.room(agent) as room:
            results = await asyncio.gather(
                *(self._store_one(memory, room, scope.actor) for memory in prepared)
            )
        await self._redacting.record(agent, redactor.counts)
        return list(results)

    async def _store_one(self, memory: Memory | NoesisError, room: Room, actor: str) -> Indexed | NoesisError:
        if isinstance(memory, NoesisError):
            return memory
        if room.is_full and not self._store.writer.may_have(memory.id):
            # Not even embedded: what is refused must cost the others nothing.
            return room.refusal()
        rows = await self._embedding.submit(memory)
        try:
            change = IndexChange(memory, rows, self._now_ms(), room=room, actor=actor)
            return await self._store.submit(change)
        except NoesisError as error:
            return error

    def _prepare(
        self, agent: str, new: NewMemory, redactor: Redactor, lives: Lives, looked_at: bool
    ) -> Memory | NoesisError:
        try:
            memory = prepare(agent, new, lives.days(new.memory_type), redactor, self._now_ms())
        except InvalidInput as error:
            return error
        return memory if looked_at else msgspec.structs.replace(memory, trust=trust_of(new.text))

    async def _rows_of(self, memories: list[Memory]) -> list[list[Row]]:
        """The rows of each memory, with vectors as far as they can be had and are needed."""
        known = await self._known(memories)
        cuts = [self._cut(memory) for memory in memories]
        # By number: two memories of one id are the same text with values of their own, and the first is stored.
        fresh: dict[str, int] = {}
        for number, memory in enumerate(memories):
            if memory.id not in known:
                fresh.setdefault(memory.id, number)
        rows = [row for number in fresh.values() for row in cuts[number]]
        results = await self._vectors.of_documents([vector_text(row) for row in rows])
        embedded = by_memory(with_embeddings(rows, results, self._now_ms()))
        for fresh_id, number in fresh.items():
            cuts[number] = embedded[fresh_id]
        return cuts

    async def _known(self, memories: Sequence[Memory]) -> set[str]:
        """Which of these are stored already and need no vector."""
        ids = {memory.id for memory in memories if self._store.writer.may_have(memory.id)}
        if not ids:
            return set()
        columns = [Column.ID, Column.CONTENT_HASH]
        stored = dict(await self._store.active.values(columns, one_of(Column.ID, ids)))
        # One that was edited since has another text, and this one will be a new memory.
        return {memory.id for memory in memories if stored.get(memory.id) == memory.content_hash}

    def _cut(self, memory: Memory) -> list[Row]:
        return to_rows(memory, cut(memory.text, self._settings, self._vectors))


def trust_of(text: str) -> str:
    """The `trust` of a memory that a program brings and nobody has looked at."""
    return FLAGGED if speaks_to_model(text) else ""


def cut(text: str, settings: Settings, vectors: Vectors) -> list[Chunk]:
    """The chunks of a text, each within the model's limit."""
    return chunk_text(
        text, max_words=settings.chunk_size, overlap_words=settings.chunk_overlap, fits=vectors.fits
    )


def prepare(agent: str, new: NewMemory, default_ttl_days: float, redactor: Redactor, now_ms: int) -> Memory:
    """The memory to store: checked, cleaned, redacted, hashed.  Raises InvalidInput naming the field."""
    text = prepare_text(new.text, redactor)
    digest = content_hash(text)
    session = prepare_name(new.session_id, "session_id", redactor)
    source = prepare_name(new.source, "source", redactor)
    position = check_position(new.position)
    created = now_ms if new.created_at is None else check_time(new.created_at, "created_at")
    ttl = default_ttl_days if new.ttl_days is None else check_ttl(new.ttl_days)
    return Memory(
        id=memory_id(agent, source_key(source, session, position), position, digest),
        agent_id=agent,
        session_id=session,
        memory_type=new.memory_type,
        text=text,
        priority=new.memory_type.default_priority if new.priority is None else check_priority(new.priority),
        priority_set_by="type" if new.priority is None else "caller",
        tags=prepare_tags(new.tags, redactor),
        source=source,
        position=position,
        author=prepare_name(new.author, "author", redactor),
        author_role=check_role(new.author_role),
        embedding_state=EmbeddingState.PENDING,
        embedding_reason=None,
        created_at=created,
        updated_at=now_ms,
        expires_at=expiry(ttl, now_ms),
        archived_at=None,
        archive_reason=None,
        chunks=0,
        content_hash=digest,
    )


def prepare_text(raw: str, redactor: Redactor) -> str:
    """The text as it is stored.  Raises InvalidInput when it is blank, TooLarge when it is too long."""
    if len(raw) > MAX_TEXT_CHARS:
        raise TooLarge(f"text must have at most {MAX_TEXT_CHARS:,} characters.", field="text")
    text = redactor.clean(raw)
    if is_blank(text):
        raise InvalidInput("text must not be empty or blank.", field="text")
    return text.strip()


def prepare_name(raw: str | None, field: str, redactor: Redactor) -> str | None:
    """A session, source or author as it is stored.  Raises InvalidInput."""
    name = check_name(raw, field)
    return None if name is None else check_name(redactor.clean(name), field)


def prepare_tags(raw: Sequence[str], redactor: Redactor) -> tuple[str, ...]:
    """Tags as they are stored.  Raises InvalidInput."""
    return check_tags([redactor.clean(tag) for tag in check_tags(raw)])


def check_position(value: int | None) -> int | None:
    """The value, or InvalidInput when it is negative or absurd."""
    if value is not None and not 0 <= value <= MAX_POSITION:
        raise InvalidInput("position must be a whole number from 0.", field="position")
    return value


def check_role(value: str | None) -> str | None:
    """The value, or InvalidInput when it is no role a message can have."""
    if value is not None and value not in ROLES:
        raise InvalidInput(f"author_role must be one of {', '.join(ROLES)}.", field="author_role")
    return value


class IndexChange:
    """Puts one new memory into the store unless it is there."""

    def __init__(
        self,
        memory: Memory,
        rows: Sequence[Row],
        now_ms: int,
        *,
        room: Room,
        revive_deleted: bool = True,
        actor: str = "",
    ) -> None:
        self._memory = memory
        self._rows = rows
        self._now_ms = now_ms
        self._room = room
        self._revive_deleted = revive_deleted
        self.actor = actor
        self.memory_ids = (memory.id,)
        self.hashes = (memory.content_hash,)

    def apply(self, view: View) -> Indexed:
        """Insert, find the same memory, or bring it back from the archive.

        What a person deleted comes back when it is told again, not when a file still holds it.
        """
        same = self._same(view)
        if same is None:
            self._room.take()
            rows = self._rows_with_free_id(view)
            view.put_active(rows)
            return _indexed(rows, duplicate=False)
        stays_deleted = same[0].archive_reason == DELETED and not self._revive_deleted
        if self._is_over(same) and not stays_deleted:
            self._room.take()
            same = [self._brought_back(row) for row in same]
            view.put_active(same)
        return _indexed(same, duplicate=True)

    def _same(self, view: View) -> list[Row] | None:
        """The memory that this one repeats: same agent, same source, same content; a living one if there is."""
        memory = self._memory
        wanted = (source_key(memory.source, memory.session_id, memory.position), memory.position)
        found = [
            rows
            for rows in view.with_hash(memory.agent_id, memory.content_hash)
            if (source_key(rows[0].source, rows[0].session_id, rows[0].position), rows[0].position) == wanted
        ]
        return min(found, key=self._is_over, default=None)

    def _is_over(self, rows: Sequence[Row]) -> bool:
        return rows[0].archived_at is not None or rows[0].expires_at <= self._now_ms

    def _rows_with_free_id(self, view: View) -> Sequence[Row]:
        """The id belongs to this content; a memory that was edited since keeps it all the same."""
        memory = self._memory
        if not (view.active(memory.id) or view.archived(memory.id)):
            return self._rows
        # Nothing that could be derived is certain to be free: such a memory may have been edited as well.
        fresh = str(uuid.uuid4())
        return [
            msgspec.structs.replace(row, id=chunk_id(fresh, row.chunk), parent_id=fresh) for row in self._rows
        ]

    def _brought_back(self, row: Row) -> Row:
        return msgspec.structs.replace(
            row,
            archived_at=None,
            archive_reason=None,
            expires_at=self._memory.expires_at,
            updated_at=self._now_ms,
        )


def _indexed(rows: Sequence[Row], *, duplicate: bool) -> Indexed:
    memory = to_memory(rows)
    return Indexed(memory.id, duplicate, memory.chunks, memory.embedding_state)
