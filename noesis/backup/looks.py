"""Looks at a backup before a restore: what a job saw, kept where only this machine reads it.

The ledger tells people how a job went and never holds the text of a memory, so a look at a part leaves
its memories in a file of its own; after an hour it is of no use, since the memories of now have moved on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from noesis.backup.values import Beside, Preview, Wanted
from noesis.errors import Conflict, NoesisError
from noesis.ledger import LIVE, Job, JobArgs
from noesis.remote.problems import problem

JOB = "preview"
MOST_SHOWN = 200
"""So many memories of a part are shown beside those of now."""

_KEPT_MS = 3_600_000


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What a look saw: of the whole backup, or of a part of it."""

    preview: Preview | None = None
    memories: list[Beside] | None = None


class Looks:
    """Owns the files of looks at parts."""

    def __init__(self, directory: Path, now_ms: Callable[[], int]) -> None:
        self._directory = directory
        self._now_ms = now_ms

    def put(self, job_id: str, memories: Sequence[Beside]) -> None:
        """Keep what a job saw.  Raises OSError."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self._path(job_id), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(memories))
        # Its age is counted on our clock.
        now_s = self._now_ms() / 1000
        os.utime(self._path(job_id), (now_s, now_s))

    def sweep(self) -> None:
        """Drop what nobody is to see any more."""
        for path in self._directory.glob("*.json"):
            with suppress(OSError):  # another process sweeps as well
                if self._now_ms() - path.stat().st_mtime_ns // 1_000_000 > _KEPT_MS:
                    path.unlink()

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
            raise problem(result["refused"])
        if "preview" in result:
            return Looked(preview=msgspec.convert(result["preview"], Preview))
        self.sweep()
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
    return {"refused": {"detail": error.message, "code": error.code}}
