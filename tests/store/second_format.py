"""Writes a store of the second row format, which had all values in one column and no numbers of places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from noesis.store import Row
from noesis.store.former import second_of_first
from tests.store.first_format import table_of, write_tables


async def write(directory: Path, active: Sequence[Row], archive: Sequence[Row]) -> Path:
    """A store with one generation of these rows; where the generation lies."""
    living, archived = [second_of_first(table_of(rows)) for rows in (active, archive)]
    return await write_tables(directory, living, archived, 2)
