"""The command of snapshots."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from noesis.client import Client, open_client
from noesis.commands import as_json, out
from noesis.errors import Conflict, InvalidInput
from noesis.job_watching import run_job, tell_nothing
from noesis.settings import Settings, load

if TYPE_CHECKING:
    from noesis.runtime import Noesis


@click.command("snapshot")
@click.option("--list", "listed", is_flag=True, help="Only list the snapshots and say how the last one went.")
@click.option("--fetch", is_flag=True, help="Fetch the newest from the remote and list it as a backup.")
@click.option("--commit", help="With --fetch: this one of the remote's snapshots.")
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def snapshot_command(
    listed: bool, fetch: bool, commit: str | None, data: Path | None, json_output: bool
) -> None:
    """Take a Git LFS snapshot and push it (NOESIS_GIT_LFS_REPO), or fetch one back."""
    if commit is not None and not fetch:
        raise InvalidInput("--commit goes with --fetch.")
    settings = load(os.environ, data=data)
    if listed:
        out(_run(settings, _log, lambda client: client.call("GET", "/api/v1/snapshots")), json_output, _shown)
    elif fetch:
        body = {"commit": commit}
        fetched = _run(
            settings,
            lambda noesis: noesis.snapshots.fetch(commit),
            lambda client: run_job(client, "/api/v1/snapshots/fetch", body, tell=tell_nothing),
        )
        out(
            fetched,
            json_output,
            lambda f: f"Fetched and verified. `noesis restore {f['name']}` says what it would change.",
        )
    else:
        out(
            _run(settings, _take, lambda client: run_job(client, "/api/v1/snapshots", tell=tell_nothing)),
            json_output,
            _taken,
        )


def _run(
    settings: Settings,
    here: Callable[[Noesis], Awaitable[Any]],
    there: Callable[[Client], Awaitable[Any]],
) -> Any:
    """The answer as plain values, from the running server or from the store opened here."""

    async def run() -> Any:
        if settings.url is not None:
            async with open_client(settings) as client:
                return await there(client)
        from noesis.runtime import open_runtime

        async with open_runtime(settings) as noesis:
            return msgspec.to_builtins(await here(noesis))

    return asyncio.run(run())


async def _take(noesis: Noesis) -> Any:
    if not noesis.snapshots.enabled:
        raise Conflict("Snapshots are off: set NOESIS_GIT_LFS_ENABLED, and NOESIS_GIT_LFS_REPO to push them.")
    return await noesis.snapshots.take(lambda _done, _total: None)


async def _log(noesis: Noesis) -> Any:
    state = await noesis.snapshots.state()
    snapshots = [
        {"commit": each.id, "subject": each.subject, "pushed": each.pushed}
        for each in await noesis.snapshots.log()
    ]
    return {"enabled": noesis.snapshots.enabled, **msgspec.structs.asdict(state), "snapshots": snapshots}


def _shown(state: Any) -> str:
    lines = [
        f"{each['commit'][:12]}  {each['subject']}{'' if each['pushed'] else '  (not pushed)'}"
        for each in state["snapshots"]
    ]
    head = [] if state["enabled"] else ["Snapshots are off (NOESIS_GIT_LFS_ENABLED)."]
    trouble = [text for text in (state["error"], state["warning"]) if text]
    return "\n".join([*head, *trouble, *(lines or ["There is no snapshot yet."])])


def _taken(result: Any) -> str:
    where = f"pushed to {result['branch']}" if result.get("branch") else "kept here, pushed nowhere"
    told = f"{result.get('memories', 0):,} memories, {where}."
    return f"{told}\n{result['warning']}" if result.get("warning") else told
