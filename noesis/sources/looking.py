"""Look at a followed place: which files it holds now, and open them safely."""

from __future__ import annotations

import os
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


class Look(msgspec.Struct, frozen=True):
    """The files of a place by their paths, those that are not read and why, and its file system.

    Of `closed` folders it is not known what lies in them.
    """

    files: dict[str, Stamp]
    refused: dict[str, str]
    device: int
    closed: tuple[str, ...] = ()

    def is_unseen(self, path: str) -> bool:
        """Whether nothing can be said of a file: it was refused, or lies in a folder that was."""
        return path in self.refused or any(path.startswith(folder) for folder in self.closed)


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


def look(opened: OpenedRoot, most_bytes: int) -> Look:
    """Which files a place holds.  Raises RootMissing when it vanishes meanwhile."""
    if opened.handle is None:
        return _look_at_database(Path(opened.root.path))
    root = opened.root
    transcripts = root.kind == "transcripts"
    limits = Limits(depth=Limits().depth if root.deep else 0, file_bytes=None if transcripts else most_bytes)
    files: dict[str, Stamp] = {}
    refused: dict[str, str] = {}
    closed: list[str] = []
    try:
        for entry in safe_files.walk(opened.handle, lambda path: is_wanted(root, path), limits):
            if not isinstance(entry, Refused):
                files[entry.relative] = Stamp.found(entry)
            elif root.deep or not entry.folder:
                refused[entry.relative or "."] = entry.reason
                # A link may stand where a folder was.
                if entry.folder or entry.reason == safe_files.SYMLINK:
                    closed.append(entry.relative and entry.relative.rstrip("/") + "/")
    except (NotFound, StoreError) as error:
        raise RootMissing(error.message) from error
    return Look(files, refused, Stamp.whole(opened.handle.device), tuple(closed))


def is_wanted(root: Root, path: str) -> bool:
    """Whether a file of this path is one of the place's."""
    name = PurePosixPath(path).name
    if root.kind == "transcripts":
        return is_transcript(name)
    if root.names:
        return path in root.names
    return not name.startswith(".") and name.lower().endswith(_TEXT_ENDINGS)


def _look_at_database(path: Path) -> Look:
    """The database with its log: what was written last may stand in the log alone."""
    try:
        status = path.stat()
    except OSError as error:
        raise RootMissing("The database is not there.") from error
    stamp = Stamp.of(status)
    try:
        log = path.with_name(f"{path.name}-wal").stat()
    except OSError:
        return Look({"": stamp}, {}, stamp.device)
    newest = max(stamp.modified_ns, log.st_mtime_ns)
    return Look(
        {"": msgspec.structs.replace(stamp, size=stamp.size + log.st_size, modified_ns=newest)},
        {},
        stamp.device,
    )
