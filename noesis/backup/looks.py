"""Looks at a backup before a restore: what a job saw, kept where only this machine reads it.

The ledger tells people how a job went and never holds the text of a memory, so a look at a part leaves
its memories in a file of its own; after an hour it is of no use, since the memories of now have moved on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from noesis.backup.values import Beside, Preview, Wanted
from noesis.errors import (
    BackupRefused,
    Conflict,
    InvalidInput,
    NoesisError,
    NotFound,
    SettingsError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreIncompatible,
)
from noesis.ledger import LIVE, Job, JobArgs

JOB = "preview"
MOST_SHOWN = 200
"""So many memories of a part are shown beside those of now."""

_KEPT_S = 3600.0
_KINDS = (
    BackupRefused,
    InvalidInput,
    NotFound,
    SettingsError,
    StoreBusy,
    StoreFull,
    StoreIncompatible,
    StoreError,
)


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What a look saw: of the whole backup, or of a part of it."""

    preview: Preview | None = None
    memories: list[Beside] | None = None


class Looks:
    """Owns the files of looks at parts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, job_id: str, memories: Sequence[Beside]) -> None:
        """Keep what a job saw, and drop what is older than an hour.  Raises OSError."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        for old in self._directory.iterdir():
            if time.time() - old.stat().st_mtime > _KEPT_S:
                old.unlink(missing_ok=True)
        descriptor = os.open(self._path(job_id), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(memories))

    def of(self, job: Job) -> Looked | None:
        """What a job saw; None while it is under way.

        Raises the error that the look ended with, or Conflict when it is to be asked again.
        """
        if job.state in LIVE:
            return None
        result = job.result or {}
        if job.state != "succeeded" or "cancelled" in result:
            raise Conflict(job.error or "The look was stopped; ask again.")
        if "refused" in result:
            raise _refusal(result)
        if "preview" in result:
            return Looked(preview=msgspec.convert(result["preview"], Preview))
        try:
            return Looked(memories=msgspec.json.decode(self._path(job.id).read_bytes(), type=list[Beside]))
        except (OSError, msgspec.DecodeError) as error:
            raise Conflict("What the look saw is kept for an hour; ask again.") from error

    def _path(self, job_id: str) -> Path:
        return self._directory / f"{job_id}.json"


def arguments(name: str, wanted: Wanted) -> JobArgs:
    """The arguments of the job that looks at a backup, or at a part of it."""
    return {
        "name": name,
        "agent": wanted.agent,
        "source": wanted.source,
        "ids": list(wanted.ids) or None,
    }


def refused(error: NoesisError) -> dict[str, Any]:
    """The result of a look that found that nothing can be restored: the job itself did what it should."""
    return {"refused": error.message, "code": error.code}


def _refusal(result: dict[str, Any]) -> NoesisError:
    kind = next((kind for kind in _KINDS if kind.code == result.get("code")), StoreError)
    return kind(str(result["refused"]))
