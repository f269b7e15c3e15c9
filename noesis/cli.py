"""The command line."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from noesis import __version__
from noesis.backup_commands import COMMANDS as BACKUP_COMMANDS
from noesis.client import Client
from noesis.commands import Commands, as_agent, as_json, call, finite, out, quoted
from noesis.dedup_commands import COMMANDS as DEDUP_COMMANDS
from noesis.errors import SettingsError
from noesis.export_commands import export_command
from noesis.import_commands import import_command
from noesis.lasting import lasting
from noesis.mcp_commands import mcp_command
from noesis.oversight_commands import COMMANDS as OVERSIGHT_COMMANDS
from noesis.reembed_commands import reembed_command
from noesis.retention_commands import archive, cleanup
from noesis.settings import Settings, describe, load
from noesis.shown import show_hits, show_memories, show_memory, show_stats, show_table, show_verdict
from noesis.snapshot_commands import snapshot_command
from noesis.source_commands import inbox, source

T = TypeVar("T")

TYPES = ("fact", "decision", "preference", "context", "session")

EXIT_CODES = """\b
Exit codes: 0 done, 1 internal error, 2 wrong input or settings, 3 not allowed, 4 not found,
5 conflict, 6 too many requests, 7 embedder, 8 store, 9 server or queue not reachable."""


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="noesis")
def main() -> None:
    """Local-first semantic memory for AI agents.

    The commands that work with memories speak to NOESIS_URL when it is set, and else open the store
    in NOESIS_DATA themselves.
    """


@main.command()
@click.option("--data", type=Path, help="Directory that holds everything (NOESIS_DATA).")
@click.option("--host", help="Address to listen on (NOESIS_HOST).")
@click.option("--port", type=int, help="Port to listen on (NOESIS_PORT).")
def up(data: Path | None, host: str | None, port: int | None) -> None:
    """Run everything in one process: API, dashboard, worker and queue."""
    with lasting():
        from noesis.processes import serve_all

    _serve(lambda settings: serve_all(settings, click.echo), data=data, host=host, port=port)


@main.command()
@click.option("--data", type=Path, help="Directory that holds everything (NOESIS_DATA).")
@click.option("--host", help="Address to listen on (NOESIS_HOST).")
@click.option("--port", type=int, help="Port to listen on (NOESIS_PORT).")
def api(data: Path | None, host: str | None, port: int | None) -> None:
    """Run the API and the dashboard alone; needs a worker beside it."""
    with lasting():
        from noesis.processes import serve_api

    _serve(lambda settings: serve_api(settings, click.echo), data=data, host=host, port=port)


@main.command()
@click.option("--data", type=Path, help="Directory that holds everything (NOESIS_DATA).")
@click.option("--check", is_flag=True, help="Only say whether a worker is at work; exit code 1 when not.")
def worker(data: Path | None, check: bool) -> None:
    """Run the worker alone."""
    if check:
        from noesis.runtime import worker_is_there

        there = asyncio.run(worker_is_there(load(os.environ, data=data)))
        click.echo(
            "A worker is at work." if there else "No worker gave a sign of life within the last minute."
        )
        sys.exit(0 if there else 1)
    with lasting():
        from noesis.processes import serve_worker

    _serve(serve_worker, data=data)


def _serve(run: Callable[[Settings], Any], **options: Any) -> None:
    if options.get("port") is not None and not 1 <= options["port"] <= 65535:
        raise SettingsError("--port must lie between 1 and 65535.")
    asyncio.run(run(load(os.environ, **options)))


@main.command()
@click.argument("text", required=False)
@click.option("--type", "memory_type", type=click.Choice(TYPES), help="What kind of memory it is.")
@click.option("--priority", type=int, help="0 to 100; default by type.")
@click.option("--tag", "tags", multiple=True, help="May be given several times.")
@click.option("--ttl-days", type=float, callback=finite, help="Life in days, 0 = never expires.")
@click.option("--session", help="The session it belongs to.")
@click.option("--source", help="Where it comes from.")
@click.option("--bulk", type=click.File("rb"), help="NDJSON file, one memory a line; - for standard input.")
@as_agent
@as_json
def index(
    text: str | None, bulk: Any, agent: str | None, data: Path | None, json_output: bool, **options: Any
) -> None:
    """Store a memory; TEXT may be - for standard input."""
    if (text is None) == (bulk is None):
        raise click.UsageError("Give either TEXT or --bulk FILE.")
    if bulk is not None:
        counts = call(lambda client: _index_bulk(client, bulk, json_output), agent, data)
        out(
            counts,
            json_output,
            lambda c: f"{c['indexed']} indexed, {c['duplicates']} known already, {c['failed']} failed.",
        )
        sys.exit(2 if counts["failed"] else 0)
    body = {
        "text": sys.stdin.read() if text == "-" else text,
        "memory_type": options["memory_type"],
        "priority": options["priority"],
        "tags": options["tags"] or None,
        "ttl_days": options["ttl_days"],
        "session_id": options["session"],
        "source": options["source"],
    }
    answer = call(lambda client: client.call("POST", "/api/v1/memories", body), agent, data)
    out(answer, json_output, lambda a: f"{'Known already' if a['duplicate'] else 'Indexed'}: {a['id']}")


async def _index_bulk(client: Client, file: Any, quiet: bool) -> dict[str, int]:
    counts = {"indexed": 0, "duplicates": 0, "failed": 0}

    async def lines() -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(file.read, 1 << 16):
            yield piece

    async for answer in client.stream_lines("/api/v1/memories/bulk", lines()):
        if "detail" in answer:
            counts["failed"] += 1
            click.echo(f"line {answer['line']}: {answer['detail']}", err=True)
        else:
            counts["duplicates" if answer["duplicate"] else "indexed"] += 1
        done = sum(counts.values())
        if done % 1000 == 0 and not quiet:
            click.echo(f"{done} lines …", err=True)
    return counts


@main.command()
@click.argument("query")
@click.option("--limit", type=int, help="How many hits.")
@click.option("--mode", type=click.Choice(("hybrid", "vector", "keyword")), help="Which legs to use.")
@click.option("--type", "memory_types", type=click.Choice(TYPES), multiple=True)
@click.option("--tag", "tags", multiple=True)
@click.option("--session", help="Only this session.")
@click.option("--archive", type=click.Choice(("auto", "never", "only", "always")))
@click.option("--cross-agent", is_flag=True, help="Other agents' memories too.")
@click.option("--explain", is_flag=True, help="Say how each hit came by its score.")
@as_agent
@as_json
def search(query: str, agent: str | None, data: Path | None, json_output: bool, **options: Any) -> None:
    """Find memories by meaning and words."""
    body = {"query": query, "session_id": options.pop("session")}
    body |= {name: value for name, value in options.items() if value not in (None, ()) and value is not False}
    answer = call(lambda client: client.call("POST", "/api/v1/search", body), agent, data)
    out(answer, json_output, show_hits)


@main.command()
@click.argument("query")
@click.argument("memory_id")
@click.option("--limit", type=int, help="How many hits the search asked for.")
@click.option("--mode", type=click.Choice(("hybrid", "vector", "keyword")), help="Which legs it used.")
@click.option("--archive", type=click.Choice(("auto", "never", "only", "always")))
@as_agent
@as_json
def why_not(
    query: str, memory_id: str, agent: str | None, data: Path | None, json_output: bool, **options: Any
) -> None:
    """Say why a search did not find a memory."""
    body = {"query": query, "id": memory_id}
    body |= {name: value for name, value in options.items() if value is not None}
    answer = call(lambda client: client.call("POST", "/api/v1/search/why-not", body), agent, data)
    out(answer, json_output, show_verdict)


@main.command()
@click.option("--session", "session_id", help="Only this session.")
@click.option("--limit", type=int, default=20, show_default=True)
@as_agent
@as_json
def recall(
    session_id: str | None, limit: int, agent: str | None, data: Path | None, json_output: bool
) -> None:
    """List the newest memories."""
    body = {"session_id": session_id, "limit": limit}
    answer = call(lambda client: client.call("POST", "/api/v1/recall", body), agent, data)
    out(answer, json_output, lambda a: show_memories(a["memories"]))


@main.command()
@click.argument("memory_id")
@as_agent
@as_json
def get(memory_id: str, agent: str | None, data: Path | None, json_output: bool) -> None:
    """Show one memory whole."""
    answer = call(lambda client: client.call("GET", f"/api/v1/memories/{quoted(memory_id)}"), agent, data)
    out(answer, json_output, show_memory)


@main.command()
@as_agent
@as_json
def stats(agent: str | None, data: Path | None, json_output: bool) -> None:
    """Count memories and look at the disk."""
    out(call(lambda client: client.call("GET", "/api/v1/stats"), agent, data), json_output, show_stats)


@main.command()
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def doctor(data: Path | None, json_output: bool) -> None:
    """Check every part; exit code 1 when one is down."""
    report = call(lambda client: client.call("GET", "/health"), None, data)
    columns = ("name", "state", "summary", "still_works", "what_to_do")
    out(report, json_output, lambda r: show_table(columns, [[p[c] for c in columns] for p in r["parts"]]))
    sys.exit(1 if report["state"] == "down" else 0)


@main.command()
@as_json
def settings(json_output: bool) -> None:
    """List every setting with its default."""
    rows = [
        (name, "" if default is None else str(default), about.text)
        for name, (about, default) in describe().items()
    ]
    values = [{"name": name, "default": default, "meaning": text} for name, default, text in rows]
    out(values, json_output, lambda _: show_table(("name", "default", "meaning"), rows))


@main.command()
@click.option(
    "--data", type=Path, help="Labelled conversations: a file or a folder of them; default: the shipped set."
)
@click.option(
    "--store/--no-store",
    default=None,
    help="Measure the memories in NOESIS_DATA too, reading only; on where there are some.",
)
@click.option("--fit", type=Path, help="Fit the fusion to the data and write its weights to this file.")
@as_json
def bench(data: Path | None, store: bool | None, fit: Path | None, json_output: bool) -> None:
    """Measure on this machine how well and how fast search finds.

    The data is indexed into a store of its own, which is gone afterwards.
    """
    from noesis.measured import text
    from noesis.measuring import Wanted, measure

    wanted = Wanted(data, store, fit)
    report = asyncio.run(measure(load(os.environ), wanted, lambda line: click.echo(line, err=True)))
    out(report, json_output, text)


@main.group(cls=Commands)
def token() -> None:
    """Make, list and revoke tokens."""


@token.command("create")
@click.option("--scope", type=click.Choice(("agent", "gateway", "admin")), required=True, help="Its role.")
@click.option("--agent", "agents", multiple=True, help="The agent it is for; * for any (gateway).")
@click.option("--name", required=True, help="What it is for, in your words.")
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def create_token(
    scope: str, agents: tuple[str, ...], name: str, data: Path | None, json_output: bool
) -> None:
    """Make a token; it is printed this once."""
    body = {"role": scope, "agents": agents, "name": name}
    answer = call(lambda client: client.call("POST", "/api/v1/tokens", body), None, data)
    shown = {"id": answer["id"], "token": answer["token"]}
    out(
        shown,
        json_output,
        lambda a: (
            f"{a['token']}\nKeep it: it is not shown again. Revoke it with: noesis token revoke {a['id']}"
        ),
    )


@token.command("list")
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def list_tokens(data: Path | None, json_output: bool) -> None:
    """List the tokens that are not revoked."""
    answer = call(lambda client: client.call("GET", "/api/v1/tokens"), None, data)
    columns = ("id", "role", "name", "agents", "last_used_at")
    rows = [
        [t["id"], t["role"], t["name"], ", ".join(t["agents"]), t["last_used_at"] or "never"]
        for t in answer["tokens"]
    ]
    out(
        answer["tokens"],
        json_output,
        lambda _: show_table(columns, rows) if rows else "There are no tokens yet.",
    )


@token.command("revoke")
@click.argument("token_id")
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def revoke_token(token_id: str, data: Path | None, json_output: bool) -> None:
    """Make a token worthless for good."""
    call(lambda client: client.call("DELETE", f"/api/v1/tokens/{quoted(token_id)}"), None, data)
    out({"revoked": token_id}, json_output, lambda a: f"Revoked: {a['revoked']}")


main.add_command(source)
main.add_command(import_command)
main.add_command(export_command)
main.add_command(inbox)
main.add_command(mcp_command)
main.add_command(cleanup)
main.add_command(snapshot_command)
main.add_command(reembed_command)
main.add_command(archive)
for each in (*BACKUP_COMMANDS, *OVERSIGHT_COMMANDS, *DEDUP_COMMANDS):
    main.add_command(each)
