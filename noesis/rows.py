"""Between a memory and the rows it is stored in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.memory import EmbeddingState, Memory, MemoryType, chunk_id, to_datetime
from noesis.store import Row
from noesis.text.chunking import Chunk

MAX_EMBEDDING_ATTEMPTS = 3
_FIRST_RETRY_MS = 5_000


def to_memory(rows: Sequence[Row]) -> Memory:
    """The memory that these rows (all of its chunks, in order) hold."""
    first = rows[0]
    worst = min(rows, key=lambda row: _STATE_ORDER[EmbeddingState(row.embedding_state)])
    return Memory(
        id=first.parent_id,
        agent_id=first.agent_id,
        session_id=first.session_id,
        memory_type=MemoryType(first.memory_type),
        text=join_chunks(rows),
        priority=first.priority,
        priority_set_by=first.priority_set_by,
        tags=tuple(first.tags),
        source=first.source,
        position=first.position,
        author=first.author,
        author_role=first.author_role,
        embedding_state=EmbeddingState(worst.embedding_state),
        embedding_reason=worst.embedding_reason,
        created_at=first.created_at,
        updated_at=first.updated_at,
        expires_at=first.expires_at,
        archived_at=first.archived_at,
        archive_reason=first.archive_reason,
        chunks=first.chunks,
        content_hash=first.content_hash,
        trust=first.trust,
    )


_STATE_ORDER = {EmbeddingState.FAILED: 0, EmbeddingState.PENDING: 1, EmbeddingState.READY: 2}


def by_memory(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows grouped by memory, each in chunk order."""
    grouped: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.chunk):
        grouped.setdefault(row.parent_id, []).append(row)
    return grouped


def join_chunks(rows: Sequence[Row]) -> str:
    """The whole text; neighbouring chunks overlap, their offsets say where."""
    text = ""
    for row in rows:
        text = text[: row.chunk_start] + row.text
    return text


def to_rows(memory: Memory, chunks: Sequence[Chunk]) -> list[Row]:
    """The rows of a memory whose text was cut into `chunks`, all still waiting for their vectors."""
    return [
        Row(
            id=chunk_id(memory.id, number),
            parent_id=memory.id,
            chunk=number,
            chunks=len(chunks),
            chunk_start=chunk.start,
            agent_id=memory.agent_id,
            session_id=memory.session_id,
            memory_type=memory.memory_type.value,
            text=chunk.text,
            keyword_prefix=keyword_prefix(memory.created_at, memory.author, memory.source),
            embedding_state=EmbeddingState.PENDING.value,
            embedding_reason=None,
            embedding_attempts=0,
            embedding_retry_at=0,
            priority=memory.priority,
            priority_set_by=memory.priority_set_by,
            tags=list(memory.tags),
            source=memory.source,
            position=memory.position,
            author=memory.author,
            author_role=memory.author_role,
            trust=memory.trust,
            content_hash=memory.content_hash,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            expires_at=memory.expires_at,
            archived_at=memory.archived_at,
            archive_reason=memory.archive_reason,
        )
        for number, chunk in enumerate(chunks)
    ]


def keyword_prefix(created_at: int, author: str | None, source: str | None) -> str:
    """What the keyword index reads before the text: date, and speaker or source.

    Questions name days and people; on LoCoMo the date alone lifts BM25's R@10 from 64.3 to 66.7.
    """
    return keyword_date(created_at) + keyword_speaker(author, source)


def keyword_date(created_at: int) -> str:
    """The day (of a time in ms since 1970) as the keyword index reads it."""
    day = to_datetime(created_at)
    return f"[{day.day} {day:%B %Y}] "


def keyword_speaker(author: str | None, source: str | None) -> str:
    """The speaker, or else the source's name, as the keyword index reads it."""
    who = author or (PurePosixPath(source).stem if source else "")
    return who and f"{who}: "


def vector_text(row: Row) -> str:
    """What the embedder reads: the speaker and the text."""
    return f"{row.author}: {row.text}" if row.author else row.text


def with_embeddings(
    rows: Sequence[Row], results: Sequence[Vector | EmbeddingFailure], now_ms: int
) -> list[Row]:
    """Copies of the rows with what the embedder gave for each."""
    return [_with_embedding(row, result, now_ms) for row, result in zip(rows, results, strict=True)]


def _with_embedding(row: Row, result: Vector | EmbeddingFailure, now_ms: int) -> Row:
    if not isinstance(result, EmbeddingFailure):
        return msgspec.structs.replace(
            row,
            vector=result,
            embedding_state=EmbeddingState.READY.value,
            embedding_reason=None,
            embedding_retry_at=0,
        )
    attempts = row.embedding_attempts + (0 if result.outage else 1)
    given_up = result.permanent or attempts >= MAX_EMBEDDING_ATTEMPTS
    return msgspec.structs.replace(
        row,
        vector=None,
        embedding_state=(EmbeddingState.FAILED if given_up else EmbeddingState.PENDING).value,
        embedding_reason=result.reason,
        embedding_attempts=attempts,
        embedding_retry_at=now_ms + _FIRST_RETRY_MS * 4**attempts if attempts else now_ms,
    )
