"""What a reader of a foreign format yields."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from noesis.embedding.base import EmbedderIdentity
from noesis.memory import NewMemory


class GivenChunk(msgspec.Struct, frozen=True):
    """A chunk of an entry's text, offset and length in characters, with the vector it came with, if any."""

    start: int
    length: int
    vector: npt.NDArray[np.float32] | None


class GivenVectors(msgspec.Struct, frozen=True):
    """The chunks that an entry's text was cut into, and whose their vectors are."""

    embedder: EmbedderIdentity
    chunks: tuple[GivenChunk, ...]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One memory as another program had it.  Times are ms since 1970.

    `agent` is its owner when the name is one Noesis allows, `raw_agent` the name as it was written.
    `id` is the other program's.  `expires_at` is NEVER for what does not expire and None where the
    format does not say; `archived_at` and `archive_reason` tell of the archive as far as it is known.
    `priority_set_by` is "type" or "caller" where the format says it, `superseded_by` the other program's id
    of what replaced this one.  `ignored_fields` counts the fields that mean nothing to Noesis.
    """

    memory: NewMemory
    agent: str | None = None
    id: str | None = None
    updated_at: int | None = None
    archived: bool = False
    expires_at: int | None = None
    raw_agent: str | None = None
    archived_at: int | None = None
    archive_reason: str | None = None
    priority_set_by: str | None = None
    superseded_by: str | None = None
    vectors: GivenVectors | None = None
    ignored_fields: int = 0


class Unreadable(msgspec.Struct, frozen=True):
    """One entry that could not be used: where it stands and why, never what it says."""

    place: str
    reason: str
