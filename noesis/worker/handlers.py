"""What a job handler is and what it is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from noesis.ledger import Beat, Job

HandlerFunction = Callable[..., Awaitable[dict[str, Any] | None]]


class Handler(msgspec.Struct, frozen=True, kw_only=True):
    """How jobs of one name are run.

    `run(context, **args)` does the work and may return a small dict for people; it may be run more
    than once for the same job and must not mind.  After `timeout_s` it is stopped and the job has
    failed.  `max_attempts` bounds the runs, crashes of the worker included.  `concurrency` is how
    many jobs of this name one worker runs side by side, so that no name takes all the room.
    """

    run: HandlerFunction
    timeout_s: float = 300.0
    max_attempts: int = 5
    concurrency: int = 2


class JobContext:
    """A handler's view of its job: the runtime, the job, and two ways to speak about it.

    `progress` and `cancelled` are cheap and may be called from any thread.  A handler that sees
    `cancelled()` returns soon, at a point from which a later run can go on.
    """

    def __init__(self, runtime: Any, job: Job) -> None:
        self.runtime = runtime
        self.job = job
        self._beat = Beat(job.claims, job.done, job.total)
        self._asked_to_stop = False
        self._heeded = False

    def progress(self, done: int, total: int | None = None) -> None:
        """Say how far the work is; it reaches the ledger with the next heartbeat."""
        self._beat = Beat(self.job.claims, done, total)

    def cancelled(self) -> bool:
        """Whether the handler should stop: the job was cancelled, or the worker is about to end."""
        self._heeded = self._heeded or self._asked_to_stop
        return self._asked_to_stop

    @property
    def beat(self) -> Beat:
        """The sign of life that the next heartbeat writes."""
        return self._beat

    @property
    def heeded(self) -> bool:
        """Whether the handler was told to stop and knows it: what it returns may be half the work."""
        return self._heeded

    def ask_to_stop(self) -> None:
        """Make `cancelled()` true."""
        self._asked_to_stop = True
