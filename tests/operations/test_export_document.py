"""docs/export.md says what the code does."""

from __future__ import annotations

from pathlib import Path

import msgspec
import re2

from noesis.api.export import export_memories
from noesis.exporting.json_array import OriginalRow
from noesis.exporting.ndjson import HeaderLine, MemoryLine
from noesis.exporting.values import Shape, Stage
from noesis.sources.foreign import EXPORT_MARK, EXPORT_VERSION
from noesis.sources.foreign.ndjson import FIELDS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "export.md").read_text()


def first_cells(title: str) -> list[str]:
    """The names in the first column of the tables below a heading."""
    section = DOCUMENT.split(f"## {title}", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re2.findall(r"`([a-z_]+)`", row)]


def test_the_fields_are_those_that_are_written_and_read() -> None:
    header, fields = list(HeaderLine.__struct_fields__), list(MemoryLine.__struct_fields__)
    assert first_cells(f"NDJSON, version {EXPORT_VERSION}") == [*header, *fields]
    assert set(fields) == set(FIELDS)
    assert f"`{EXPORT_MARK}: {EXPORT_VERSION}`" in DOCUMENT
    array = DOCUMENT.split("## JSON array", 1)[1].split("\n## ", 1)[0]
    assert {field.encode_name for field in msgspec.structs.fields(OriginalRow)} - set(
        re2.findall(r"`([A-Za-z]+)`", array)
    ) == set()


def test_the_parameters_are_those_of_the_route() -> None:
    named = set(first_cells("What goes out"))
    assert named == set(export_memories.fn.__annotations__) - {"request", "noesis", "return"}
    assert all(f"`{word}`" in DOCUMENT for word in (*Shape, *Stage))
