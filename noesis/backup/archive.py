"""Writes and reads the archive itself: a manifest, then the files it lists, in a sealed tar.gz."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from noesis.backup import tar
from noesis.backup.sealed import SealedReader, SealedWriter, check_seal
from noesis.backup.values import FORMAT, Manifest
from noesis.errors import BackupRefused, Cancelled, StoreFull, StoreIncompatible
from noesis.store.checksums import FileSum
from noesis.store.schema import SCHEMA_VERSION

MANIFEST = "manifest.json"
CONTROL = "control.sqlite"
STORE = "store"

_PIECE = 1 << 20
_MOST_MANIFEST_BYTES = 64 << 20
_MOST_FILES = 500_000
_MOST_INFLATION = 500
_ALWAYS_ALLOWED_BYTES = 1 << 30
"""An archive may become this much whatever its size, and above it 500 times its size."""

_PART_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_TABLES = ("memories.lance", "memories_archive.lance")
_FILES = (CONTROL, f"{STORE}/generation.json", f"{STORE}/vector_index.json")

OnBytes = Callable[[int], None]
Cancel = Callable[[], bool]


def write_archive(
    directory: Path, manifest: Manifest, target: Path, on_bytes: OnBytes, cancelled: Cancel
) -> None:
    """Write the files of a directory, in the manifest's order, to a sealed archive and have it on the disk.

    Raises BackupRefused when a file is no longer what the manifest says, Cancelled, or OSError.
    """
    with target.open("xb") as file:
        os.fchmod(file.fileno(), 0o600)
        writer = SealedWriter(file)
        encoded = msgspec.json.format(msgspec.json.encode(manifest))
        writer.write(tar.header(MANIFEST, len(encoded)) + encoded + tar.padding(len(encoded)))
        for entry in manifest.files:
            writer.write(tar.header(entry.path, entry.size))
            _write_file(writer, directory / entry.path, entry, on_bytes, cancelled)
            writer.write(tar.padding(entry.size))
        writer.write(tar.END)
        writer.finish()


def _write_file(
    writer: SealedWriter, path: Path, entry: FileSum, on_bytes: OnBytes, cancelled: Cancel
) -> None:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as source:
        while piece := source.read(_PIECE):
            digest.update(piece)
            size += len(piece)
            writer.write(piece)
            on_bytes(len(piece))
            heed(cancelled)
    if (size, digest.hexdigest()) != (entry.size, entry.sha256):
        raise BackupRefused(
            f"{entry.path} changed while it was copied: the disk gives other bytes each time it is read."
        )


def read_manifest(path: Path) -> Manifest:
    """The manifest of an archive whose seal is not looked at: for a list.  Raises BackupRefused."""
    with path.open("rb") as file:
        return _manifest(SealedReader(file, path.stat().st_size).read)


def extract(path: Path, directory: Path, on_bytes: OnBytes, cancelled: Cancel) -> Manifest:
    """Check an archive and write its files to an empty directory of their own, each compared with its hash.

    Nothing is written before the seal fits, the manifest is understood and there is room.  Raises
    BackupRefused, StoreIncompatible (of a newer version), StoreFull, Cancelled or OSError.
    """
    body = check_seal(path)
    with path.open("rb") as file:
        read = SealedReader(file, body).read
        manifest = _manifest(read)
        _check_sizes(manifest, path, directory)
        for entry in manifest.files:
            tar.expect_header(tar.read_exactly(read, tar.BLOCK), entry.path, entry.size)
            place = directory / entry.path
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            digest = hashlib.sha256()
            with place.open("xb") as target:
                for piece in tar.pieces(read, entry.size):
                    digest.update(piece)
                    target.write(piece)
                    on_bytes(len(piece))
                    heed(cancelled)
            if digest.hexdigest() != entry.sha256:
                raise BackupRefused(f"{entry.path} is not what the manifest says; nothing was restored.")
        if tar.read_exactly(read, len(tar.END) + 1) != tar.END:
            raise BackupRefused("The archive holds more than its manifest lists; nothing was restored.")
    return manifest


def heed(cancelled: Cancel) -> None:
    """Raise Cancelled when somebody asked for it."""
    if cancelled():
        raise Cancelled("It was cancelled; nothing was changed.")


def _manifest(read: tar.Read) -> Manifest:
    size = tar.first_size(tar.read_exactly(read, tar.BLOCK), MANIFEST, _MOST_MANIFEST_BYTES)
    raw = b"".join(tar.pieces(read, size))
    try:
        version = msgspec.json.decode(raw, type=_Versions)
        if version.format > FORMAT or version.schema_version > SCHEMA_VERSION:
            raise StoreIncompatible(
                f"This backup was made by Noesis {version.product_version[:20]}, which is newer;"
                " restore it with that version. Nothing was changed."
            )
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BackupRefused("The archive's manifest cannot be read; nothing was restored.") from error
    _check_names(manifest)
    return manifest


class _Versions(msgspec.Struct):
    format: int
    schema_version: int
    product_version: str


def _check_names(manifest: Manifest) -> None:
    """Refuse a list of files that a backup would not have.  Raises BackupRefused."""
    if len(manifest.files) > _MOST_FILES:
        raise BackupRefused(f"The archive lists more than {_MOST_FILES:,} files; nothing was restored.")
    seen: set[str] = set()
    for entry in manifest.files:
        if not _is_ours(entry.path) or entry.size < 0:
            raise BackupRefused(f"No backup holds a file {entry.path[:80]!r}; nothing was restored.")
        # Two names that differ by case are one file on some systems.
        if entry.path.lower() in seen:
            raise BackupRefused(f"The archive lists {entry.path[:80]!r} twice; nothing was restored.")
        seen.add(entry.path.lower())
    missing = {CONTROL, f"{STORE}/generation.json"} - {entry.path for entry in manifest.files}
    if missing:
        raise BackupRefused(f"The archive lacks {', '.join(sorted(missing))}; nothing was restored.")


def _is_ours(path: str) -> bool:
    if path in _FILES:
        return True
    parts = path.split("/")
    in_table = len(parts) >= 4 and parts[0] == STORE and parts[1] in _TABLES
    return in_table and len(path) <= 250 and all(_is_plain(part) for part in parts)


def _is_plain(part: str) -> bool:
    return bool(part) and set(part) <= _PART_CHARS and set(part) != {"."} and len(part) <= 100


def _check_sizes(manifest: Manifest, path: Path, directory: Path) -> None:
    """Refuse what would fill the disk.  Raises BackupRefused or StoreFull."""
    size = path.stat().st_size
    if manifest.bytes > max(_ALWAYS_ALLOWED_BYTES, size * _MOST_INFLATION):
        raise BackupRefused(
            f"The archive has {size:,} bytes and would become {manifest.bytes:,}: no backup shrinks so far."
        )
    check_room(directory, manifest.bytes)


def check_room(directory: Path, needed: int) -> None:
    """Raise StoreFull unless so many bytes, and a reserve, are free where the directory is."""
    place = next(path for path in (directory, *directory.parents) if path.exists())
    free = shutil.disk_usage(place).free
    reserve = 64 << 20
    if free < needed + reserve:
        raise StoreFull(
            f"{needed + reserve:,} bytes are needed on the disk of {place}, {free:,} are free; nothing was written."
        )
