"""Hard links to the files of a generation's newest versions: a copy that costs no room and milliseconds.

Lance never changes a file it has written, so a linked file stays what it was.  A manifest names the
data files and the transaction it refers to as text and its indexes by their 16 bytes; deletion files
it names by numbers, and those are linked all.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from noesis.errors import StoreError
from noesis.store.generations import ACTIVE, ARCHIVE
from noesis.store.recovery import manifests

TABLES = tuple(f"{name}.lance" for name in (ACTIVE, ARCHIVE))


def link_newest(source: Path, target: Path) -> int:
    """Link the newest version of both tables, and the generation's own small files; returns how many files.

    Only while nobody commits and nothing is pruned: under the write and the maintenance lock.
    Raises StoreError when a table has no version, OSError when the disk refuses.
    """
    files = [path for table in TABLES for path in _files_of(source / table)]
    files += [source / name for name in ("generation.json", "vector_index.json") if (source / name).is_file()]
    for folder in sorted({path.parent.relative_to(source) for path in files}):
        (target / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    for path in files:
        _link(path, target / path.relative_to(source))
    return len(files)


def _files_of(table: Path) -> Iterator[Path]:
    versions = manifests(table / "_versions")
    if not versions:
        raise StoreError(f"The table {table.stem} has no version that could be copied.")
    manifest = versions[0].read_bytes()
    yield versions[0]
    for folder in ("data", "_transactions"):
        for path in _entries(table / folder):
            if os.fsencode(path.name) in manifest:
                yield path
    yield from _entries(table / "_deletions")
    for index in _entries(table / "_indices"):
        if _is_named(index.name, manifest):
            yield from (path for path in sorted(index.rglob("*")) if path.is_file())


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_named(index: str, manifest: bytes) -> bool:
    try:
        return uuid.UUID(index).bytes in manifest
    except ValueError:
        return True


def _link(path: Path, target: Path) -> None:
    try:
        target.hardlink_to(path)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links: then it is a copy, which is as good and takes longer.
        shutil.copyfile(path, target)
