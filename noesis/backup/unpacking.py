"""Opens an archive in a directory of its own and compares all that it holds with its manifest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from noesis.backup import encryption
from noesis.backup.archive import CONTROL, STORE, Cancel, OnBytes, check_room, extract
from noesis.backup.aside import aside
from noesis.backup.control_copy import is_sound
from noesis.backup.shelf import ENCRYPTED
from noesis.backup.surveying import Depth, survey
from noesis.backup.values import Manifest
from noesis.errors import BackupRefused, StoreError
from noesis.store.generations import Generation, open_as_it_is
from noesis.store.migrations import upgrade_in_place
from noesis.store.schema import SCHEMA_VERSION
from noesis.store.whole import Survey, TableSum


class Unpacked(msgspec.Struct, frozen=True):
    """An archive that was extracted: `store` is a generation's directory, `control` a SQLite file."""

    manifest: Manifest
    store: Path
    control: Path


class Examined(msgspec.Struct, frozen=True):
    """What an unpacked archive holds (None: it cannot be read), and what is wrong with it."""

    survey: Survey | None
    problems: tuple[str, ...]


async def unpack(
    path: Path, folder: Path, key_file: Path | None, on_bytes: OnBytes, cancelled: Cancel
) -> Unpacked:
    """Extract an archive into an empty folder.

    Raises BackupRefused, StoreIncompatible, StoreFull, SettingsError (no key), Cancelled or OSError.
    """

    def work() -> Manifest:
        plain = path
        if path.name.removesuffix(".partial").endswith(ENCRYPTED):
            check_room(folder, path.stat().st_size)
            plain = folder / "plain"
            encryption.decrypt(path, plain, key_file)
        manifest = extract(plain, folder / "files", on_bytes, cancelled)
        if plain != path:
            plain.unlink()
        return manifest

    manifest = await asyncio.to_thread(work)
    store = folder / "files" / STORE
    if manifest.schema_version < SCHEMA_VERSION:
        await upgrade_in_place(store)
    return Unpacked(manifest, store, folder / "files" / CONTROL)


async def examine(unpacked: Unpacked, cancelled: Cancel) -> Examined:
    """Open it, count, hash every row anew, and ask by words and by meaning.  Raises Cancelled."""
    problems: list[str] = []
    if not await asyncio.to_thread(is_sound, unpacked.control):
        problems.append("The control database in it is damaged.")
    try:
        found = await survey(unpacked.store, Depth.ANEW, cancelled)
    except StoreError as error:
        return Examined(None, (*problems, error.message))
    problems += [
        f"{name} holds other rows than the manifest says."
        for name, table in found.tables.items()
        if not _is_as_told(unpacked.manifest, name, table)
    ]
    return Examined(found, (*problems, *found.problems))


def _is_as_told(manifest: Manifest, name: str, table: TableSum) -> bool:
    """Whether it holds the manifest's rows; rows of an earlier format were written anew and are counted only."""
    expected = manifest.tables.get(name)
    if expected is None or manifest.schema_version == SCHEMA_VERSION:
        return expected == table
    return expected.rows == table.rows


async def opened(
    path: Path, folder: Path, key_file: Path | None, tell: Callable[[int, int], None], cancelled: Cancel
) -> tuple[Unpacked, Generation]:
    """An archive that was unpacked and compared whole; `tell` hears of bytes.

    Raises BackupRefused, StoreIncompatible, StoreFull, SettingsError (no key), Cancelled or OSError.
    """
    done = [0]

    def on_bytes(count: int) -> None:
        done[0] += count
        tell(done[0], 0)

    async def work() -> tuple[Unpacked, Examined]:
        unpacked = await unpack(path, folder, key_file, on_bytes, cancelled)
        return unpacked, await examine(unpacked, cancelled)

    unpacked, found = await aside(work)
    if found.problems:
        raise BackupRefused(f"Nothing was restored. {' '.join(found.problems)}")
    return unpacked, await open_as_it_is(unpacked.store)
