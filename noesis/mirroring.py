"""Mirror: the memories of a Markdown file follow the file, and keep their ids while it is edited."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import msgspec

from noesis.collecting import Collector
from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.erasing import Forgotten
from noesis.errors import InvalidInput
from noesis.filed_changes import ACTOR, GoneChange, KeepChange, RefileChange, SourceChange
from noesis.indexing import IndexChange, cut, prepare
from noesis.memory import DELETED, MAX_TEXT_CHARS, SOURCE_GONE, Memory, NewMemory, expiry
from noesis.quotas import Quotas, Room
from noesis.redacting import Redacting, Redactor
from noesis.rows import by_memory, join_chunks, to_rows, vector_text, with_embeddings
from noesis.settings import Settings
from noesis.sources.book import SectionNote
from noesis.store import Column, Row, Store
from noesis.store.filters import one_of
from noesis.text.chunking import Chunk, chunk_text
from noesis.text.documents import Document, Section, memory_type_of
from noesis.text.front_matter import FrontMatter
from noesis.text.normalise import content_hash
from noesis.text.section_matching import Known, match_sections
from noesis.tombstones import Kind
from noesis.vectors import Vectors

_EMBED_AT_ONCE = 64

_MOST_CHARS = MAX_TEXT_CHARS // 2
_MOST_WORDS = 20_000
"""A section of more is several memories; half of what a memory may hold leaves room for headings and placeholders."""


class Mirrored(msgspec.Struct, frozen=True):
    """What became of a file's sections, and what to note of them; `left_out` could not be stored.

    A file that was `forgotten` gives none.
    """

    sections: tuple[SectionNote, ...] = ()
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    left_out: int = 0
    forgotten: bool = False


class FileFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Whose file it is, what its memories name as their source, its name, and when it was changed (ms)."""

    agent: str
    source: str
    name: str
    modified_ms: int


class _Wanted(msgspec.Struct, frozen=True):
    """A section as the memory that it is to be, and the digest of its text in the file."""

    section: Section
    memory: Memory
    digest: str


class _File(msgspec.Struct, frozen=True):
    """What all sections of one file share."""

    facts: FileFacts
    front: FrontMatter
    front_digest: str
    day: date | None


class Mirror:
    """Files documents as memories."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        redacting: Redacting,
        quotas: Quotas,
        forgotten: Forgotten,
        settings: Settings,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._redacting = redacting
        self._quotas = quotas
        self._forgotten = forgotten
        self._settings = settings
        self._now_ms = now_ms
        # Sections of many small files go to the model together.
        self._embedding: Collector[str, Vector | EmbeddingFailure] = Collector(
            vectors.of_documents, most=_EMBED_AT_ONCE
        )

    async def follow(self, facts: FileFacts, document: Document, filed: Sequence[SectionNote]) -> Mirrored:
        """Make the memories of a file those of its sections.

        A section that did not change is left alone, a person's correction included, and so is one whose
        memory was deleted.  A changed one keeps its memory's id, creation time, priority and life, and
        only the chunks that changed are embedded.  May be run again after a kill.  Raises QuotaExceeded when
        not all of it found room, or a StoreError.
        """
        name = (Kind.SOURCE, facts.source)
        if name in await self._forgotten.of(facts.agent):
            return Mirrored(forgotten=True)
        mirrored = await self._follow(facts, document, filed)
        is_forgotten_now = name in await self._forgotten.after(facts.agent, {name})
        return Mirrored(forgotten=True) if is_forgotten_now else mirrored

    async def _follow(self, facts: FileFacts, document: Document, filed: Sequence[SectionNote]) -> Mirrored:
        file = _File(facts, document.front, digest_of(document.front), document.day)
        redactor = await self._redacting.redactor(facts.agent)
        sections = bounded(document.sections)
        wanted = {
            section.number: each for section in sections if (each := self._wanted(file, section, redactor))
        }
        rows = await self._rows_of(filed)
        notes = {note.memory_id: note for note in filed}
        matching = match_sections(
            [_known(note, rows.get(note.memory_id, [])) for note in filed],
            [each.section for each in wanted.values()],
        )
        kept = {match.section.number: match.known.memory_id for match in matching.kept}
        async with self._quotas.room(facts.agent) as room:
            if room.is_full and len(kept) < len(wanted):
                raise room.refusal()
            done = await asyncio.gather(
                *(
                    self._keep(file, each, notes[kept[number]], rows.get(kept[number], []), room)
                    if number in kept
                    else self._add(file, each, room)
                    for number, each in wanted.items()
                )
            )
        removed = await self.remove([known.memory_id for known in matching.gone], delete=False)
        await self._redacting.record(facts.agent, redactor.counts)
        return _mirrored(done, removed, len(sections) - len(wanted))

    async def remove(self, memory_ids: Sequence[str], *, delete: bool) -> int:
        """The file is gone: take its memories out of active search; how many were there."""
        if not memory_ids:
            return 0
        reason = DELETED if delete else SOURCE_GONE
        return await self._store.submit(GoneChange(memory_ids, reason, self._now_ms()))

    async def rename(self, memory_ids: Sequence[str], source: str) -> None:
        """The file has another path: its memories name it."""
        if memory_ids:
            await self._store.submit(SourceChange(memory_ids, source, self._now_ms()))

    def _wanted(self, file: _File, section: Section, redactor: Redactor) -> _Wanted | None:
        try:
            memory = prepare(file.facts.agent, new_memory(file, section), 0.0, redactor, self._now_ms())
        except InvalidInput:
            return None
        return _Wanted(section, memory, content_hash(section.text))

    async def _rows_of(self, filed: Sequence[SectionNote]) -> dict[str, list[Row]]:
        """The rows of the file's memories, wherever they lie; active wins."""
        ids = [note.memory_id for note in filed]
        found: dict[str, list[Row]] = {}
        for table in (self._store.active, self._store.archive):
            missing = [memory_id for memory_id in ids if memory_id not in found]
            if missing:
                found |= by_memory(await table.rows(one_of(Column.PARENT_ID, missing)))
        return found

    async def _add(self, file: _File, wanted: _Wanted, room: Room) -> _Done:
        rows = await self._embedded(self._cut(wanted.memory), [])
        change = IndexChange(
            wanted.memory, rows, self._now_ms(), room=room, revive_deleted=False, actor=ACTOR
        )
        indexed = await self._store.submit(change)
        return _Done(_note_of(file, wanted, indexed.id), "unchanged" if indexed.duplicate else "added")

    async def _keep(
        self, file: _File, wanted: _Wanted, note: SectionNote, old: list[Row], room: Room
    ) -> _Done:
        filed = _note_of(file, wanted, note.memory_id)
        if (note.digest, note.front) == (filed.digest, filed.front):
            change = KeepChange(note.memory_id, filed.number, self._now_ms())
            if not change.is_done(old) and not await self._store.submit(change):
                return await self._add(file, wanted, room)
            return _Done(filed, "unchanged")
        memory = msgspec.structs.replace(wanted.memory, id=note.memory_id)
        rows = await self._embedded(self._cut(memory), old)
        await self._store.submit(RefileChange(rows, told(file.front, self._now_ms()), self._now_ms()))
        return _Done(filed, "changed")

    def _cut(self, memory: Memory) -> list[Row]:
        return to_rows(memory, cut(memory.text, self._settings, self._vectors))

    async def _embedded(self, rows: list[Row], old: Sequence[Row]) -> list[Row]:
        """The rows with vectors; a chunk whose text stood there before takes the one it had."""
        had = {vector_text(row): row.vector for row in old if row.vector is not None}
        texts = [vector_text(row) for row in rows]
        new = [text for text in dict.fromkeys(texts) if text not in had]
        made = await asyncio.gather(*(self._embedding.submit(text) for text in new))
        results: dict[str, Vector | EmbeddingFailure] = {**had, **dict(zip(new, made, strict=True))}
        return with_embeddings(rows, [results[text] for text in texts], self._now_ms())


class _Done(msgspec.Struct, frozen=True):
    """One section's note, and what was done: added, changed or unchanged."""

    note: SectionNote
    what: str


def bounded(sections: Sequence[Section]) -> list[Section]:
    """The sections, those that are too long for one memory in several parts, numbered anew."""
    parts: list[Section] = []
    for section in sections:
        chunks = [Chunk(section.text, 0, len(section.text))]
        if len(section.text) > _MOST_CHARS:
            chunks = chunk_text(section.text, max_words=_MOST_WORDS, overlap_words=0, fits=_fits)
        for chunk in chunks:
            start, number = section.start + chunk.start, len(parts)
            parts.append(msgspec.structs.replace(section, text=chunk.text, start=start, number=number))
    return parts


def _fits(text: str) -> bool:
    return len(text) <= _MOST_CHARS


def new_memory(file: _File, section: Section) -> NewMemory:
    """What a section gives to be remembered; without a TTL of its own it lives as long as its file."""
    front = file.front
    created = _day_ms(file.day) if file.day else file.facts.modified_ms
    return NewMemory(
        text=_above(section.heading_path) + section.text,
        memory_type=memory_type_of(section, file.facts.name, front),
        priority=front.priority,
        tags=front.tags,
        ttl_days=front.ttl_days or 0.0,
        source=file.facts.source,
        position=section.number,
        created_at=created,
    )


def told(front: FrontMatter, now_ms: int) -> dict[str, Any]:
    """What a file's head says of its memories, as values of a row."""
    values: dict[str, Any] = {}
    if front.memory_type is not None:
        values |= {
            "memory_type": front.memory_type.value,
            "priority": front.memory_type.default_priority,
            "priority_set_by": "type",
        }
    if front.priority is not None:
        values |= {"priority": front.priority, "priority_set_by": "caller"}
    if front.tags:
        values["tags"] = list(front.tags)
    if front.ttl_days is not None:
        values["expires_at"] = expiry(front.ttl_days, now_ms)
    return values


def digest_of(front: FrontMatter) -> str:
    """What tells whether a file's head says something else than before."""
    return content_hash(repr((front.memory_type, front.priority, front.tags, front.ttl_days)))


def _day_ms(day: date) -> int:
    return int(datetime.combine(day, time(), UTC).timestamp() * 1000)


def _note_of(file: _File, wanted: _Wanted, memory_id: str) -> SectionNote:
    return SectionNote(
        memory_id=memory_id,
        number=wanted.section.number,
        digest=wanted.digest,
        front=file.front_digest,
        heading=wanted.section.heading_path,
    )


def _known(note: SectionNote, rows: Sequence[Row]) -> Known:
    return Known(
        memory_id=note.memory_id,
        content_hash=note.digest,
        text=join_chunks(rows).removeprefix(_above(note.heading)) if rows else "",
        position=note.number,
        heading_path=note.heading,
    )


def _above(heading_path: Sequence[str]) -> str:
    """The headings above a section, which its memory begins with: alone it would not say what it is about."""
    return " › ".join(heading_path) + "\n\n" if heading_path else ""


def _mirrored(done: Sequence[_Done], removed: int, left_out: int) -> Mirrored:
    counts = Counter(each.what for each in done)
    return Mirrored(
        sections=tuple(each.note for each in done),
        added=counts["added"],
        changed=counts["changed"],
        unchanged=counts["unchanged"],
        removed=removed,
        left_out=left_out,
    )
