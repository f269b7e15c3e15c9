"""Read one source file into memory: a document is mirrored, a transcript is captured."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from noesis.capturing import Captures, Capturing
from noesis.memory import MAX_NAME_CHARS
from noesis.mirroring import FileFacts, Mirror
from noesis.sources.agent_database import DatabaseProgress, read_database
from noesis.sources.book import Book, FileNote, Stamp
from noesis.sources.lines import Skipped
from noesis.sources.looking import OpenedRoot
from noesis.sources.roots import Root
from noesis.sources.transcripts import Progress, read_file
from noesis.text.documents import read_document
from noesis.turns import Turn

T = TypeVar("T")

_TURNS_AT_ONCE = 64
_TOO_LONG = "its path is too long to be a memory's source"
_FORGOTTEN = "it was forgotten, and may come back only when that is lifted"
_NOTHING = "nothing in it could be stored"

Stop = Callable[[], bool]


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file: its memories (added, changed, unchanged, removed, or types of captures)."""

    memories: dict[str, int] = {}
    unchanged: bool = False
    refused: str | None = None


class FileReader:
    """Reads files of roots and notes how far it came."""

    def __init__(self, book: Book, mirror: Mirror, capturing: Capturing, now_ms: Callable[[], int]) -> None:
        self._book = book
        self._mirror = mirror
        self._capturing = capturing
        self._now_ms = now_ms

    async def document(
        self, root: Root, opened: OpenedRoot, path: str, note: FileNote | None, *, most_bytes: int
    ) -> Read:
        """Mirror a Markdown or text file.  Raises an UnreadableFile or a StoreError."""
        source = f"{root.label}/{path}"
        file = await asyncio.to_thread(opened.read_text, path, most_bytes)
        seen = self._note(path, file.stamp, digest=file.digest)
        if note is not None and note.state == "indexed" and note.digest == file.digest:
            await self._book.write(root.key, seen)
            return Read(unchanged=True)
        if len(source) > MAX_NAME_CHARS:
            return await self._refuse(root, seen, _TOO_LONG)
        document = await asyncio.to_thread(read_document, path, file.text)
        filed = [] if note is None else await self._book.sections(root.key, path)
        facts = FileFacts(
            agent=root.agent, source=source, name=path, modified_ms=file.stamp.modified_ns // 1_000_000
        )
        mirrored = await self._mirror.follow(facts, document, filed)
        if mirrored.forgotten:
            return await self._refuse(root, seen, _FORGOTTEN)
        if mirrored.left_out and not mirrored.sections:
            return await self._refuse(root, seen, _NOTHING)
        noted = msgspec.structs.replace(seen, skipped=mirrored.left_out)
        await self._book.file(root.key, noted, mirrored.sections)
        return Read(memories=_counts(mirrored))

    async def transcript(
        self, root: Root, opened: OpenedRoot, path: str, note: FileNote | None, stop: Stop
    ) -> Read:
        """Capture what a transcript has since it was last read.  Raises an UnreadableFile or a StoreError."""
        earlier = _decoded(note, Progress)
        file, status = await asyncio.to_thread(opened.open, path)
        with file:
            reading = read_file(file, status, Path(path).name, earlier)
            stamp = Stamp.of(status)
            return await self._capture(root, path, stamp, iter(reading), lambda: reading.progress, note, stop)

    async def database(self, root: Root, stamp: Stamp, note: FileNote | None, stop: Stop) -> Read:
        """Capture what an agent's database has since it was last read.

        Raises UnknownTranscript, TranscriptBusy or a StoreError.
        """
        reading = read_database(Path(root.path), _decoded(note, DatabaseProgress))
        return await self._capture(root, "", stamp, iter(reading), lambda: reading.progress, note, stop)

    async def unread(self, opened: OpenedRoot, path: str) -> AsyncGenerator[list[Turn | Skipped], None]:
        """What a transcript or a database has since it was last read, in batches; nothing is noted.

        Raises an UnreadableFile, or what reading a database raises.
        """
        root = opened.root
        note = await self._book.note(root.key, path)
        with ExitStack() as stack:
            if root.kind == "database":
                items = iter(read_database(Path(root.path), _decoded(note, DatabaseProgress)))
            else:
                file, status = await asyncio.to_thread(opened.open, path)
                stack.enter_context(file)
                items = iter(read_file(file, status, Path(path).name, _decoded(note, Progress)))
            while batch := await _batch(items):
                yield batch

    async def _capture(
        self,
        root: Root,
        path: str,
        stamp: Stamp,
        items: Iterator[Turn | Skipped],
        progress: Callable[[], Any],
        note: FileNote | None,
        stop: Stop,
    ) -> Read:
        """Batch by batch: what was captured is noted before the next one is read, so that a kill loses nothing."""
        captures, skipped = Captures(), note.skipped if note else 0
        while True:
            batch = await _batch(items)
            turns = [item for item in batch if isinstance(item, Turn)]
            skipped += len(batch) - len(turns)
            if turns:
                captures += await self._capturing.capture(root.agent, turns, root.label)
            whole = len(batch) < _TURNS_AT_ONCE
            seen = self._note(
                path,
                # Not the file's version before it is read to its end: it is still behind until then.
                stamp if whole else Stamp.unread(stamp),
                progress=msgspec.json.encode(progress()).decode(),
                skipped=skipped,
            )
            await self._book.write(root.key, seen)
            if whole or stop():
                return Read(memories=_told(captures), unchanged=not captures.stored)

    async def _refuse(self, root: Root, seen: FileNote, reason: str) -> Read:
        refused = msgspec.structs.replace(seen, state="refused", reason=reason)
        await self._book.file(root.key, refused, ())
        return Read(refused=reason)

    def _note(self, path: str, stamp: Stamp, **values: Any) -> FileNote:
        return FileNote(path=path, stamp=stamp, state="indexed", read_at=self._now_ms(), **values)


async def _batch(items: Iterator[T]) -> list[T]:
    return await asyncio.to_thread(lambda: list(itertools.islice(items, _TURNS_AT_ONCE)))


def _decoded(note: FileNote | None, kind: type[T]) -> T | None:
    """The progress that was kept; None when there is none that this version understands."""
    if note is None or note.progress is None:
        return None
    try:
        return msgspec.json.decode(note.progress, type=kind)
    except msgspec.DecodeError:
        return None


def _counts(mirrored: Any) -> dict[str, int]:
    names = ("added", "changed", "unchanged", "removed", "left_out")
    return {name: count for name in names if (count := getattr(mirrored, name))}


def _told(captures: Captures) -> dict[str, int]:
    left_out = sum(captures.left_out.values())
    extra = {"left_out": left_out, "held": captures.held, "known": captures.known}
    return {**captures.stored, **{name: count for name, count in extra.items() if count}}
