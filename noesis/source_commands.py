"""The commands of sources and of the inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from noesis.commands import Commands, as_agent, as_json, call, out, quoted
from noesis.shown import show_freshness, show_inbox, show_sources

_DATA = click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")


@click.group(cls=Commands)
def source() -> None:
    """Folders whose files become memories: list, add, scan, forget."""


@source.command("list")
@_DATA
@as_json
def list_sources(data: Path | None, json_output: bool) -> None:
    """List the places that are followed."""
    answer = call(lambda client: client.call("GET", "/api/v1/sources"), None, data)
    out(answer, json_output, show_sources)


@source.command("add")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--agent", required=True, help="The agent whose memories its files are.")
@click.option("--kind", type=click.Choice(("markdown", "transcripts")), default="markdown", show_default=True)
@click.option("--label", help="What its memories name as their source; default: the folder's name.")
@click.option(
    "--vanished",
    type=click.Choice(("archive", "keep", "delete")),
    default="archive",
    show_default=True,
    help="What becomes of memories whose file is gone.",
)
@_DATA
@as_json
def add_source(
    path: Path, agent: str, kind: str, label: str | None, vanished: str, data: Path | None, json_output: bool
) -> None:
    """Follow a folder of Markdown, text or transcripts; the server must see it under this path."""
    body = {
        "agent_id": agent,
        "path": str(path.absolute()),
        "kind": kind,
        "label": label,
        "vanished": vanished,
    }
    answer = call(lambda client: client.call("POST", "/api/v1/sources", body), None, data)
    out(answer, json_output, lambda a: f"Followed as {a['label']}; the worker reads it now. Key: {a['key']}")


@source.command("scan")
@click.argument("key")
@click.option("--confirm-gone", is_flag=True, help="Files that vanished at once are meant to be gone.")
@_DATA
@as_json
def scan_source(key: str, confirm_gone: bool, data: Path | None, json_output: bool) -> None:
    """Have a place looked at now."""
    path = f"/api/v1/sources/{quoted(key)}/scan" + ("?confirm_gone=true" if confirm_gone else "")
    answer = call(lambda client: client.call("POST", path), None, data)
    out(answer, json_output, lambda a: f"Started: job {a['job_id']}")


@source.command("forget")
@click.argument("key")
@click.option("--archive", is_flag=True, help="Its documents' memories go to the archive.")
@_DATA
@as_json
def forget_source(key: str, archive: bool, data: Path | None, json_output: bool) -> None:
    """Follow a place no longer; what was read stays in memory unless --archive is given."""
    path = f"/api/v1/sources/{quoted(key)}" + ("?archive=true" if archive else "")
    answer = call(lambda client: client.call("DELETE", path), None, data)
    out(answer, json_output, lambda a: f"Forgotten; {a['archived']} memories went to the archive.")


@source.command("fresh")
@as_agent
@as_json
def freshness(agent: str | None, data: Path | None, json_output: bool) -> None:
    """Say how far memory is behind its files."""
    answer = call(lambda client: client.call("GET", "/api/v1/freshness"), agent, data)
    out(answer, json_output, show_freshness)


@click.group(cls=Commands)
def inbox() -> None:
    """Captured texts that wait for a person: list, approve, reject."""


@inbox.command("list")
@click.option("--limit", type=int, default=20, show_default=True)
@as_agent
@as_json
def list_inbox(limit: int, agent: str | None, data: Path | None, json_output: bool) -> None:
    """List what waits, newest first."""
    answer = call(lambda client: client.call("GET", f"/api/v1/inbox?limit={limit}"), agent, data)
    out(answer, json_output, show_inbox)


@inbox.command("approve")
@click.argument("waiting_id")
@click.option("--text", help="Store this text instead.")
@click.option("--always", is_flag=True, help="Let in what comes from there from now on.")
@as_agent
@as_json
def approve(
    waiting_id: str, text: str | None, always: bool, agent: str | None, data: Path | None, json_output: bool
) -> None:
    """Make a waiting text a memory."""
    body: dict[str, Any] = {"text": text, "always": always}
    path = f"/api/v1/inbox/{quoted(waiting_id)}/approve"
    answer = call(lambda client: client.call("POST", path, body), agent, data)
    out(answer, json_output, lambda a: f"Remembered: {a['id']}")


@inbox.command("reject")
@click.argument("waiting_id")
@as_agent
@as_json
def reject(waiting_id: str, agent: str | None, data: Path | None, json_output: bool) -> None:
    """Throw a waiting text away."""
    path = f"/api/v1/inbox/{quoted(waiting_id)}/reject"
    answer = call(lambda client: client.call("POST", path), agent, data)
    out(answer, json_output, lambda a: f"Thrown away: {a['id']}")
