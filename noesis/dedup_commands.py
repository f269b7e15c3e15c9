"""The commands of duplicates and of supersession."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from noesis.client import open_client
from noesis.commands import Commands, as_agent, as_json, call, out, quoted
from noesis.job_watching import ended, tell_counts
from noesis.settings import Settings, load

_TYPES = ("fact", "decision", "preference", "context", "session")
_KINDS = ("exact", "near", "newer")
_DECISIONS = ("merge", "keep_both", "delete", "supersede")
_TEXT_CHARS = 200


@click.group("dedup", cls=Commands, invoke_without_command=True)
@click.option("--threshold", type=float, default=0.9, show_default=True, help="Least cosine of two vectors.")
@click.option("--type", "memory_type", type=click.Choice(_TYPES), help="Only memories of this type.")
@click.option("--dry-run", is_flag=True, help="Keep no report.")
@as_agent
@as_json
@click.pass_context
def dedup(
    context: click.Context, /, agent: str | None, data: Path | None, json_output: bool, **wanted: Any
) -> None:
    """Look for memories that say the same, of one agent with --agent, else of each.

    Nothing is changed: `dedup list` shows what was found, `dedup decide` settles it.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load(os.environ, agent=agent, data=data)
    work = _look_here if settings.url is None else _look_there
    out(asyncio.run(work(settings, wanted)), json_output, show_done)


async def _look_here(settings: Settings, wanted: dict[str, Any]) -> dict[str, Any]:
    # Imported here: a client of a running server must not pay for the store.
    import msgspec

    from noesis.duplicates.values import Wanted
    from noesis.runtime import open_runtime
    from noesis.text.normalise import agent_name

    agent = None if settings.agent is None else agent_name(settings.agent)
    async with open_runtime(settings) as noesis:
        done = await noesis.duplicates.look(
            agent, msgspec.convert(wanted, Wanted), tell_counts, lambda: False
        )
        return msgspec.to_builtins(done)  # type: ignore[no-any-return]


async def _look_there(settings: Settings, wanted: dict[str, Any]) -> dict[str, Any]:
    async with open_client(settings) as client:
        answer = await client.call("POST", "/api/v1/dedup", wanted)
        return await ended(
            client, answer["job_id"], tell_counts, cancelled="The look for duplicates was cancelled."
        )


@dedup.command("list")
@click.option("--kind", type=click.Choice(_KINDS), help="Only findings of this kind.")
@click.option("--limit", type=int, default=20, show_default=True)
@as_agent
@as_json
def list_findings(
    kind: str | None, limit: int, agent: str | None, data: Path | None, json_output: bool
) -> None:
    """Show what was found and waits for a decision."""
    query = {"limit": limit} | ({} if kind is None else {"kind": kind})
    answer = call(lambda client: client.call("GET", f"/api/v1/dedup?{urlencode(query)}"), agent, data)
    out(answer, json_output, show_findings)


@dedup.command("decide")
@click.argument("finding_id")
@click.argument("decision", type=click.Choice(_DECISIONS))
@click.option("--keep", help="The memory to keep; default: the one proposed.")
@as_agent
@as_json
def decide(
    finding_id: str, decision: str, keep: str | None, agent: str | None, data: Path | None, json_output: bool
) -> None:
    """Settle a finding: merge, keep_both, delete the others, or supersede them."""
    path = f"/api/v1/dedup/{quoted(finding_id)}"
    body = {"decision": decision, "keep": keep}
    answer = call(lambda client: client.call("POST", path, body), agent, data)
    out(answer, json_output, lambda a: f"{a['state']}: {a['kept']} stays; {', '.join(a['others'])}")


@click.command()
@click.argument("memory_id")
@click.argument("by", required=False)
@click.option("--undo", is_flag=True, help="Take it back; BY is not needed then.")
@as_agent
@as_json
def supersede(
    memory_id: str, by: str | None, undo: bool, agent: str | None, data: Path | None, json_output: bool
) -> None:
    """Say that the memory BY replaces MEMORY_ID, which stays and ranks below it."""
    if (by is None) != undo:
        raise click.UsageError("Give either BY or --undo.")
    path = f"/api/v1/memories/{quoted(memory_id)}/supersede"
    method, body = ("DELETE", None) if undo else ("POST", {"by": by})
    answer = call(lambda client: client.call(method, path, body), agent, data)
    word = "no longer superseded by" if undo else "superseded by"
    out(answer, json_output, lambda a: f"{a['id']} is {word} {a['superseded_by']}")


def show_done(done: dict[str, Any]) -> str:
    """What a look found, for people."""
    lines = [
        f"{each['agent']}: {each['checked']:,} memories looked at, {each['exact']:,} groups with the same words,"
        f" {each['near']:,} that say the same, {each['newer']:,} newer statements."
        for each in done["reports"]
    ]
    lines += [
        f"  {each['kind']} {each['similarity']:.2f}: {', '.join(member['id'] for member in each['members'])}"
        for each in (with_similarity(finding) for finding in done["findings"])
    ]
    if not done["reports"]:
        lines.append("There are no memories yet.")
    elif any(each["stored"] for each in done["reports"]):
        lines.append("See them with: noesis dedup list")
    return "\n".join(lines)


def with_similarity(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding with the least cosine of its members."""
    return finding | {"similarity": min(member["similarity"] for member in finding["members"])}


def show_findings(answer: dict[str, Any]) -> str:
    """What waits, for people: the memory to keep first."""
    if not answer["findings"]:
        return "Nothing waits. Look for duplicates with: noesis dedup"
    blocks = []
    for finding in answer["findings"]:
        lines = [f"{finding['id']}  {finding['kind']} {finding['similarity']:.2f} {finding['agent_id']}"]
        for member in finding["members"]:
            mark = "keep" if member["keep"] else "    "
            text = " ".join(member["memory"]["text"].split())[:_TEXT_CHARS]
            lines.append(f"  {mark} {member['memory']['id']}  {text}")
            if member["reason"]:
                lines.append(f"       {member['reason']}")
        lines.append(f"  decide: {', '.join(finding['decisions'])}")
        blocks.append("\n".join(lines))
    more = [] if answer["cursor"] is None else ["There are more; see them with --limit."]
    return "\n\n".join([*blocks, *more])


COMMANDS = (dedup, supersede)
