"""The row both tables share, and its way to Arrow and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

SCHEMA_VERSION = 1


class RankingRow(msgspec.Struct):
    """What ranking reads of a row; a search fetches a hundred of these and the whole of its few hits.

    `vector` is a unit vector (float32) or None while pending; `created_at` is in ms since 1970.
    """

    id: str
    parent_id: str
    chunk: int
    chunks: int
    agent_id: str
    session_id: str | None
    source: str | None
    position: int | None
    author: str | None
    created_at: int
    priority: int
    text: str
    vector: npt.NDArray[np.float32] | None = None


class FoundRow(RankingRow, kw_only=True):
    """A row as a search reads it: what ranking reads, when it expires (ms since 1970), and where it lies.

    An address (Lance's row id: fragment and place in it) is given once: a row that is written anew, or moved
    by an optimisation, gets another, and nothing lies at the old one.
    """

    expires_at: int
    address: int


class Row(RankingRow, kw_only=True):
    """One chunk of a memory as it is stored.

    A memory of one chunk is one row; of a longer one the first row has the memory's id and the
    others name it in `parent_id`.  `chunk_start` is the offset of the chunk in the whole text, so
    that the text can be put together again although chunks overlap.  Times are ms since 1970.
    """

    chunk_start: int
    memory_type: str
    keyword_text: str
    embedding_state: str
    embedding_reason: str | None
    embedding_attempts: int
    embedding_retry_at: int
    priority_set_by: str
    tags: list[str]
    author_role: str | None
    trust: str
    content_hash: str
    updated_at: int
    expires_at: int
    archived_at: int | None
    archive_reason: str | None


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


_STRING = pa.string()
_FIELDS: tuple[tuple[str, pa.DataType, bool], ...] = (
    ("id", _STRING, False),
    ("parent_id", _STRING, False),
    ("chunk", pa.int32(), False),
    ("chunks", pa.int32(), False),
    ("chunk_start", pa.int32(), False),
    ("agent_id", _STRING, False),
    ("session_id", _STRING, True),
    ("memory_type", _STRING, False),
    ("text", _STRING, False),
    ("keyword_text", _STRING, False),
    ("embedding_state", _STRING, False),
    ("embedding_reason", _STRING, True),
    ("embedding_attempts", pa.int32(), False),
    ("embedding_retry_at", pa.int64(), False),
    ("priority", pa.int16(), False),
    ("priority_set_by", _STRING, False),
    ("tags", pa.list_(_STRING), False),
    ("source", _STRING, True),
    ("position", pa.int64(), True),
    ("author", _STRING, True),
    ("author_role", _STRING, True),
    ("trust", _STRING, False),
    ("content_hash", _STRING, False),
    ("created_at", pa.int64(), False),
    ("updated_at", pa.int64(), False),
    ("expires_at", pa.int64(), False),
    ("archived_at", pa.int64(), True),
    ("archive_reason", _STRING, True),
    ("row_hash", _STRING, False),
)

COLUMNS = tuple(name for name, _, _ in _FIELDS)
"""Every stored column but `vector`, which a generation has only once its width is known."""

VALUE_COLUMNS = tuple(name for name in COLUMNS if name != "row_hash")
"""The stored columns of a `Row`, without its vector."""

RANKING_COLUMNS = tuple(name for name in RankingRow.__struct_fields__ if name != "vector")
"""The stored columns of a `RankingRow`, without its vector."""

ADDRESS = "_rowid"

FOUND_COLUMNS = (*RANKING_COLUMNS, "expires_at", ADDRESS)
"""What is selected for a `FoundRow`, without its vector."""

OTHER_COLUMNS = tuple(name for name in COLUMNS if name not in FOUND_COLUMNS)
"""The stored columns that a `FoundRow` lacks."""


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


def row_hash(row: Row) -> str:
    """BLAKE2b-128 (hex) over every value of the row and its vector.

    Lance has no checksum of its own for data pages: a flipped bit reads back as another value.
    """
    return _hash([getattr(row, name) for name in VALUE_COLUMNS], row.vector)


def _hash(values: Sequence[Any], vector: npt.NDArray[np.float32] | None) -> str:
    digest = hashlib.blake2b(msgspec.msgpack.encode(values), digest_size=16)
    if vector is not None:
        digest.update(np.ascontiguousarray(vector).data)
    return digest.hexdigest()


def to_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Rows as a table of exactly `schema`, hashed on the way."""
    columns: list[pa.Array] = []
    for field in schema:
        if field.name == "vector":
            columns.append(_vectors_to_arrow(rows, field.type))
        elif field.name == "row_hash":
            columns.append(pa.array([row_hash(row) for row in rows], field.type))
        else:
            columns.append(pa.array([getattr(row, field.name) for row in rows], field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def from_arrow(table: pa.Table) -> list[Row]:
    """The rows of a result that holds every column."""
    values = {name: table.column(name).to_pylist() for name in VALUE_COLUMNS}
    vectors = vectors_of(table)
    return [
        Row(**{name: values[name][index] for name in VALUE_COLUMNS}, vector=vectors[index])
        for index in range(table.num_rows)
    ]


def found_rows(table: pa.Table) -> list[FoundRow]:
    """The rows of a result that holds the columns a search reads."""
    values = [table.column(name).to_pylist() for name in RANKING_COLUMNS]
    expiries, addresses = table.column("expires_at").to_pylist(), table.column(ADDRESS).to_pylist()
    return [
        FoundRow(*row, expires_at=expires_at, address=address)
        for *row, expires_at, address in zip(*values, vectors_of(table), expiries, addresses, strict=True)
    ]


def completed(found: Sequence[FoundRow], others: pa.Table) -> list[Row]:
    """The whole rows of `found` of which `others` holds the other columns, but for those that do not fit."""
    known = {row.address: row for row in found}
    whole: list[Row] = []
    for values in others.to_pylist():
        row, stored = known[values.pop(ADDRESS)], values.pop("row_hash")
        whole.append(Row(**values, **{name: getattr(row, name) for name in _KNOWN}))
        if row_hash(whole[-1]) != stored:
            whole.pop()
    return whole


_KNOWN = (*RANKING_COLUMNS, "vector", "expires_at")


def vectors_of(table: pa.Table) -> list[npt.NDArray[np.float32] | None]:
    """The vectors of a result, None where a row has none."""
    if "vector" not in table.column_names:
        return [None] * table.num_rows
    column = table.column("vector").combine_chunks()
    flat = column.values.to_numpy(zero_copy_only=False)
    width = column.type.list_size
    matrix = flat.reshape(-1, width)[column.offset : column.offset + len(column)]
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return [matrix[index] if valid[index] else None for index in range(len(column))]


def damaged(table: pa.Table) -> list[str]:
    """The ids of the rows whose hash does not fit their values."""
    # Without a `Row` for each, which would take as long as all the rest.
    values = zip(*(table.column(name).to_pylist() for name in VALUE_COLUMNS), strict=True)
    stored: Iterable[Any] = table.column("row_hash").to_pylist()
    return [
        row[0]
        for row, vector, expected in zip(values, vectors_of(table), stored, strict=True)
        if _hash(row, vector) != expected
    ]


def _vectors_to_arrow(rows: Sequence[Row], kind: pa.FixedSizeListType) -> pa.Array:
    width = kind.list_size
    matrix = np.zeros((len(rows), width), dtype=np.float32)
    missing = np.zeros(len(rows), dtype=bool)
    for index, row in enumerate(rows):
        if row.vector is None:
            missing[index] = True
        else:
            matrix[index] = row.vector
    return pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), type=kind, mask=pa.array(missing))
