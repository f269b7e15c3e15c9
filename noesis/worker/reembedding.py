"""The job of a switch to another embedder, and what a start says of one that is needed."""

from __future__ import annotations

from typing import Any

import msgspec

from noesis.errors import Cancelled, NoesisError
from noesis.runtime import Noesis
from noesis.worker.handlers import Handler, JobContext

JOB = "reembed"


async def reembed(context: JobContext, force: bool = False, actor: str = "") -> dict[str, Any]:
    """Make all vectors anew with the embedder of the settings; progress is in rows.

    Cut short, it goes on where it was: what was embedded is not embedded again.
    """
    noesis: Noesis = context.runtime
    try:
        done = await noesis.reembedding.run(
            made_for=context.job.id, force=force, tell=context.progress, cancelled=context.cancelled
        )
    except Cancelled as error:
        return {"cancelled": error.message}
    except NoesisError as error:
        await noesis.activity.record(JOB, error.message, level="error", job_id=context.job.id)
        raise
    said = f"{done.rows:,} rows have vectors of {done.model} now. `noesis undo` goes back."
    await noesis.activity.record(JOB, f"By {actor}: {said}" if actor else said, job_id=context.job.id)
    return msgspec.to_builtins(done)  # type: ignore[no-any-return]


async def say_if_needed(noesis: Noesis) -> None:
    """Tell at the start that the embedder is not the one whose vectors the store holds."""
    needed = await noesis.reembedding.look()
    if needed is not None:
        await noesis.activity.record(JOB, needed, level="warning")


HANDLERS = {JOB: Handler(run=reembed, timeout_s=14 * 24 * 3600.0, max_attempts=20, concurrency=1)}
