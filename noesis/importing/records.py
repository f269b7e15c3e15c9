"""Imports memories as another program, or our own export, had them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing

import msgspec

from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.erasing import FORGOTTEN, Forgotten, names_of
from noesis.errors import Forbidden, InvalidInput, NoesisError, QuotaExceeded, StoreError
from noesis.importing.change import ImportChange, place_of
from noesis.importing.entries import records
from noesis.importing.given import Links, Newer, given_vectors, id_for
from noesis.importing.places import Part
from noesis.importing.values import Course, Recipients
from noesis.indexing import cut, prepare, trust_of
from noesis.lifetimes import Lifetimes, Lives
from noesis.memory import (
    ARCHIVE_REASONS,
    EXPIRED,
    NEVER,
    Memory,
    check_time,
    memory_id,
    source_key,
)
from noesis.quotas import Quotas, Room
from noesis.redacting import Redacting, Redactor
from noesis.rows import by_memory, to_rows, vector_text, with_embeddings
from noesis.settings import Settings
from noesis.sources.foreign import Format, GivenVectors, Record, Unreadable
from noesis.store import Column, Row, Store
from noesis.store.filters import Condition, either, one_of
from noesis.superseding import Superseding
from noesis.tombstones import Kind
from noesis.vectors import Vectors

_EMBED_AT_ONCE = 64
_STANDING = (
    Column.ID,
    Column.PARENT_ID,
    Column.AGENT_ID,
    Column.CONTENT_HASH,
    Column.SESSION_ID,
    Column.SOURCE,
    Column.POSITION,
)


class _Ready(msgspec.Struct, frozen=True):
    """An entry as the memory it is to be; `own` when it brings its id along, `newer` what replaced it."""

    memory: Memory
    own: bool
    vectors: GivenVectors | None = None
    newer: str | None = None


class _Standing(msgspec.Struct):
    """What the store holds of a batch: memories' agents by id, row ids that are taken, and texts by place."""

    agents: dict[str, str] = {}
    row_ids: set[str] = set()
    texts: set[tuple[str, str, str, int | None]] = set()


class RecordImport:
    """Puts memories of other programs into the store."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        redacting: Redacting,
        quotas: Quotas,
        lifetimes: Lifetimes,
        settings: Settings,
        now_ms: Callable[[], int],
        superseding: Superseding,
        forgotten: Forgotten,
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._redacting = redacting
        self._quotas = quotas
        self._lifetimes = lifetimes
        self._settings = settings
        self._now_ms = now_ms
        self._superseding = superseding
        self._forgotten = forgotten

    async def read(self, part: Part, to: Recipients, course: Course) -> None:
        """Import a part, or count what would be.  May be run again after a kill: what is there is passed over.

        Raises InvalidInput when the part is not of its format, or a StoreError.
        """
        redactors: dict[str, Redactor] = {}
        lives: dict[str, Lives] = {}
        seen: set[int] = set()
        links = Links(self._superseding)
        most_bytes = self._settings.max_file_mb << 20
        async with aclosing(records(part, most_bytes)) as batches:
            async for batch in batches:
                ready = await self._ready(batch, part.format, to, redactors, lives, course)
                ready = await self._admitted(ready, course)
                for added in await self._batch(ready, seen, course):
                    links.add(added)
                if not course.goes_on():
                    break
        if not course.dry:
            await links.restore()
            for agent, redactor in redactors.items():
                await self._redacting.record(agent, redactor.counts)

    async def _ready(
        self,
        batch: Sequence[Record | Unreadable],
        kind: Format,
        to: Recipients,
        redactors: dict[str, Redactor],
        lives: dict[str, Lives],
        course: Course,
    ) -> list[_Ready]:
        agents = {entry.agent for entry in batch if isinstance(entry, Record)} if to.as_given else set()
        for agent in {to.agent, *agents} - {None, *redactors}:
            assert agent is not None
            redactors[agent] = await self._redacting.redactor(agent)
            lives[agent] = await self._lifetimes.of(agent)
        # In a thread: to look for secrets in a large batch takes time that other requests need.
        made = await asyncio.to_thread(
            lambda: [self._one(entry, kind, to, redactors, lives) for entry in batch]
        )
        for each in made:
            if isinstance(each, Unreadable):
                course.tally.fail(each)
        return [each for each in made if isinstance(each, _Ready)]

    async def _admitted(self, ready: Sequence[_Ready], course: Course) -> list[_Ready]:
        """Those that are of no source and no session that their agent has forgotten."""
        away = {agent: await self._forgotten.of(agent) for agent in {each.memory.agent_id for each in ready}}
        kept = [each for each in ready if away[each.memory.agent_id].isdisjoint(names_of(each.memory))]
        if len(kept) < len(ready):
            course.tally.left_out[FORGOTTEN] += len(ready) - len(kept)
        return kept

    async def _take_back(self, added: Sequence[_Ready]) -> None:
        """Purge again what is of a source or a session that was forgotten while it was stored."""
        names: dict[str, set[tuple[Kind, str]]] = {}
        for each in added:
            names.setdefault(each.memory.agent_id, set()).update(names_of(each.memory))
        for agent, stored in names.items():
            if stored:
                await self._forgotten.after(agent, stored)

    def _one(
        self,
        entry: Record | Unreadable,
        kind: Format,
        to: Recipients,
        redactors: dict[str, Redactor],
        lives: dict[str, Lives],
    ) -> _Ready | Unreadable:
        if isinstance(entry, Unreadable):
            return entry
        try:
            agent = to.of(entry)
            return self._memory_of(entry, kind, agent, redactors[agent], lives[agent])
        except (InvalidInput, Forbidden) as error:
            return Unreadable(_place_in(entry), error.message)

    def _memory_of(self, entry: Record, kind: Format, agent: str, redactor: Redactor, lives: Lives) -> _Ready:
        """The memory of an entry.  Raises InvalidInput."""
        now = self._now_ms()
        memory = prepare(agent, entry.memory, lives.days(entry.memory.memory_type), redactor, now)
        ours = kind is Format.NOESIS and _is_id(entry.id)
        own = ours and entry.agent in (None, agent)
        values = _told_of(entry, memory, now) | {"trust": trust_of(entry.memory.text)}
        if not ours:
            return _Ready(msgspec.structs.replace(memory, **values), own)
        values["id"] = id_for(agent, entry.agent, str(entry.id))
        newer = entry.superseded_by
        newer = id_for(agent, entry.agent, newer) if newer is not None and _is_id(newer) else None
        is_as_it_was = (memory.text, memory.author) == (entry.memory.text, entry.memory.author)
        vectors = entry.vectors if is_as_it_was else None
        return _Ready(msgspec.structs.replace(memory, **values), own, vectors, newer)

    async def _batch(self, ready: list[_Ready], seen: set[int], course: Course) -> list[Newer]:
        """Store what is new, or count it; what is known to have been replaced."""
        standing = await self._standing(ready)
        new: list[_Ready] = []
        for each in ready:
            course.tally.entries += 1
            if course.dry:
                course.tally.by_type[each.memory.memory_type.value] += 1
                course.tally.by_agent[each.memory.agent_id] += 1
            free = _with_free_id(each, standing)
            if _is_there(free, standing) or (course.dry and _is_repeated(free, seen)):
                course.tally.already += 1
            else:
                new.append(free)
        added = new if course.dry else await self._store_all(new, course)
        if not course.dry:
            await self._take_back(added)
        course.tally.new += len(added)
        course.tally.archived += sum(each.memory.archived for each in added)
        if not course.dry:
            course.tally.by_agent.update(each.memory.agent_id for each in added)
        return [
            Newer(each.memory.agent_id, each.memory.id, each.newer)
            for each in added
            if each.newer is not None
        ]

    async def _standing(self, ready: Sequence[_Ready]) -> _Standing:
        """What the store holds of these already."""
        if not ready:
            return _Standing()
        ids = {each.memory.id for each in ready} | {derived_id(each.memory) for each in ready}
        condition = either(
            one_of(Column.PARENT_ID, sorted(ids)),
            one_of(Column.ID, sorted(each.memory.id for each in ready if each.own)),
            one_of(Column.CONTENT_HASH, sorted({each.memory.content_hash for each in ready})),
        )
        return _standing_of(await self._values(condition))

    async def _values(self, condition: Condition) -> list[tuple[object, ...]]:
        tables = (self._store.active, self._store.archive)
        return [row for table in tables for row in await table.values(_STANDING, condition)]

    async def _store_all(self, new: list[_Ready], course: Course) -> list[_Ready]:
        """Those that were stored, in one commit or few."""
        async with AsyncExitStack() as stack:
            rooms = {
                agent: await stack.enter_async_context(self._quotas.room(agent))
                for agent in {each.memory.agent_id for each in new}
            }
            fitting = [each for each in new if _fits(each, rooms, course)]
            rows = await self._rows_of(fitting)
            changes = [
                ImportChange(
                    each.memory, rows[each.memory.id], own=each.own, room=rooms[each.memory.agent_id]
                )
                for each in fitting
            ]
            results = await asyncio.gather(*(self._submit(change) for change in changes))
        added: list[_Ready] = []
        for each, result in zip(fitting, results, strict=True):
            if isinstance(result, NoesisError):
                course.tally.fail(Unreadable(each.memory.id, result.message))
            elif result:
                added.append(each)
            else:
                course.tally.already += 1
        return added

    async def _submit(self, change: ImportChange) -> bool | NoesisError:
        try:
            return await self._store.submit(change)
        except QuotaExceeded as error:
            return error
        except StoreError as error:
            # A full disk or a store that is busy stops the import; one row that is refused does not.
            if type(error) is not StoreError:
                raise
            return error

    async def _rows_of(self, new: Sequence[_Ready]) -> dict[str, list[Row]]:
        """The rows of each memory, with vectors as far as they can be had."""
        cuts = await asyncio.to_thread(self._cut, [each.memory for each in new])
        results = await self._given(new, cuts)
        rows = [row for cut_rows in cuts for row in cut_rows]
        missing = [number for number, result in enumerate(results) if result is None]
        for start in range(0, len(missing), _EMBED_AT_ONCE):
            numbers = missing[start : start + _EMBED_AT_ONCE]
            made = await self._vectors.of_documents([vector_text(rows[number]) for number in numbers])
            for number, result in zip(numbers, made, strict=True):
                results[number] = result
        embedded = [result for result in results if result is not None]
        return by_memory(with_embeddings(rows, embedded, self._now_ms()))

    async def _given(
        self, new: Sequence[_Ready], cuts: Sequence[Sequence[Row]]
    ) -> list[Vector | EmbeddingFailure | None]:
        """The vectors that came with the entries, None for each row without."""
        if self._store.embedder is None and any(each.vectors is not None for each in new):
            await self._vectors.look()
        embedder = self._store.embedder
        return [
            vector
            for each, rows in zip(new, cuts, strict=True)
            for vector in given_vectors(rows, each.vectors, embedder)
        ]

    def _cut(self, memories: Sequence[Memory]) -> list[list[Row]]:
        return [to_rows(memory, cut(memory.text, self._settings, self._vectors)) for memory in memories]


def _fits(ready: _Ready, rooms: Mapping[str, Room], course: Course) -> bool:
    """Whether it may be stored; one that finds no room is counted, and costs the embedder nothing."""
    room = rooms[ready.memory.agent_id]
    if ready.memory.archived or not room.is_full:
        return True
    course.tally.fail(Unreadable(ready.memory.id, room.refusal().message))
    return False


def derived_id(memory: Memory) -> str:
    """The id that a memory has when it brings none along."""
    key = source_key(memory.source, memory.session_id, memory.position)
    return memory_id(memory.agent_id, key, memory.position, memory.content_hash)


def _told_of(entry: Record, memory: Memory, now: int) -> dict[str, object]:
    """What the entry says of its memory's life, as values of the memory.  Raises InvalidInput."""
    expires_at = memory.expires_at
    if entry.expires_at is not None:
        expires_at = NEVER if entry.expires_at == NEVER else check_time(entry.expires_at, "expires_at")
    values: dict[str, object] = {
        "expires_at": expires_at,
        "updated_at": check_time(entry.updated_at or now, "updated_at"),
    }
    # Other programs do not say who set the priority; what differs from the type's was set by somebody.
    if entry.priority_set_by is not None:
        values["priority_set_by"] = entry.priority_set_by
    elif memory.priority == memory.memory_type.default_priority:
        values["priority_set_by"] = "type"
    if entry.archived or expires_at <= now:
        reason = (
            entry.archive_reason if entry.archived and entry.archive_reason in ARCHIVE_REASONS else EXPIRED
        )
        values |= {
            "archived_at": check_time(entry.archived_at or now, "archived_at"),
            "archive_reason": reason,
        }
    return values


def _with_free_id(ready: _Ready, standing: _Standing) -> _Ready:
    """The memory with a derived id when the one it brought belongs to something else."""
    memory = ready.memory
    owner = standing.agents.get(memory.id)
    is_part_of_another = owner is None and memory.id in standing.row_ids
    if not ready.own or (owner in (None, memory.agent_id) and not is_part_of_another):
        return ready
    renamed = msgspec.structs.replace(memory, id=derived_id(memory))
    return msgspec.structs.replace(ready, memory=renamed, own=False)


def _is_there(ready: _Ready, standing: _Standing) -> bool:
    memory = ready.memory
    if standing.agents.get(memory.id) == memory.agent_id:
        return True
    text = (memory.agent_id, memory.content_hash, *place_of(memory))
    return not ready.own and text in standing.texts


def _is_repeated(ready: _Ready, seen: set[int]) -> bool:
    """Whether the import has brought this memory before; a hash of each id is remembered."""
    key = hash(ready.memory.id)
    known = key in seen
    seen.add(key)
    return known


def _standing_of(rows: Sequence[tuple[object, ...]]) -> _Standing:
    standing = _Standing({}, set(), set())
    for row_id, parent, agent, digest, session, source, position in rows:
        standing.agents[str(parent)] = str(agent)
        standing.row_ids.add(str(row_id))
        key = source_key(_text(source), _text(session), _whole(position))
        standing.texts.add((str(agent), str(digest), key, _whole(position)))
    return standing


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _is_id(raw: str | None) -> bool:
    """Whether it is a UUID in the form we write."""
    try:
        return raw is not None and str(uuid.UUID(raw)) == raw
    except ValueError:
        return False


def _place_in(entry: Record) -> str:
    """Where an entry stands, as far as that can be told without repeating what it says."""
    if _is_id(entry.id):
        return f"entry {entry.id}"
    position = entry.memory.position
    return "an entry" if position is None else f"an entry at position {position}"
