"""How a run ended, in words that may be shown and logged."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path
from typing import Any, Literal

import msgspec

from noesis.errors import NoesisError
from noesis.ledger import Job
from noesis.worker.handlers import Handler, JobContext

BACKOFF_BASE_MS = 2_000
BACKOFF_CAP_MS = 300_000

Stop = Literal["cancel", "shutdown", "lost", "timeout"]


class Succeeded(msgspec.Struct, frozen=True):
    """The handler returned."""

    result: dict[str, Any] | None


class Failed(msgspec.Struct, frozen=True):
    """It failed; `again`: another try may help."""

    error: str
    again: bool = False


class Stopped(msgspec.Struct, frozen=True):
    """It was stopped before its end."""

    why: Stop


Outcome = Succeeded | Failed | Stopped


def outcome_of(
    work: asyncio.Task[dict[str, Any] | None], stop: Stop | None, context: JobContext, handler: Handler
) -> Outcome:
    """What became of a handler's task, ended or not, given why it was stopped, if it was."""
    if stop == "timeout":
        return Failed(f"It took longer than {handler.timeout_s:g} seconds and was stopped.")
    if not work.done() or work.cancelled():
        return Stopped(stop or "shutdown")
    error = work.exception()
    if isinstance(error, NoesisError):
        return Failed(error.message, again=error.retryable)
    if error is not None:
        return Failed(f"It failed unexpectedly ({type(error).__name__}). The log tells where.")
    # A handler that saw that it should stop may have returned before the work was done.
    return Stopped(stop) if stop is not None and context.heeded else Succeeded(work.result())


def backoff_ms(attempt: int, jitter: float) -> int:
    """How long to wait after the attempt numbered from 1: doubling, capped; `jitter` in [0, 1).

    Half of it is random ("equal jitter"), so that jobs that failed together do not come back together.
    """
    full = min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** min(attempt - 1, 20))
    return int(full / 2 + full / 2 * jitter)


def given_up(job: Job, error: str) -> str:
    """The sentence for a job whose attempts are used up."""
    return error if job.attempts <= 1 else f"{error} Given up after {job.attempts} attempts."


def places(error: BaseException) -> str:
    """Where an exception came from, innermost last.

    Its message is left out: a library may have quoted memory text in it.
    """
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    return " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
