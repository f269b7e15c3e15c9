"""Tells foreign formats apart by what a file or folder holds."""

from __future__ import annotations

import enum
import os
import stat
from itertools import islice
from pathlib import Path, PurePath

import msgspec
import re2

from noesis.sources.foreign.front_matter import read_front_matter
from noesis.sources.foreign.memory_core import tables_of
from noesis.sources.foreign.own_markdown import MARK as EXPORT_MARK
from noesis.sources.foreign.values import short_text

HEAD_BYTES = 64 << 10
"""How much of a file's beginning is looked at."""

_SQLITE = b"SQLite format 3\0"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARKDOWN = (".md", ".markdown")
_LOOK_AT = 50
_MOST_ENTRIES = 5000
_BOM = b"\xef\xbb\xbf"


class Format(enum.StrEnum):
    """What can be imported."""

    NOESIS = "noesis"
    ORIGINAL = "original"
    MEMORY_CORE = "memory-core"
    MEM0 = "mem0"
    MCP_MEMORY_SERVICE = "mcp-memory-service"
    BASIC_MEMORY = "basic-memory"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"
    MARKDOWN = "markdown"
    OPENCLAW = "openclaw"


# The first that is found counts.  A quote inside a JSON string is always escaped, so that what looks
# like a key here is one, at whatever depth.
_JSON_SIGNS = (
    (re2.compile(rb'"chat_messages"\s*:\s*\['), Format.CLAUDE),
    (re2.compile(rb'"mapping"\s*:\s*\{'), Format.CHATGPT),
    (re2.compile(rb'"memoryType"\s*:'), Format.NOESIS),
    (re2.compile(rb'"content_hash"\s*:|"export_metadata"\s*:\s*\{'), Format.MCP_MEMORY_SERVICE),
    (re2.compile(rb'"memory"\s*:\s*"'), Format.MEM0),
)


class _FirstLine(msgspec.Struct, frozen=True):
    format: msgspec.Raw = msgspec.Raw()
    type: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw()
    memory_type: msgspec.Raw = msgspec.Raw()
    agent_id: msgspec.Raw = msgspec.Raw()


def detect(path: Path) -> Format | None:
    """The format of a file or folder; None when it is none of them or cannot be read.

    A folder's files are judged by name and beginning, links among them are not followed.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _folder(path)
        if not stat.S_ISREG(mode):
            return None
        head = _head(path)
    except OSError:
        return None
    if head.startswith(_SQLITE):
        return _database(path)
    return detect_content(path.name, head)


def detect_content(name: str, head: bytes) -> Format | None:
    """The format of a file called `name` that begins with `head` (HEAD_BYTES of it are enough)."""
    lower = PurePath(name).name.lower()
    if head.startswith(_SQLITE):
        return Format.OPENCLAW if lower == "openclaw-agent.sqlite" else Format.MEMORY_CORE
    if head.startswith(_ZSTD):
        return Format.OPENCLAW if ".jsonl" in lower else None
    if lower.endswith(_MARKDOWN):
        return _markdown(head)
    content = head.removeprefix(_BOM).lstrip()
    if content[:1] not in (b"{", b"["):
        return None
    return _lines(content) or _json(content)


def _lines(content: bytes) -> Format | None:
    """The format of a file of JSON lines, after its first."""
    line = content.partition(b"\n")[0]
    try:
        first = msgspec.json.decode(line, type=_FirstLine)
    except (msgspec.DecodeError, RecursionError):
        return None
    if short_text(first.format) == "noesis":
        return Format.NOESIS
    if short_text(first.type) == "session":
        return Format.OPENCLAW
    if bytes(first.text) and (bytes(first.memory_type) or bytes(first.agent_id)):
        return Format.NOESIS
    return None


def _json(content: bytes) -> Format | None:
    return next((kind for sign, kind in _JSON_SIGNS if sign.search(content[:HEAD_BYTES])), None)


def _markdown(head: bytes) -> Format:
    front = read_front_matter(head.decode(errors="replace"))
    if EXPORT_MARK in front.fields:
        return Format.NOESIS
    return Format.BASIC_MEMORY if "permalink" in front.fields else Format.MARKDOWN


def _database(path: Path) -> Format | None:
    """An agent's database holds its transcripts and the index of its files; the files can be read themselves."""
    tables = tables_of(path)
    if "transcript_events" in tables:
        return Format.OPENCLAW
    return Format.MEMORY_CORE if tables & {"chunks", "memory_index_chunks"} else None


def _folder(path: Path) -> Format | None:
    if (path / "memories.lance").is_dir():
        # One of our own generations has the same table's name; it is restored, not imported.
        return None if (path / "generation.json").exists() else Format.ORIGINAL
    found = {_file_in_folder(file) for file in islice(_regular_files(path), _LOOK_AT)}
    order = (Format.NOESIS, Format.BASIC_MEMORY, Format.OPENCLAW, Format.MARKDOWN)
    return next((kind for kind in order if kind in found), None)


def _file_in_folder(file: Path) -> Format | None:
    if not file.name.lower().endswith(_MARKDOWN) and ".jsonl" not in file.name.lower():
        return None
    try:
        return detect_content(file.name, _head(file))
    except OSError:
        return None


def _regular_files(path: Path) -> list[Path]:
    """The files of a folder and of those just below it, by name."""
    folders = [path, *(entry for entry in _entries(path) if entry.is_dir() and not entry.is_symlink())]
    entries = (entry for folder in folders[:_LOOK_AT] for entry in _entries(folder))
    return [entry for entry in entries if stat.S_ISREG(entry.lstat().st_mode)]


def _entries(folder: Path) -> list[Path]:
    return sorted(islice(folder.iterdir(), _MOST_ENTRIES))


def _head(path: Path) -> bytes:
    # Without O_NONBLOCK a pipe put in the file's place would block for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(HEAD_BYTES)
