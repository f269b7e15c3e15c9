"""After a power cut: find the newest version of a table that can be read, and say what was dropped.

Whatever was acknowledged is on the disk.  What was not may be there in part: a manifest that names
files which never arrived, or one that is empty.  Its manifest is moved aside, never deleted, and the
version before it becomes the newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import lancedb
import msgspec

from noesis.errors import StoreError
from noesis.store.calls import is_panic
from noesis.store.filters import Column, equals
from noesis.store.schema import COLUMNS

_MOST_DROPPED = 64
QUARANTINE = "quarantine"
"""The folder of a store in which manifests lie that could not be read."""

_NOTES = "dropped.json"


class Dropped(msgspec.Struct, frozen=True):
    """One version of a table that could not be read; its manifest lies in `quarantined` now."""

    table: str
    version: int
    quarantined: str
    at: int = 0
    """When it was set aside, in ms since 1970."""


def note(quarantine: Path, dropped: Sequence[Dropped]) -> None:
    """Note what was set aside, for every process that opens the store afterwards.  Raises OSError."""
    if dropped:
        told = [*_noted(quarantine), *dropped]
        partial = quarantine / f"{_NOTES}.partial"
        partial.write_bytes(msgspec.json.encode(told))
        partial.replace(quarantine / _NOTES)


def noted_since(quarantine: Path, since_ms: int) -> list[Dropped]:
    """What was set aside since then, by whichever process."""
    return [each for each in _noted(quarantine) if each.at >= since_ms]


def _noted(quarantine: Path) -> list[Dropped]:
    try:
        return msgspec.json.decode((quarantine / _NOTES).read_bytes(), type=list[Dropped])
    except (OSError, msgspec.DecodeError):
        return []


async def newest_readable(
    connection: lancedb.AsyncConnection,
    directory: Path,
    name: str,
    quarantine: Path,
    columns: Iterable[str] = COLUMNS,
) -> list[Dropped]:
    """Make the newest readable version of a table the newest one; only under the write lock.

    Raises StoreError, with every manifest back in its place, when none of the last 64 can be read.
    """
    dropped: list[Dropped] = []
    moved: list[tuple[Path, Path]] = []
    while not await is_readable(connection, name, columns):
        versions = manifests(directory / f"{name}.lance" / "_versions")
        if not versions or len(dropped) == _MOST_DROPPED:
            for place, kept in moved:
                kept.rename(place)
            raise StoreError(
                f"No version of the table {name} can be read; nothing was changed."
                " Restore the latest backup, or look at the disk."
            )
        quarantine.mkdir(parents=True, exist_ok=True, mode=0o700)
        newest = versions[0]
        kept = _free(quarantine, f"{name}-{newest.name}")
        newest.rename(kept)
        moved.append((newest, kept))
        (newest.parent / "latest_version_hint.json").unlink(missing_ok=True)
        dropped.append(Dropped(name, version_of(newest), str(kept)))
    return dropped


async def is_readable(
    connection: lancedb.AsyncConnection, name: str, columns: Iterable[str] = COLUMNS
) -> bool:
    """Whether the newest version opens with these columns, and every file it names can be read.

    An earlier format has other columns than today's rows.
    """
    try:
        table = await connection.open_table(name)
        names = (await table.schema()).names
        await table.query().select(["id"]).to_arrow()
        # A manifest with a changed bit may name other columns, or other places for them.
        await table.query().limit(1).to_arrow()
        # And what it says of the indexes is read by a filter only.
        await table.query().where(equals(Column.ID, "").sql).select(["id"]).to_arrow()
    except BaseException as error:  # of damaged bytes the library may make anything
        if isinstance(error, Exception) or is_panic(error):
            return False
        raise
    return set(columns) <= {*names} and len(names) == len({*names})


def _free(quarantine: Path, name: str) -> Path:
    """A place of this name; a version that was set aside before may have come again."""
    place, number = quarantine / name, 1
    while place.exists():
        number += 1
        place = quarantine / f"{name}.{number}"
    return place


def version_of(manifest: Path) -> int:
    """The version a manifest holds: its name counts down from 2^64 - 1, so that listing gives the newest first."""
    return 2**64 - 1 - int(manifest.stem)


def sweep(directory: Path) -> int:
    """Remove what a killed process left half written; returns how many files.

    Only while nobody commits or optimises: such files have no name that anything refers to yet.
    """
    left = [path for path in directory.glob("*.lance/**/*") if _is_unfinished(path.name) and path.is_file()]
    for path in left:
        path.unlink(missing_ok=True)
    return len(left)


def _is_unfinished(name: str) -> bool:
    # The object store writes `NAME#1` (or the next free number) and then links it to NAME.
    base, mark, number = name.rpartition("#")
    return name.startswith(".tmp") or bool(base and mark and number.isdigit())


def manifests(versions: Path) -> list[Path]:
    """The manifests in a table's folder of versions, newest first."""
    found = [path for path in versions.glob("*.manifest") if path.stem.isdigit()]
    return sorted(found, key=version_of, reverse=True)
