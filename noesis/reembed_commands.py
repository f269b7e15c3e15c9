"""The command of a switch to another embedder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import click
import msgspec

from noesis.client import open_client
from noesis.commands import as_json, out
from noesis.job_watching import run_job
from noesis.settings import Settings, load

_PATH = "/api/v1/reembed"


@click.command("reembed")
@click.option("--check", is_flag=True, help="Only say whether it is needed, and how far one has come.")
@click.option("--force", is_flag=True, help="Although the vectors are of this very model.")
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def reembed_command(check: bool, force: bool, data: Path | None, json_output: bool) -> None:
    """Make all vectors anew with the embedder of the settings; `noesis undo` goes back.

    Searches go on with the old vectors until the new ones take their place.  Broken off, it goes on
    where it was at the next call.
    """
    settings = load(os.environ, data=data)
    if check:
        out(asyncio.run(_standing(settings)), json_output, _show_standing)
    else:
        out(asyncio.run(_reembed(settings, force=force)), json_output, _show_done)


async def _standing(settings: Settings) -> Any:
    if settings.url is not None:
        async with open_client(settings) as client:
            return await client.call("GET", _PATH)
    from noesis.runtime import open_runtime

    async with open_runtime(settings) as noesis:
        return msgspec.to_builtins(await noesis.reembedding.standing())


async def _reembed(settings: Settings, *, force: bool) -> Any:
    tell = _Progress()
    if settings.url is not None:
        async with open_client(settings) as client:
            return await run_job(client, _PATH, {"force": force}, tell=tell)
    from noesis.runtime import open_runtime

    async with open_runtime(settings) as noesis:
        done = await noesis.reembedding.run(
            made_for=uuid.uuid4().hex, force=force, tell=tell, cancelled=lambda: False
        )
        return msgspec.to_builtins(done)


class _Progress:
    """Says on a terminal how many rows are done and how long it still takes, by the pace since the start."""

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def __call__(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        began, first = self._began = self._began or (now, done)
        if not sys.stderr.isatty() or not total:
            return
        left = (now - began) / (done - first) * (total - done) if done > first else None
        words = "" if left is None else f", about {left / 60:,.0f} min left"
        with contextlib.suppress(OSError):
            click.echo(f"\r{done:,} of {total:,} rows{words} …  ", err=True, nl=False)


def _show_standing(found: dict[str, Any]) -> str:
    if not found["ready"]:
        return str(found["sentence"])
    return f"{found['sentence']} {found['ready']:,} texts of {found['rows']:,} rows are embedded already."


def _show_done(done: dict[str, Any]) -> str:
    if "cancelled" in done:
        return str(done["cancelled"])
    lines = [
        f"{done['rows']:,} rows have vectors of {done['model']} ({done['dimension']} dimensions) now:"
        f" {done['embedded']:,} texts were embedded, {done['kept']:,} had been before. `noesis undo` goes back."
    ]
    if done["waiting"]:
        lines.append(f"{done['waiting']:,} written at the last moment wait for their vectors.")
    if done["failed"]:
        lines.append(f"{done['failed']:,} are texts that the embedder refuses.")
    if done["compared"] is not None:
        lines.append(_show_compared(done["compared"]))
    return "\n".join(lines)


def _show_compared(compared: dict[str, Any]) -> str:
    words = []
    if compared["same_answers"] is not None:
        asked = "last questions" if compared["asked"] == "recent" else "first sentences of memories"
        words.append(
            f"Of the first ten answers to {compared['questions']} {asked}, {compared['same_answers']:.0%} are as"
            f" before (by {compared['answered_by']})."
        )
    if compared["same_neighbours"] is not None:
        words.append(f"Of each memory's ten nearest, {compared['same_neighbours']:.0%} are.")
    return " ".join(words)
