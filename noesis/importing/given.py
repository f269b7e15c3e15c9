"""What entries of our own export bring besides their text: vectors, and who replaced whom."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import msgspec
import numpy as np

from noesis.embedding.base import EmbedderIdentity, Vector
from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.memory import Role, Scope
from noesis.sources.foreign import GivenChunk, GivenVectors
from noesis.store import Row
from noesis.superseding import Superseding

_NAMESPACE = uuid.UUID("0d0c8cb2-3c0f-5b63-8f43-90a0d0f7a4d5")
_NORM_WITHIN = 1e-3


class Newer(msgspec.Struct, frozen=True):
    """An imported memory and the one that replaced it, by the ids that they have here."""

    agent: str
    old_id: str
    new_id: str


class Links:
    """Restores supersession: a replacement may come after what it replaced, so the links wait for the end."""

    def __init__(self, superseding: Superseding) -> None:
        self._superseding = superseding
        self._waiting: list[Newer] = []

    def add(self, newer: Newer) -> None:
        """Remember a link of a memory that was imported just now."""
        self._waiting.append(newer)

    async def restore(self) -> None:
        """Make the links both of whose ends are here; what a person said meanwhile stands."""
        for newer in self._waiting:
            scope = Scope(agent=newer.agent, role=Role.AGENT, actor="import")
            try:
                await self._superseding.link(scope, newer.old_id, newer.new_id)
            except (NotFound, Conflict, InvalidInput):
                continue
        self._waiting.clear()


def id_for(agent: str, owner: str | None, entry_id: str) -> str:
    """The id that an entry of our own export has with this agent: its own one with its owner, else one made of it."""
    if owner in (None, agent):
        return entry_id
    return str(uuid.uuid5(_NAMESPACE, f"{agent}\x1f{entry_id}"))


def given_vectors(
    rows: Sequence[Row], given: GivenVectors | None, embedder: EmbedderIdentity | None
) -> list[Vector | None]:
    """The vectors that came with an entry, for the rows that its text is cut into here.

    They are taken only when they are of the embedder whose vectors the store holds, and for a row that
    stands where a chunk of the entry stood.
    """
    if given is None or embedder is None or given.embedder != embedder:
        return [None] * len(rows)
    chunks = {(chunk.start, chunk.length): chunk for chunk in given.chunks}
    return [_usable(chunks.get((row.chunk_start, len(row.text))), embedder.dimension) for row in rows]


def _usable(chunk: GivenChunk | None, dimension: int) -> Vector | None:
    vector = None if chunk is None else chunk.vector
    if vector is None or len(vector) != dimension or not np.isfinite(vector).all():
        return None
    return vector if abs(float(np.linalg.norm(vector)) - 1) < _NORM_WITHIN else None
