"""Writes an export as a folder of Markdown, packed as .tar.gz while it is read: a file for each memory.

Front matter holds every value as JSON, which YAML reads too; below it stands the text, unaltered.
"""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Sequence

import msgspec

from noesis.exporting.ndjson import line_of
from noesis.exporting.values import Exported, Outline
from noesis.memory import to_datetime
from noesis.sources.foreign import EXPORT_MARK, EXPORT_VERSION

_GZIP = 31
_LEVEL = 3
_BLOCK = 512
_END = bytes(2 * _BLOCK)


class MarkdownWriter:
    """Writes the archive; its entries are `agent/day-id.md`."""

    file_name = "noesis-export.tar.gz"
    media_type = "application/gzip"

    def __init__(self) -> None:
        self._gzip = zlib.compressobj(_LEVEL, wbits=_GZIP)

    def begin(self, _outline: Outline) -> bytes:
        """Nothing: every file says by itself what it is."""
        return b""

    def write(self, memories: Sequence[Exported]) -> bytes:
        """A file for each memory."""
        return b"".join(self._gzip.compress(_entry(each)) for each in memories)

    def end(self) -> bytes:
        """The end of the archive."""
        return self._gzip.compress(_END) + self._gzip.flush()


def file_of(exported: Exported) -> bytes:
    """A memory as a Markdown file."""
    values = msgspec.to_builtins(line_of(exported))
    text = values.pop("text")
    lines = [f"{EXPORT_MARK}: {EXPORT_VERSION}"]
    lines += [f"{name}: {msgspec.json.encode(value).decode()}" for name, value in values.items()]
    return "\n".join(["---", *lines, "---", "", f"{text}\n"]).encode()


def path_of(exported: Exported) -> str:
    """Where it lies in the folder: by agent, then by day."""
    memory = exported.memory
    return f"{memory.agent_id}/{to_datetime(memory.created_at):%Y-%m-%d}-{memory.id}.md"


def _entry(exported: Exported) -> bytes:
    content = file_of(exported)
    info = tarfile.TarInfo(path_of(exported))
    info.size = len(content)
    info.mtime = exported.memory.updated_at // 1000
    info.mode = 0o600
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % _BLOCK)
