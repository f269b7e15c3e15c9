"""How much of the indexes and of the tables' own descriptions a process keeps in memory."""

from __future__ import annotations

import lancedb

LEAST_ROOM = 24 << 20
"""Bytes for indexes.  They fill up whatever is asked, since each commit leaves its part."""

_MOST_ROOM = 320 << 20
_ROOM_A_ROW = 320
"""What both legs read of the indexes of 100,000 memories has just room in 24 MiB: with 16 they take 28 ms, with more
21 or 22.  Of 500,000 memories a search takes 170 ms with 24 or 48 MiB, 80 to 100 with 96 to 160 and
70 with 192."""

_DESCRIPTIONS_BYTES = 4 << 20


def room_for(rows: int) -> int:
    """Bytes for the indexes of so many rows."""
    return min(max(rows * _ROOM_A_ROW, LEAST_ROOM), _MOST_ROOM)


def session_of(room: int) -> lancedb.Session:
    """Caches with room for so many bytes of indexes."""
    return lancedb.Session(index_cache_size_bytes=room, metadata_cache_size_bytes=_DESCRIPTIONS_BYTES)
