"""How the command line follows a job of the server to its end, and tells on a terminal how far it is."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Any

import click

from noesis.client import Client
from noesis.errors import NoesisError

Tell = Callable[[int, int | None], None]
"""Told how much is done, and of how much where that is known."""

_LOOK_EVERY_S = 0.3


class JobFailed(NoesisError):
    """The server's job failed or was cancelled."""

    code = "job_failed"
    title = "The job failed"


async def ended(
    client: Client,
    job_id: str,
    tell: Tell,
    *,
    place: str = "/api/v1/jobs",
    cancelled: str = "It was cancelled.",
    failure: type[NoesisError] = JobFailed,
) -> dict[str, Any]:
    """The result of a job, once there is one; `place` is where it is asked about, `cancelled` what is said when
    somebody stopped it.

    Raises `failure` with the job's own words.
    """
    while True:
        job = await client.call("GET", f"{place}/{job_id}")
        if job["state"] == "succeeded":
            result: dict[str, Any] = job["result"] or {}
            return result
        if job["state"] in ("failed", "cancelled"):
            raise failure(job["error"] or cancelled)
        tell(job["progress"]["done"], job["progress"]["total"])
        await asyncio.sleep(_LOOK_EVERY_S)


async def run_job(
    client: Client,
    path: str,
    body: dict[str, Any] | None = None,
    *,
    tell: Tell,
    failure: type[NoesisError] = JobFailed,
) -> dict[str, Any]:
    """Start a job and wait for its result.  Raises as `ended` does."""
    started = await client.call("POST", path, body)
    return await ended(client, started["job_id"], tell, failure=failure)


def tell_counts(done: int, total: int | None) -> None:
    """Progress in things, on a terminal."""
    _say(f"{done:,}{'' if total is None else f' of {total:,}'} …")


def tell_megabytes(done: int, total: int | None) -> None:
    """Progress in bytes, told in MB, on a terminal."""
    _say(f"{done >> 20:,}{f' of {total >> 20:,}' if total else ''} MB …")


def tell_nothing(_done: int, _total: int | None) -> None:
    """For steps that are too few to be told."""


def _say(words: str) -> None:
    if sys.stderr.isatty():
        with contextlib.suppress(OSError):
            click.echo(f"\r{words}", err=True, nl=False)
