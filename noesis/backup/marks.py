"""What a generation keeps of the restore that made it: what it began with, and the control state to be taken.

`baseline` tells what was written since, for an undo; `pending` says that the control state is still to be
taken over, so that a kill between the swap and that leaves nothing half done.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from noesis.backup.control_copy import Way
from noesis.store.generations import write_file
from noesis.store.whole import Known

_BASELINE = "baseline"
_PENDING = "control.pending"
TAKEN = "control.sqlite"
BEFORE = "control-before.sqlite"


def write_baseline(directory: Path, memories: dict[str, Known]) -> None:
    """Note the memories a generation begins with."""
    write_file(directory / _BASELINE, msgspec.msgpack.encode(memories))


def read_baseline(directory: Path) -> dict[str, Known] | None:
    """The memories it began with, or None when it was not made by a restore."""
    try:
        return msgspec.msgpack.decode((directory / _BASELINE).read_bytes(), type=dict[str, Known])
    except (OSError, msgspec.DecodeError):
        return None


def mark_pending(directory: Path, way: Way) -> None:
    """Note that `control.sqlite` is to be taken over once this generation is live."""
    write_file(directory / _PENDING, way.value.encode())


def pending(directory: Path) -> Way | None:
    """How the control state is still to be taken over, or None."""
    try:
        return Way((directory / _PENDING).read_text(encoding="ascii"))
    except FileNotFoundError:
        return None


def settle(directory: Path) -> None:
    """Note that it was; what was only for that goes."""
    (directory / _PENDING).unlink(missing_ok=True)
    (directory / TAKEN).unlink(missing_ok=True)
