"""The commands of retention: cleanup, and the archive."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import click

from noesis.client import open_client
from noesis.commands import Commands, as_agent, as_json, call, finite, out
from noesis.errors import InvalidInput
from noesis.job_watching import ended, tell_counts
from noesis.settings import Settings, load
from noesis.shown import show_hits, show_memories, show_table

_TYPES = ("fact", "decision", "preference", "context", "session")
_ANSWER_WAITS = 5
"""Exit code when something waits for --confirm: the state does not allow it."""


@click.command()
@click.option("--plan", "plan_only", is_flag=True, help="Only say what would be done.")
@click.option("--confirm", is_flag=True, help="Yes: archive a large share, and believe the clock.")
@as_agent
@as_json
def cleanup(plan_only: bool, confirm: bool, agent: str | None, data: Path | None, json_output: bool) -> None:
    """Archive what has expired and purge what lay in the archive for long enough.

    Of one agent with --agent, else of all.  Exit code 5 when it waits for --confirm.
    """
    if plan_only:
        answer = call(lambda client: client.call("POST", "/api/v1/cleanup", plan="true"), agent, data)
        out(answer["plan"], json_output, show_plan)
        return
    settings = load(os.environ, agent=agent, data=data)
    work = _clean_here if settings.url is None else _clean_there
    done = asyncio.run(work(settings, confirm))
    out(done, json_output, show_cleaned)
    sys.exit(_ANSWER_WAITS if done["state"] == "needs confirmation" else 0)


async def _clean_here(settings: Settings, confirm: bool) -> dict[str, Any]:
    # Imported here: a client of a running server must not pay for the store.
    import msgspec

    from noesis.runtime import open_runtime
    from noesis.text.normalise import agent_name

    agent = None if settings.agent is None else agent_name(settings.agent)
    async with open_runtime(settings) as noesis:
        done = await noesis.retention.cleaning.run(agent, confirm=confirm, tell=tell_counts)
        return msgspec.to_builtins(done)  # type: ignore[no-any-return]


async def _clean_there(settings: Settings, confirm: bool) -> dict[str, Any]:
    async with open_client(settings) as client:
        answer = await client.call("POST", "/api/v1/cleanup", confirm="true" if confirm else None)
        return await ended(
            client,
            answer["job_id"],
            tell_counts,
            cancelled="The cleanup was cancelled; what was archived until then stays so.",
        )


def show_plan(plan: dict[str, Any]) -> str:
    """What would be done, for people."""
    lines = [
        f"{plan['expired']:,} of {plan['memories']:,} memories have expired and go to the archive;"
        f" {plan['purge']:,} archived ones are purged for good."
    ]
    for title in ("by_agent", "by_type"):
        if plan[title]:
            told = ", ".join(f"{name} {count:,}" for name, count in plan[title].items())
            lines.append(f"  {title.replace('_', ' ')}: {told}")
    return "\n".join([*lines, *plan["reasons"], *(_CONFIRM if plan["needs_confirmation"] else ())])


_CONFIRM = ("With --confirm it is done all the same.",)


def show_cleaned(done: dict[str, Any]) -> str:
    """What was done, for people."""
    lines = [f"{done['archived']:,} archived, {done['purged']:,} purged for good."]
    if done["renewed"]:
        lines.append(f"{done['renewed']:,} were renewed meanwhile and stay.")
    if done["failed"]:
        lines.append(f"{done['failed']:,} could not be written; the next cleanup tries again.")
    waits = done["state"] == "needs confirmation"
    return "\n".join([*lines, *done["reasons"], *(_CONFIRM if waits else ())])


@click.group(cls=Commands)
def archive() -> None:
    """What is archived: search it, list it, bring memories back."""


@archive.command("search")
@click.argument("query")
@click.option("--limit", type=int, help="How many hits.")
@click.option("--type", "memory_types", type=click.Choice(_TYPES), multiple=True)
@as_agent
@as_json
def search_archive(
    query: str, agent: str | None, data: Path | None, json_output: bool, **options: Any
) -> None:
    """Find archived memories by meaning and words."""
    body = {"query": query} | {name: value for name, value in options.items() if value not in (None, ())}
    answer = call(lambda client: client.call("POST", "/api/v1/archive/search", body), agent, data)
    out(answer, json_output, show_hits)


@archive.command("list")
@click.option("--type", "memory_type", type=click.Choice(_TYPES))
@click.option("--month", help="Only of this month, for example 2026-05.")
@click.option("--expiring", is_flag=True, help="What is purged for good next, and when.")
@click.option("--limit", type=int, default=20, show_default=True)
@as_agent
@as_json
def list_archive(
    memory_type: str | None,
    month: str | None,
    expiring: bool,
    limit: int,
    agent: str | None,
    data: Path | None,
    json_output: bool,
) -> None:
    """List archived memories, newest first."""
    if expiring and (memory_type is not None or month is not None):
        raise InvalidInput("--expiring goes with neither --type nor --month.")
    path = "/api/v1/archive/expiring" if expiring else "/api/v1/archive"
    wanted: dict[str, Any] = {"memory_type": memory_type, "month": month, "limit": limit}
    answer = call(lambda client: client.call("GET", path, **wanted), agent, data)
    out(answer, json_output, show_expiring if expiring else show_shelf)


def show_shelf(answer: dict[str, Any]) -> str:
    """A page of the archive, for people."""
    months = ", ".join(f"{month} {count:,}" for month, count in answer["months"].items())
    if not answer["memories"]:
        return "Nothing like that is in the archive."
    told = show_memories(answer["memories"])
    return f"{told}\nby month: {months}" if months else told


def show_expiring(answer: dict[str, Any]) -> str:
    """What goes next, for people."""
    if not answer["memories"]:
        return "Nothing in the archive is ever purged, or there is nothing in it."
    rows = [
        [
            each["purge_at"],
            each["memory"]["archive_reason"],
            each["memory"]["id"],
            each["memory"]["text"][:60],
        ]
        for each in answer["memories"]
    ]
    return show_table(("purged", "reason", "id", "text"), rows)


@archive.command("restore")
@click.argument("ids", nargs=-1, required=True)
@click.option(
    "--ttl-days",
    type=float,
    callback=finite,
    help="Life from now in days, 0 = never expires; default by type.",
)
@as_agent
@as_json
def restore_archived(
    ids: tuple[str, ...], ttl_days: float | None, agent: str | None, data: Path | None, json_output: bool
) -> None:
    """Bring archived memories back; exit code 4 when one of them could not be."""
    body = {"ids": ids, "ttl_days": ttl_days}
    answer = call(lambda client: client.call("POST", "/api/v1/archive/restore", body), agent, data)
    out(answer, json_output, show_restored)
    sys.exit(0 if all(each["outcome"] in ("restored", "active") for each in answer["results"]) else 4)


def show_restored(answer: dict[str, Any]) -> str:
    """What became of each id, for people."""
    return show_table(("id", "outcome"), [[each["id"], each["outcome"]] for each in answer["results"]])
