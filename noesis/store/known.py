"""Which memories the tables may hold, in 16 bytes each: a new one is recognised without reading a table.

Every read of a table costs time for each fragment, and each commit leaves a fragment.  Most writes
are of new memories, and for those the answer "there is nothing like it" is all the writer needs.
The keys are the first 64 bits of ids and content hashes; a chance hit only costs the read that
would have been made without them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from noesis.store.calls import told
from noesis.store.filters import EVERYTHING, Column
from noesis.store.tables import Table

_MERGE_AT = 4096
_DIGITS = 16
_ROWS_AT_ONCE = 4096


class KnownKeys:
    """The keys of both tables as of some version of each; reloaded when another process committed."""

    def __init__(self, active: Table, archive: Table) -> None:
        self._tables = (active, archive)
        self._versions: tuple[str, int, int] | None = None
        self._sorted: npt.NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._recent: set[int] = set()

    async def refresh(self) -> None:
        """Make sure that nothing committed until now is missing; only under the write lock."""
        versions = await self._current()
        if versions != self._versions:
            await self._load()
            self._versions = versions

    async def committed(self, keys: Iterable[str]) -> None:
        """Note the keys of one's own commit; only under the write lock."""
        self._recent.update(number for key in keys if (number := key_of(key)) is not None)
        if len(self._recent) > _MERGE_AT:
            recent = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
            self._sorted = np.union1d(self._sorted, recent)
            self._recent.clear()
        self._versions = await self._current()

    def may_have(self, key: str) -> bool:
        """Whether a memory with this id or content hash may be there; False is certain as of `refresh`."""
        number = key_of(key)
        if number is None:
            return False
        if number in self._recent:
            return True
        place = int(np.searchsorted(self._sorted, np.uint64(number)))
        return place < len(self._sorted) and int(self._sorted[place]) == number

    async def _current(self) -> tuple[str, int, int]:
        active, archive = self._tables
        return active.generation, await active.version(), await archive.version()

    async def _load(self) -> None:
        columns = [Column.PARENT_ID.value, Column.CONTENT_HASH.value]
        parts = [np.empty(0, dtype=np.uint64)]
        for table in self._tables:
            async for piece in table.pieces(columns, EVERYTHING, _ROWS_AT_ONCE):
                with told(table.name):
                    parts += [_numbers(column.combine_chunks()) for column in piece.columns]
        self._sorted = np.unique(np.concatenate(parts))
        self._recent.clear()


def _numbers(column: pa.StringArray) -> npt.NDArray[np.uint64]:
    """The keys in one column of some rows."""
    starts = pc.utf8_slice_codeunits(pc.replace_substring(column, "-", ""), 0, _DIGITS)
    digits = pc.binary_join(pa.ListArray.from_arrays([0, len(starts)], starts), "")[0].as_py()
    try:
        numbers = np.frombuffer(bytes.fromhex(digits), dtype=">u8")
    except ValueError:
        numbers = None
    if numbers is None or len(numbers) != len(column):
        found = [number for key in column.to_pylist() if (number := key_of(key)) is not None]
        return np.array(found, dtype=np.uint64)
    return numbers.astype(np.uint64)


def key_of(key: str) -> int | None:
    """The first 64 bits of a UUID or of a hash in hex; None for anything else, which no memory has."""
    try:
        return int(key.replace("-", "")[:_DIGITS], 16)
    except ValueError:
        return None
