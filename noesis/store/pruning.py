"""The room that a table takes, and the removal of its old versions where LanceDB's own does not come to it.

LanceDB removes old versions only after it has compacted, so that a compaction that fails lets the disk
fill.  A manifest names data files and transactions as text and indexes by their 16 bytes.  Whatever a
version that stays may name is kept, and so is what none names: somebody may be about to commit it.
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

import msgspec

from noesis.store.recovery import manifests

_NAME = re.compile(rb"[0-9A-Za-z_-]{8,}\.(?:lance|txn)")
_NAMED = ("data", "_transactions")
_INDEXES = "_indices"


class Weight(msgspec.Struct, frozen=True):
    """What a table takes on the disk and what its newest version needs of that, in bytes; and its old versions."""

    disk: int
    needed: int
    stale_versions: int


def weigh(table: Path, stale_before_s: float) -> Weight:
    """Look at a table's folder; a version is stale that was written before that time (seconds since 1970)."""
    versions = _aged(manifests(table / "_versions"))
    newest = _read(path for path, _ in versions[:1])
    needed = len(newest)
    for path in _files(table):
        needed += _size(path) if _is_named(path, newest) else 0
    disk = sum(_size(path) for path in table.rglob("*") if path.is_file())
    return Weight(disk, needed, sum(written < stale_before_s for _, written in versions[1:]))


def remove_versions(table: Path, before_s: float) -> int:
    """Remove the versions written before that time (seconds since 1970), the newest never; returns how many.

    Only under the maintenance and the pruning lock.  Deletion files stay: they are small, and LanceDB
    removes those that nothing names when they are seven days old.
    """
    tags = table / "_refs" / "tags"
    if tags.is_dir() and any(tags.iterdir()):
        return 0
    versions = _aged(manifests(table / "_versions"))
    old = [path for path, written in versions[1:] if written < before_s]
    stay = _read({path for path, _ in versions}.difference(old))
    given_up = _read(old)
    unneeded = [path for path in _files(table) if _is_named(path, given_up) and not _is_named(path, stay)]
    # The manifests first: a version that is half there must not look like one.
    for path in [*old, *unneeded]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return len(old)


class _Named(msgspec.Struct, frozen=True):
    """What some manifests hold: the names of files in them, and all of their bytes."""

    names: frozenset[bytes]
    content: bytes

    def __len__(self) -> int:
        return len(self.content)


def _read(paths: Iterable[Path]) -> _Named:
    content = b"\n".join(path.read_bytes() for path in paths)
    found = set(_NAME.findall(content))
    # The byte before a name is its length, which may look like a part of it.
    return _Named(frozenset(found | {name[1:] for name in found}), content)


def _files(table: Path) -> list[Path]:
    """The files and index folders that a manifest names."""
    folders = [table / folder for folder in (*_NAMED, _INDEXES)]
    return [entry for folder in folders if folder.is_dir() for entry in folder.iterdir()]


def _is_named(path: Path, by: _Named) -> bool:
    if path.parent.name != _INDEXES:
        name = os.fsencode(path.name)
        return name in by.names or name in by.content
    try:
        return uuid.UUID(path.name).bytes in by.content
    except ValueError:
        return True


def _aged(paths: list[Path]) -> list[tuple[Path, float]]:
    """Each with the time it was written; one that is gone meanwhile is left out."""
    found: list[tuple[Path, float]] = []
    for path in paths:
        try:
            found.append((path, path.stat().st_mtime))
        except FileNotFoundError:
            continue
    return found


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(_size(entry) for entry in path.rglob("*") if entry.is_file())
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
