"""The row both tables share, and the columns it lies in."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from noesis.store.places import chunk_place_of, place_of

SCHEMA_VERSION = 3


class Row(msgspec.Struct, gc=False):
    """One chunk of a memory as it is stored.

    A memory of one chunk is one row; of a longer one the first row has the memory's id and the
    others name it in `parent_id`.  `chunk_start` is the offset of the chunk in the whole text, so
    that the text can be put together again although chunks overlap.  `keyword_prefix` is what the
    keyword index reads before the text.  Times are ms since 1970; `vector` is a unit vector
    (float32) or None while it is to be made.
    """

    session_id: str | None
    source: str | None
    position: int | None
    id: str
    parent_id: str
    chunk: int
    chunks: int
    chunk_start: int
    agent_id: str
    memory_type: str
    text: str
    keyword_prefix: str
    embedding_state: str
    embedding_reason: str | None
    embedding_attempts: int
    embedding_retry_at: int
    priority: int
    priority_set_by: str
    tags: list[str]
    author: str | None
    author_role: str | None
    trust: str
    content_hash: str
    created_at: int
    updated_at: int
    expires_at: int
    archived_at: int | None
    archive_reason: str | None
    vector: npt.NDArray[np.float32] | None = None

    @property
    def keyword_text(self) -> str:
        """What the keyword index reads."""
        return self.keyword_prefix + self.text

    @property
    def place(self) -> int | None:
        """By what its neighbours in a session or source find it."""
        return place_of(self.session_id, self.source, self.position)

    @property
    def chunk_place(self) -> int | None:
        """By what its neighbours in a long memory find it."""
        return chunk_place_of(self.parent_id, self.chunk, self.chunks)


class FoundRow(Row, kw_only=True, gc=False):
    """A row as a search reads it, with where it lies and its `packed` values, by which it is checked if it is a hit.

    An address (Lance's row id: fragment and place in it) is given once: a row that is written anew, or moved
    by an optimisation, gets another, and nothing lies at the old one.
    """

    address: int
    packed: bytes


def without_vector(row: Row) -> Row:
    """The row while its vector is still to be made."""
    return msgspec.structs.replace(
        row,
        vector=None,
        embedding_state="pending",
        embedding_reason=None,
        embedding_attempts=0,
        embedding_retry_at=0,
    )


ADDRESS = "_rowid"
PACKED = "packed"
ROW_HASH = "row_hash"

_STRING = pa.string()
_FIELDS: tuple[tuple[str, pa.DataType, bool], ...] = (
    ("id", _STRING, False),
    ("parent_id", _STRING, False),
    ("chunk", pa.int32(), False),
    ("agent_id", _STRING, False),
    ("session_id", _STRING, True),
    ("memory_type", _STRING, False),
    ("keyword_text", _STRING, False),
    ("embedding_state", _STRING, False),
    ("embedding_retry_at", pa.int64(), False),
    ("priority", pa.int16(), False),
    ("tags", pa.list_(_STRING), False),
    ("source", _STRING, True),
    ("position", pa.int64(), True),
    ("place", pa.int64(), True),
    ("chunk_place", pa.int64(), True),
    ("content_hash", _STRING, False),
    ("created_at", pa.int64(), False),
    ("updated_at", pa.int64(), False),
    ("expires_at", pa.int64(), False),
    ("archived_at", pa.int64(), True),
    ("archive_reason", _STRING, True),
    (ROW_HASH, _STRING, False),
    (PACKED, pa.binary(), False),
)

COLUMNS = tuple(name for name, _, _ in _FIELDS)
"""Every stored column but `vector`, which a generation has only once its width is known."""

VALUE_COLUMNS = tuple(name for name in COLUMNS if name not in (ROW_HASH, PACKED))
"""The values that a condition may ask for: copies, as the rows themselves are read from `packed`."""


def new_schema() -> pa.Schema:
    """The schema of a table that has not met an embedder yet."""
    return pa.schema([pa.field(name, kind, nullable=nullable) for name, kind, nullable in _FIELDS])


def vector_field(dimension: int) -> pa.Field:
    """The column that is added when the width of the vectors (dimensions) is known."""
    return pa.field("vector", pa.list_(pa.float32(), dimension))


def dimension_of(schema: pa.Schema) -> int | None:
    """The width of a table's vectors, or None while it has no vector column."""
    index = schema.get_field_index("vector")
    return None if index < 0 else int(schema.field(index).type.list_size)
