"""The entries of foreign files, batch by batch: read in one thread of their own, and never held whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TypeVar

from noesis.errors import InvalidInput, NoesisError, StoreError
from noesis.importing.places import Part, Place
from noesis.sources import safe_files
from noesis.sources.agent_database import read_database
from noesis.sources.file_text import read_text
from noesis.sources.foreign import (
    Conversation,
    Format,
    Record,
    Unreadable,
    read_basic_memory,
    read_chat_export,
    read_mcp_memory_service,
    read_mem0,
    read_memory_core,
    read_original_rows,
    read_own,
    read_own_markdown,
)
from noesis.sources.lines import Skipped
from noesis.sources.safe_files import Found
from noesis.sources.transcript_names import is_transcript
from noesis.sources.transcripts import read_file
from noesis.store.foreign import read_original
from noesis.turns import Turn

T = TypeVar("T")

BATCH = 128
"""Entries that are embedded and committed together."""

_BATCH_CHARS = 2_000_000
_JSON_READERS = {
    Format.NOESIS: read_own,
    Format.MEM0: read_mem0,
    Format.MCP_MEMORY_SERVICE: read_mcp_memory_service,
}
_MARKDOWN = (".md", ".markdown")


async def records(part: Part, most_bytes: int) -> AsyncGenerator[list[Record | Unreadable], None]:
    """The memories of a part.  Raises InvalidInput when it is not of its format."""
    if part.format is Format.ORIGINAL:
        path = part.place.path
        batches = _collected(read_original_rows(lambda: read_original(path)))
    else:
        batches = batched(lambda: _records(part, most_bytes))
    async for batch in batches:
        yield batch


def turns(part: Part) -> AsyncGenerator[list[Turn | Unreadable], None]:
    """What was said in conversations or transcripts.  Iterating raises InvalidInput as `records` does."""
    return batched(lambda: _turns(part))


async def batched(entries: Callable[[], Iterator[T]]) -> AsyncGenerator[list[T], None]:
    """What an iterator gives, in batches; a database that it opens is used and closed in one thread."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="import") as thread:
        iterator = await loop.run_in_executor(thread, entries)
        try:
            while batch := await loop.run_in_executor(thread, _take, iterator):
                yield batch
        finally:
            close = getattr(iterator, "close", None)
            if close is not None:
                await loop.run_in_executor(thread, close)


async def _collected(
    entries: AsyncIterator[Record | Unreadable],
) -> AsyncGenerator[list[Record | Unreadable], None]:
    batch: list[Record | Unreadable] = []
    chars = 0
    async for entry in entries:
        batch.append(entry)
        chars += _chars(entry)
        if len(batch) == BATCH or chars > _BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _take(entries: Iterator[T]) -> list[T]:
    batch: list[T] = []
    chars = 0
    for entry in entries:
        batch.append(entry)
        chars += _chars(entry)
        if len(batch) == BATCH or chars > _BATCH_CHARS:
            break
    return batch


def _chars(entry: object) -> int:
    if isinstance(entry, Record):
        return len(entry.memory.text)
    return len(entry.text) if isinstance(entry, Turn) else 0


def _records(part: Part, most_bytes: int) -> Iterator[Record | Unreadable]:
    if part.format is Format.MEMORY_CORE:
        yield from read_memory_core(part.place.path)
    elif part.format is Format.BASIC_MEMORY or not part.place.relative:
        refused: list[Unreadable] = []
        read = read_basic_memory if part.format is Format.BASIC_MEMORY else read_own_markdown
        yield from read(_notes(part.place, most_bytes, refused))
        yield from refused
    elif part.format in _JSON_READERS:
        with part.place.open() as file:
            yield from _JSON_READERS[part.format](file)
    else:
        raise InvalidInput(f"{part.format.value} is no format of memories.", field="format")


def _notes(place: Place, most_bytes: int, refused: list[Unreadable]) -> Iterator[tuple[str, str]]:
    with safe_files.open_root(place.folder) as root:
        for path in _paths(place, root, lambda name: name.lower().endswith(_MARKDOWN), refused):
            try:
                file, _ = safe_files.open_file(root, path, place.limits)
                with file:
                    text = read_text(file, most_bytes).text
            except StoreError:
                raise
            except NoesisError as error:
                refused.append(Unreadable(path, error.message))
                continue
            yield path, text


def _turns(part: Part) -> Iterator[Turn | Unreadable]:
    if part.format is Format.OPENCLAW:
        yield from _transcripts(part.place)
        return
    with part.place.open() as file:
        for found in read_chat_export(file):
            if isinstance(found, Conversation):
                yield from found.turns
            else:
                yield found


def _transcripts(place: Place) -> Iterator[Turn | Unreadable]:
    if place.relative and _is_database(place):
        yield from _told(read_database(place.path), place.label)
        return
    refused: list[Unreadable] = []
    with safe_files.open_root(place.folder) as root:
        for path in _paths(place, root, is_transcript, refused):
            name = place.label if place.relative else PurePosixPath(path).name
            file, status = safe_files.open_file(root, path, place.limits)
            with file:
                # The last line of an upload is whole: nobody goes on writing it.
                yield from _told(read_file(file, status, name, finished=place.upload), name)
    yield from refused


def _told(reading: Iterable[Turn | Skipped], name: str) -> Iterator[Turn | Unreadable]:
    for item in reading:
        if isinstance(item, Skipped):
            yield Unreadable(f"{name} line {item.number + 1}", item.reason)
        else:
            yield item


def _is_database(place: Place) -> bool:
    with place.open() as file:
        return file.read(7) == b"SQLite "


def _paths(
    place: Place, root: safe_files.RootHandle, wanted: Callable[[str], bool], refused: list[Unreadable]
) -> Iterator[str]:
    """The file that a place is, or those of a folder whose names are wanted."""
    if place.relative:
        yield place.relative
        return
    for entry in safe_files.walk(root, lambda path: wanted(Path(path).name), place.limits):
        if isinstance(entry, Found):
            yield entry.relative
        else:
            refused.append(Unreadable(entry.relative, entry.reason))
