"""SHA-256 of the files of a generation, kept beside them: Lance never changes a file once it is written.

Row hashes find what changed in memories; this finds what changed in indexes and in the rest of a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from noesis.store.generations import write_file

_FILE = "checksums.json"
_PIECE = 1 << 20


class FileSum(msgspec.Struct, frozen=True):
    """A file: its path below the directory, its bytes, and its SHA-256."""

    path: str
    size: int
    sha256: str


class _Record(msgspec.Struct, frozen=True):
    files: list[FileSum]
    check: str


def sum_files(directory: Path, paths: Iterable[Path], on_bytes: Callable[[int], None]) -> list[FileSum]:
    """Read files and hash them.  Raises OSError."""
    return [_sum(path, path.relative_to(directory).as_posix(), on_bytes) for path in paths]


def _sum(path: Path, name: str, on_bytes: Callable[[int], None]) -> FileSum:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            on_bytes(len(piece))
    return FileSum(name, size, digest.hexdigest())


def changed(directory: Path, now: Iterable[FileSum]) -> list[str]:
    """The files that are not what they were when they were recorded; the record itself, if it is damaged."""
    known = _read(directory)
    if known is None:
        return [_FILE] if (directory / _FILE).exists() else []
    before = {file.path: file for file in known}
    return [file.path for file in now if file.path in before and before[file.path] != file]


def record(directory: Path, files: Iterable[FileSum]) -> None:
    """Remember these files, once all that they hold was found in order; others are forgotten."""
    kept = [file for file in files if file.path.endswith((".lance", ".manifest", ".arrow", ".txn"))]
    write_file(directory / _FILE, msgspec.json.encode(_Record(kept, _check(kept))))


def _read(directory: Path) -> list[FileSum] | None:
    try:
        found = msgspec.json.decode((directory / _FILE).read_bytes(), type=_Record)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found.files if found.check == _check(found.files) else None


def _check(files: list[FileSum]) -> str:
    return hashlib.sha256(msgspec.json.encode(files)).hexdigest()
