"""Reads a file of our own export, whichever of its three forms it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from noesis.sources.file_text import read_text
from noesis.sources.foreign.ndjson import MAX_LINE_BYTES, read_ndjson
from noesis.sources.foreign.own_array import read_own_array
from noesis.sources.foreign.own_markdown import read_own_markdown
from noesis.sources.foreign.records import Record, Unreadable

_LOOK_AT = 256


def read_own(file: BinaryIO) -> Iterator[Record | Unreadable]:
    """The memories of an export, in order.  Raises InvalidInput when it is of a newer version."""
    start = file.read(_LOOK_AT).removeprefix(b"\xef\xbb\xbf").lstrip()
    file.seek(0)
    if start.startswith(b"["):
        yield from read_own_array(file)
    elif start.startswith(b"---"):
        yield from read_own_markdown([("the file", read_text(file, MAX_LINE_BYTES).text)])
    else:
        yield from read_ndjson(file)
