"""Rows on their way to Arrow and back: all values of one lie in a single column, from which it is read.

Each column that is read of a few rows here and there costs a look of its own, however little it holds:
60 rows of 100,000 take 14 ms with the thirteen columns that a search needs, and 6.5 ms with this one
beside the vector.  What conditions, indexes and lists ask for is stored a second time in columns of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import operator
import typing
from collections.abc import Container, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from noesis.store.places import Place, chunk_place_of, place_of
from noesis.store.schema import ADDRESS, PACKED, ROW_HASH, VALUE_COLUMNS, FoundRow, Row

_VALUES = Row.__struct_fields__[:-1]
"""What is packed, in this order, which is all but the vector: a value more, or another order, is another format."""

_DIGEST_BYTES = 16
_TYPES = typing.get_type_hints(Row)
_DECODER: msgspec.msgpack.Decoder[tuple[Any, ...]] = msgspec.msgpack.Decoder(
    tuple[tuple(_TYPES[name] for name in _VALUES)]  # type: ignore[misc]
)
_DERIVED = ("keyword_text", "place", "chunk_place")
_COPIED = tuple(name for name in VALUE_COLUMNS if name not in _DERIVED)
_COPIES = (*_COPIED, *_DERIVED)
_copied = operator.itemgetter(*map(_VALUES.index, _COPIED))
_place = operator.itemgetter(*map(_VALUES.index, ("session_id", "source", "position")))
_chunk = operator.itemgetter(*map(_VALUES.index, ("parent_id", "chunk", "chunks")))
_prefix_and_text = operator.itemgetter(_VALUES.index("keyword_prefix"), _VALUES.index("text"))


def pack(row: Row) -> bytes:
    """Every value of a row but its vector, behind the hash of all of them and of the vector."""
    values = msgspec.msgpack.encode([getattr(row, name) for name in _VALUES])
    return digest(values, row.vector) + values


def row_hash(row: Row) -> str:
    """BLAKE2b-128 (hex) over every value of the row and its vector.

    Lance has no checksum of its own for data pages: a flipped bit reads back as another value.
    """
    return hash_of(pack(row))


def hash_of(packed: bytes) -> str:
    """The hash (hex) that stands before the packed values."""
    return packed[:_DIGEST_BYTES].hex()


def is_sound(packed: bytes, vector: npt.NDArray[np.float32] | None) -> bool:
    """Whether values and vector are what was stored."""
    return digest(packed[_DIGEST_BYTES:], vector) == packed[:_DIGEST_BYTES]


def digest(values: bytes, vector: npt.NDArray[np.float32] | None) -> bytes:
    """BLAKE2b-128 over packed values and a vector."""
    made = hashlib.blake2b(values, digest_size=_DIGEST_BYTES)
    if vector is not None:
        made.update(np.ascontiguousarray(vector).data)
    return made.digest()


def to_arrow(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """Rows as a table of exactly `schema`, hashed on the way."""
    packed = [pack(row) for row in rows]
    columns: list[pa.Array] = []
    for field in schema:
        if field.name == "vector":
            columns.append(_vectors_to_arrow(rows, field.type))
        elif field.name == PACKED:
            columns.append(pa.array(packed, field.type))
        elif field.name == ROW_HASH:
            columns.append(pa.array(map(hash_of, packed), field.type))
        else:
            columns.append(pa.array([getattr(row, field.name) for row in rows], field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def from_arrow(table: pa.Table) -> list[Row]:
    """The rows of a result that holds `packed` and the vectors.  Raises ValueError where one cannot be read."""
    packed = table.column(PACKED).to_pylist()
    return [Row(*_values(each, vector)) for each, vector in zip(packed, vectors_of(table), strict=True)]


class _Place(msgspec.Struct, array_like=True):
    """Where a row stands: packed values begin with it, so that it is read without the rest."""

    session_id: str | None
    source: str | None
    position: int | None


_PLACES = msgspec.msgpack.Decoder(_Place)


def at_places(table: pa.Table, places: Container[Place]) -> pa.Table:
    """Those rows of a result that stand at one of these places: session, source, position."""
    kept: list[int] = []
    for index, packed in enumerate(table.column(PACKED).to_pylist()):
        place = _PLACES.decode(memoryview(packed)[_DIGEST_BYTES:])
        if (place.session_id, place.source, place.position) in places:
            kept.append(index)
    return table.take(kept)


def found_rows(table: pa.Table) -> list[FoundRow]:
    """The same of a result that says where they lie, too."""
    packed, addresses = table.column(PACKED).to_pylist(), table.column(ADDRESS).to_pylist()
    return [
        FoundRow(*_values(each, vector), address=address, packed=each)
        for each, vector, address in zip(packed, vectors_of(table), addresses, strict=True)
    ]


def _values(packed: bytes, vector: npt.NDArray[np.float32] | None) -> tuple[Any, ...]:
    """The values of a `Row` in the order of its fields."""
    return (*_unpack(packed), vector)


def _unpack(packed: bytes) -> tuple[Any, ...]:
    return _DECODER.decode(memoryview(packed)[_DIGEST_BYTES:])


class _Stored(NamedTuple):
    """A row as it lies in all its columns."""

    copies: tuple[Any, ...]
    hash: str
    packed: bytes
    vector: npt.NDArray[np.float32] | None

    @property
    def fits(self) -> bool:
        """Whether it is what was stored, and its copies say the same."""
        if not is_sound(self.packed, self.vector) or hash_of(self.packed) != self.hash:
            return False
        values = _unpack(self.packed)
        text = "".join(_prefix_and_text(values))
        derived = text, place_of(*_place(values)), chunk_place_of(*_chunk(values))
        return self.copies == (*_copied(values), *derived)


def _stored(table: pa.Table) -> Iterator[_Stored]:
    columns = [table.column(name).to_pylist() for name in (*_COPIES, ROW_HASH, PACKED)]
    for *copies, stored, packed, vector in zip(*columns, vectors_of(table), strict=True):
        yield _Stored(tuple(copies), stored, packed, vector)


def damaged(table: pa.Table) -> list[str]:
    """The ids of the rows of a result that holds every column which are not what was stored."""
    return [row.copies[0] for row in _stored(table) if not row.fits]


def as_they_lie(table: pa.Table) -> list[Row]:
    """The rows of a result that holds every column, to be compared and replaced, never to be given out.

    A damaged one is made of what can be read of it, without its content hash, so that it is like no other.
    """
    return [Row(*_values(row.packed, row.vector)) if row.fits else _remains(row) for row in _stored(table)]


def _remains(row: _Stored) -> Row:
    copies = dict(zip(_COPIES, row.copies, strict=True))
    text, *_ = [copies.pop(name) for name in _DERIVED]
    values: dict[str, Any] = dict.fromkeys(_VALUES)
    values |= {"chunks": 1, "chunk_start": 0, "keyword_prefix": "", "text": text, "trust": "", **copies}
    with contextlib.suppress(ValueError):
        values = dict(zip(_VALUES, _unpack(row.packed), strict=True))
    return Row(**values | {"content_hash": ""}, vector=row.vector)


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
