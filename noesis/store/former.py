"""Former formats of rows, and the step from each to the next; what is written here of a format stays as it was."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pyarrow as pa

from noesis.store.packing import digest, vectors_of
from noesis.store.places import chunk_place_of, place_of

_FIRST = (
    "id",
    "parent_id",
    "chunk",
    "chunks",
    "chunk_start",
    "agent_id",
    "session_id",
    "memory_type",
    "text",
    "keyword_text",
    "embedding_state",
    "embedding_reason",
    "embedding_attempts",
    "embedding_retry_at",
    "priority",
    "priority_set_by",
    "tags",
    "source",
    "position",
    "author",
    "author_role",
    "trust",
    "content_hash",
    "created_at",
    "updated_at",
    "expires_at",
    "archived_at",
    "archive_reason",
)
"""The values of a row of format 1, each in a column, in the order in which they were hashed."""

_ONLY_PACKED = (
    "chunks",
    "chunk_start",
    "text",
    "embedding_reason",
    "embedding_attempts",
    "priority_set_by",
    "author",
    "author_role",
    "trust",
)
"""Those that have no column any more in format 2."""

_PLACE = ("session_id", "source", "position")
_SECOND = (*_PLACE, *(name for name in _FIRST if name not in _PLACE))
"""The order in which format 2 packs them; `keyword_text` there without the text, which stands at its end."""

_TEXT, _KEYWORD_TEXT = _FIRST.index("text"), _FIRST.index("keyword_text")
_ORDER = tuple(map(_FIRST.index, _SECOND))
_FITS_NOTHING = bytes(16)


def second_of_first(rows: pa.Table) -> pa.Table:
    """Rows of format 1 in format 2: all values in one column, hashed with the vector.

    A damaged row is damaged afterwards as well: it gets no hash that fits.
    """
    values = zip(*(rows.column(name).to_pylist() for name in _FIRST), strict=True)
    stored: list[str] = rows.column("row_hash").to_pylist()
    packed = [
        _packed([*row], vector, was)
        for row, vector, was in zip(values, vectors_of(rows), stored, strict=True)
    ]
    kept = rows.drop_columns([*_ONLY_PACKED, "row_hash"])
    kept = kept.append_column("row_hash", pa.array([each[:16].hex() for each in packed], pa.string()))
    return kept.append_column("packed", pa.array(packed, pa.binary()))


def third_of_second(rows: pa.Table) -> pa.Table:
    """Rows of format 2 in format 3: with the numbers of their places."""
    turns = zip(*(rows.column(name).to_pylist() for name in _PLACE), strict=True)
    chunks = zip(*(rows.column(name).to_pylist() for name in ("parent_id", "chunk", "packed")), strict=True)
    places = [place_of(*turn) for turn in turns]
    in_memory = [chunk_place_of(parent, chunk, _chunks(packed)) for parent, chunk, packed in chunks]
    with_places = rows.append_column("place", pa.array(places, pa.int64()))
    return with_places.append_column("chunk_place", pa.array(in_memory, pa.int64()))


def _chunks(packed: bytes) -> int:
    """Of how many chunks the memory is; of a row that cannot be read, which stays told of, one."""
    with contextlib.suppress(ValueError, IndexError):
        found = msgspec.msgpack.decode(packed[16:], type=list)[_SECOND.index("chunks")]
        if isinstance(found, int):
            return found
    return 1


def _packed(values: list[Any], vector: Any, stored: str) -> bytes:
    fits = digest(msgspec.msgpack.encode(values), vector).hex() == stored
    values[_KEYWORD_TEXT] = values[_KEYWORD_TEXT].removesuffix(values[_TEXT])
    encoded = msgspec.msgpack.encode([values[at] for at in _ORDER])
    return (digest(encoded, vector) if fits else _FITS_NOTHING) + encoded
