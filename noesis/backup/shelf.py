"""The directory of backups: their names, what is noted beside each, and what is cleared away."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from noesis.backup.archive import read_manifest
from noesis.backup.values import Backup
from noesis.errors import InvalidInput, NoesisError, NotFound, StoreReadOnly
from noesis.store.generations import write_file

PLAIN, ENCRYPTED = ".tar.gz", ".tar.gz.age"
PARTIAL = ".partial"
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Shelf:
    """Owns one directory.  An archive `NAME` has its note in `NAME.json`; without one it is listed all the same."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def prepare(self) -> None:
        """Make the directory.  Raises StoreReadOnly."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreReadOnly(f"Backups cannot be kept in {self.directory}: {error.strerror}.") from error

    def list(self) -> list[Backup]:
        """All backups, newest first by their own time; what is still being written is none."""
        if not self.directory.is_dir():
            return []
        names = [path.name for path in self.directory.iterdir() if is_name(path.name) and path.is_file()]
        found = [self.get(name) for name in names]
        return sorted(found, key=lambda backup: (backup.created_at, backup.name), reverse=True)

    def get(self, name: str) -> Backup:
        """One backup.  Raises NotFound."""
        path = self.path(name)
        with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            noted = msgspec.json.decode(self._note(name).read_bytes(), type=Backup)
            return msgspec.structs.replace(noted, name=name, size=path.stat().st_size)
        return described(path)

    def path(self, name: str) -> Path:
        """The file of a backup.  Raises NotFound."""
        path = self.directory / name
        if not is_name(name) or not path.is_file() or path.is_symlink():
            raise NotFound("There is no backup of this name.")
        return path

    def note(self, backup: Backup) -> None:
        """Write what is known of a backup beside it."""
        write_file(self._note(backup.name), msgspec.json.format(msgspec.json.encode(backup)))

    def remove(self, name: str) -> None:
        """Take a backup away."""
        self.path(name).unlink(missing_ok=True)
        self._note(name).unlink(missing_ok=True)

    def free_name(self, at_ms: int, prefix: str, encrypted: bool) -> str:
        """A name that says when it was made and is not taken."""
        stem = f"{prefix}-{datetime.fromtimestamp(at_ms / 1000, UTC):%Y%m%dT%H%M%SZ}"
        end = ENCRYPTED if encrypted else PLAIN
        for number in range(1, 10_000):
            name = f"{stem}{end}" if number == 1 else f"{stem}-{number}{end}"
            if not (self.directory / name).exists():
                return name
        raise StoreReadOnly(f"{self.directory} holds too many backups of one second.")

    def put(self, partial: Path, backup: Backup) -> None:
        """List a finished archive: its note first, then the rename, each on the disk."""
        self.note(backup)
        partial.rename(self.directory / backup.name)
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def clear_partials(self) -> None:
        """Remove what a backup that was killed has left; only while none is being made."""
        if self.directory.is_dir():
            for path in self.directory.glob(f"*{PARTIAL}"):
                path.unlink(missing_ok=True)

    def _note(self, name: str) -> Path:
        return self.directory / f"{name}.json"


def described(path: Path) -> Backup:
    """A backup of which nothing is noted, by its manifest as far as that can be read."""
    status = path.stat()
    try:
        manifest = read_manifest(path)
    except (NoesisError, OSError):
        return Backup(
            name=path.name, created_at=status.st_mtime_ns // 1_000_000, size=status.st_size, kind="uploaded"
        )
    return Backup(
        name=path.name,
        created_at=manifest.created_at,
        size=status.st_size,
        kind="uploaded",
        rows=sum(table.rows for table in manifest.tables.values()),
        memories=manifest.memories,
        instance=manifest.instance,
        product_version=manifest.product_version,
    )


def is_name(name: str) -> bool:
    """Whether a backup may be called this."""
    fits = 0 < len(name) <= 120 and set(name) <= _NAME_CHARS and not name.startswith(".")
    return fits and name.endswith((PLAIN, ENCRYPTED))


def check_name(name: str) -> str:
    """The name, or InvalidInput when no backup may be called this."""
    if not is_name(name):
        raise InvalidInput(
            f"A backup's name is of letters, digits, . _ and - and ends with {PLAIN} or {ENCRYPTED}.",
            field="name",
        )
    return name
