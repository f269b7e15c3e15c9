"""The command `import`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click
import msgspec

from noesis.client import Client, open_client
from noesis.commands import as_json, out
from noesis.errors import EmbedderMismatch, InvalidInput
from noesis.job_watching import Tell, ended, tell_counts
from noesis.settings import Settings, load

if TYPE_CHECKING:
    from noesis.importing.values import Recipients, What
    from noesis.runtime import Noesis

FORMATS = (
    "noesis",
    "original",
    "memory-core",
    "mem0",
    "mcp-memory-service",
    "basic-memory",
    "chatgpt",
    "claude",
    "markdown",
    "openclaw",
)

_PIECE = 1 << 18
_SHOWN_PROBLEMS = 5

Confirm = Callable[[dict[str, Any]], bool]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    path: Path | None
    agent: str | None
    everyone: bool
    format: str | None
    dry_run: bool
    model: str | None


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path), required=False)
@click.option("--agent", help="The agent whose memories these become (NOESIS_AGENT).")
@click.option("--all", "everyone", is_flag=True, help="Every agent: OpenClaw's, or those that entries name.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="The format; default: found out.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask before importing.")
@click.option("--db", "--data", "data", type=Path, help="Directory of the store (NOESIS_DATA).")
@click.option("--ollama", help="Make vectors with the Ollama at this address.")
@click.option("--model", help="The embedding model; must be the store's.")
@click.option("--chunk-size", type=int, help="Longest chunk in words (NOESIS_CHUNK_SIZE).")
@click.option("--chunk-overlap", type=int, help="Words two chunks share (NOESIS_CHUNK_OVERLAP).")
@as_json
def import_command(
    path: Path | None,
    agent: str | None,
    everyone: bool,
    format_: str | None,
    dry_run: bool,
    yes: bool,
    data: Path | None,
    json_output: bool,
    **vectors: Any,
) -> None:
    """Import memories from PATH, or without PATH from OpenClaw's own places.

    PATH is a file or folder: an export of Noesis, mem0, mcp-memory-service, ChatGPT or Claude, the store
    of the original plugin, OpenClaw's index or transcripts, notes of basic-memory, or any Markdown.
    What is there already is passed over, so that an import may be run again.
    """
    settings = load(os.environ, agent=agent, data=data, **_overrides(vectors))
    asked = Asked(
        path=path,
        agent=settings.agent,
        everyone=everyone,
        format=format_,
        dry_run=dry_run,
        model=vectors["model"],
    )
    _check(asked, settings, vectors)

    def confirm(plan: dict[str, Any]) -> bool:
        if not json_output or dry_run:
            out(plan, json_output, show_plan)
        return not dry_run and (yes or _agreed())

    work = _import_here if settings.url is None else _import_there
    done = asyncio.run(work(settings, asked, confirm, tell_counts))
    if done is not None:
        out(done, json_output, show_imported)


def _overrides(vectors: dict[str, Any]) -> dict[str, Any]:
    given = {name: vectors[name] for name in ("chunk_size", "chunk_overlap")}
    if vectors["ollama"] is not None:
        given |= {"embedder": "ollama", "ollama_url": vectors["ollama"], "embedding_model": vectors["model"]}
    return given


def _check(asked: Asked, settings: Settings, vectors: dict[str, Any]) -> None:
    """Raise a usage error for options that do not go together."""
    if asked.agent is None and not asked.everyone:
        raise click.UsageError("Say whose memories these become: --agent NAME, or --all.")
    if asked.path is None and asked.format is not None:
        raise click.UsageError("--format goes with a PATH.")
    if settings.url is not None and any(value is not None for value in vectors.values()):
        raise click.UsageError("With NOESIS_URL the server's own model and chunk sizes count.")
    if settings.url is not None and asked.path is not None and not asked.path.is_file():
        raise InvalidInput(
            "A running server takes a file: pack a folder as .zip or .tar.gz, or name a folder that the server"
            " sees in POST /api/v1/imports.",
            field="path",
        )


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody can be asked here: give --yes to import, or --dry-run to only look.")
    return click.confirm("Import?", err=True)


async def _import_here(
    settings: Settings, asked: Asked, confirm: Confirm, tell: Tell
) -> dict[str, Any] | None:
    # Imported here: a client of a running server must not pay for the store.
    from noesis.runtime import open_runtime

    async with open_runtime(settings) as noesis:
        await _check_model(noesis, asked.model)
        what, to = _wanted(asked)
        importing = noesis.inflow.importing
        plan = msgspec.to_builtins(await importing.plan(what, to))
        if not confirm(plan):
            return None
        done = await importing.run(what, to, tell, lambda: False)
        waiting = await noesis.filling.pending()
        return {**msgspec.to_builtins(done), "waiting_for_vectors": waiting}


def _wanted(asked: Asked) -> tuple[What, Recipients]:
    from noesis.importing.values import Recipients, What
    from noesis.sources.foreign import Format
    from noesis.text.normalise import agent_name

    agent = None if asked.agent is None else agent_name(asked.agent)
    if asked.path is None:
        return What(openclaw=True), Recipients(agent=None if asked.everyone else agent)
    kind = None if asked.format is None else Format(asked.format)
    what = What(path=str(asked.path.absolute()), format=kind, trusted=True)
    return what, Recipients(agent=agent, as_given=asked.everyone)


async def _check_model(noesis: Noesis, model: str | None) -> None:
    """Raise EmbedderMismatch unless the model that was named is the one whose vectors the store holds."""
    if model is None:
        return
    made_with = noesis.store.embedder or await noesis.embedder.identity()
    if made_with.model.removesuffix(":latest") != model.removesuffix(":latest"):
        raise EmbedderMismatch(
            f"The store's vectors are of {made_with.model}, and vectors of two models cannot be compared. Leave"
            " --model out, or re-embed the store with the other model first."
        )


async def _import_there(
    settings: Settings, asked: Asked, confirm: Confirm, tell: Tell
) -> dict[str, Any] | None:
    async with open_client(settings) as client:
        answer = await _ask(client, asked, apply=False)
        kept = answer.get("upload")
        if not confirm(answer["plan"]):
            if kept is not None:
                await client.call("DELETE", f"/api/v1/imports/upload/{kept}")
            return None
        if kept is None:
            answer = await _ask(client, asked, apply=True)
        else:
            answer = await client.call("POST", f"/api/v1/imports/upload/{kept}", None, **_said_of(asked))
        return await ended(
            client,
            answer["job_id"],
            tell,
            place="/api/v1/imports",
            cancelled="The import was cancelled; what was imported until then stays.",
        )


async def _ask(client: Client, asked: Asked, *, apply: bool) -> dict[str, Any]:
    if asked.path is None:
        openclaw: bool | str | None = True if asked.everyone else asked.agent
        answer: dict[str, Any] = await client.call(
            "POST", "/api/v1/imports", {"openclaw": openclaw, "apply": apply}
        )
        return answer
    # What is planned waits for the word to import it: a large file is sent once.
    query = {**_said_of(asked), "apply" if apply else "keep": "true"}
    lines = client.stream_lines(f"/api/v1/imports/upload?{urlencode(query)}", _pieces(asked.path))
    # The one answer is a line as well.
    return [answer async for answer in lines][-1]


def _said_of(asked: Asked) -> dict[str, str]:
    """What is said of a file that is sent."""
    assert asked.path is not None
    query = {"name": asked.path.name}
    if asked.format is not None:
        query["format"] = asked.format
    if asked.agent is not None:
        query["agent_id"] = asked.agent
    if asked.everyone:
        query["agents"] = "as given"
    return query


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", field="path") from error


def show_plan(plan: dict[str, Any]) -> str:
    """What would be done, for people."""
    lines = [
        f"Found: {', '.join(plan['formats'])}{'' if plan['whole'] else ' (only the beginning was looked at)'}"
    ]
    lines += [
        f"  {place['agent']}: {place['label']} ({place['kind']}), {place['waiting']:,} of {place['files']:,} files to read"
        for place in plan["places"]
    ]
    lines.append(
        f"{plan['entries']:,} entries: {plan['new']:,} new memories ({plan['archived']:,} to the archive),"
        f" {plan['changed']:,} changed, {plan['already']:,} there already, {plan['errors']:,} that cannot be"
        " imported."
    )
    lines += _counts("by agent", plan["by_agent"]) + _counts("by type", plan["by_type"])
    lines += _counts("left out", plan["left_out"])
    return "\n".join([*lines, *_problems(plan)])


def show_imported(done: dict[str, Any]) -> str:
    """What was done, for people."""
    lines = [
        f"Import complete: {done['indexed']:,} indexed, {done['archived']:,} to the archive, {done['changed']:,}"
        f" changed, {done['duplicates']:,} there already, {done['skipped']:,} skipped, {done['errors']:,} errors."
    ]
    if done["held"]:
        lines.append(f"{done['held']:,} wait for you: noesis inbox list")
    if done.get("waiting_for_vectors"):
        lines.append(f"{done['waiting_for_vectors']:,} texts wait for their vectors; the worker makes them.")
    lines += _counts("by agent", done["by_agent"]) + _counts("skipped", done["reasons"])
    return "\n".join([*lines, *_problems(done)])


def _counts(title: str, counts: dict[str, int]) -> list[str]:
    told = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()) if count)
    return [f"  {title}: {told}"] if told else []


def _problems(answer: dict[str, Any]) -> list[str]:
    lines = [f"  {each['place']}: {each['reason']}" for each in answer["problems"][:_SHOWN_PROBLEMS]]
    more = answer["errors"] - len(lines)
    return [*lines, f"  … and {more:,} more"] if more > 0 and lines else lines
