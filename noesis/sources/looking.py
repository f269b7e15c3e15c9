"""Look at a followed place: which files it holds now, and open them safely."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import BinaryIO

import msgspec

from noesis.errors import Forbidden, InvalidInput, NotFound, StoreError
from noesis.sources import safe_files
from noesis.sources.book import Stamp
from noesis.sources.file_text import read_text
from noesis.sources.roots import Root
from noesis.sources.safe_files import Limits, Refused, RootHandle
from noesis.sources.transcript_names import is_transcript

_TEXT_ENDINGS = (".md", ".markdown", ".txt")


class RootMissing(NotFound):
    """The place itself is not there: nothing can be said of its files."""


class UnreadableFile(InvalidInput):
    """A file that is there cannot be read."""


class SeenFile(msgspec.Struct, frozen=True):
    """A file of a place: its path and version."""

    path: str
    stamp: Stamp


class Unseen(msgspec.Struct, frozen=True, array_like=True):
    """What is not read and why; of all below `folder` (with a / at its end) it is not known whether it is there."""

    path: str
    reason: str
    folder: str | None = None


class FileAsText(msgspec.Struct, frozen=True):
    """A file's text, the hash of its bytes, and the version that was read."""

    text: str
    digest: str
    stamp: Stamp


class OpenedRoot:
    """A place that is open; a database is its own only file, with an empty path."""

    def __init__(self, root: Root, handle: RootHandle | None) -> None:
        self.root = root
        self.handle = handle

    @property
    def device(self) -> int:
        """The file system that it lies on.  Raises RootMissing."""
        return (
            database_stamp(Path(self.root.path)).device
            if self.handle is None
            else Stamp.whole(self.handle.device)
        )

    def __enter__(self) -> OpenedRoot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.handle is not None:
            self.handle.close()

    def open(self, path: str) -> tuple[BinaryIO, os.stat_result]:
        """A file for reading, with its status.  Raises UnreadableFile."""
        if self.handle is None:
            raise UnreadableFile("This place is no folder.")
        try:
            return safe_files.open_file(self.handle, path, Limits(file_bytes=None))
        except (NotFound, Forbidden, InvalidInput, StoreError) as error:
            raise UnreadableFile(error.message) from error

    def read_text(self, path: str, most_bytes: int) -> FileAsText:
        """A whole file as text.  Raises UnreadableFile."""
        file, status = self.open(path)
        with file:
            try:
                found = read_text(file, most_bytes)
            except (InvalidInput, OSError) as error:
                raise UnreadableFile(getattr(error, "message", "The file cannot be read.")) from error
        return FileAsText(found.text, found.content_hash, Stamp.of(status))


def open_root(root: Root) -> OpenedRoot:
    """Open a place.  Raises RootMissing."""
    if root.kind == "database":
        if not Path(root.path).is_file():
            raise RootMissing("The database is not there.")
        return OpenedRoot(root, None)
    try:
        return OpenedRoot(root, safe_files.open_root(Path(root.path)))
    except (NotFound, Forbidden, StoreError) as error:
        raise RootMissing(error.message) from error


def look(opened: OpenedRoot, most_bytes: int) -> Iterator[SeenFile | Unseen]:
    """Which files a place holds, in order of their paths.  Raises RootMissing when it vanishes meanwhile."""
    if opened.handle is None:
        yield SeenFile("", database_stamp(Path(opened.root.path)))
        return
    root = opened.root
    transcripts = root.kind == "transcripts"
    limits = Limits(depth=Limits().depth if root.deep else 0, file_bytes=None if transcripts else most_bytes)
    try:
        for entry in safe_files.walk(opened.handle, lambda path: is_wanted(root, path), limits):
            if not isinstance(entry, Refused):
                yield SeenFile(entry.relative, Stamp.found(entry))
            elif root.deep or not entry.folder:
                yield _unseen(entry)
    except (NotFound, StoreError) as error:
        raise RootMissing(error.message) from error


def _unseen(entry: Refused) -> Unseen:
    path = entry.relative
    # A link may stand where a folder was.
    closes = entry.folder or entry.reason == safe_files.SYMLINK
    return Unseen(path or ".", entry.reason, (path and f"{path.rstrip('/')}/") if closes else None)


def is_wanted(root: Root, path: str) -> bool:
    """Whether a file of this path is one of the place's."""
    name = PurePosixPath(path).name
    if root.kind == "transcripts":
        return is_transcript(name)
    if root.names:
        return path in root.names
    return not name.startswith(".") and name.lower().endswith(_TEXT_ENDINGS)


def database_stamp(path: Path) -> Stamp:
    """A database's version with that of its log: what was written last may stand in the log alone.

    Raises RootMissing.
    """
    try:
        stamp = Stamp.of(path.stat())
    except OSError as error:
        raise RootMissing("The database is not there.") from error
    try:
        log = path.with_name(f"{path.name}-wal").stat()
    except OSError:
        return stamp
    newest = max(stamp.modified_ns, log.st_mtime_ns)
    return msgspec.structs.replace(stamp, size=stamp.size + log.st_size, modified_ns=newest)
