"""The commands of the history, of acts on one or many memories, and of forgetting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from noesis.client import Client
from noesis.commands import as_agent, as_json, call, finite, out, quoted
from noesis.errors import InvalidInput
from noesis.settings import load
from noesis.shown import show_memory, show_table

_MEMORIES = "/api/v1/memories"
_TYPES = click.Choice(("fact", "decision", "preference", "context", "session"))
_PAGE = 200

_FILTERS = (
    click.option("--session", "session_id", help="Only of this session."),
    click.option("--source", help="Only from this source."),
    click.option("--type", "memory_type", type=_TYPES, help="Only of this type."),
    click.option("--tag", help="Only with this tag."),
    click.option("--min-age-days", type=float, callback=finite, help="Only those at least so old."),
    click.option("--max-age-days", type=float, callback=finite, help="Only those at most so old."),
    click.option("--archived", is_flag=True, help="Of the archive instead of the active ones."),
    click.option("--all", "everything", is_flag=True, help="All of the agent that --agent names."),
    click.option("--confirm", "confirm_count", type=int, help="Yes, if it is exactly so many."),
)
_FILTER_NAMES = ("session_id", "source", "memory_type", "tag", "min_age_days", "max_age_days", "archived")


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which memories are meant."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.command()
@click.argument("memory_id")
@as_agent
@as_json
def history(memory_id: str, agent: str | None, data: Path | None, json_output: bool) -> None:
    """Say what happened to a memory, when, by whom and why."""

    async def read(client: Client) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        cursor = None
        while True:
            path = f"{_MEMORIES}/{quoted(memory_id)}/history"
            page = await client.call("GET", path, limit=_PAGE, cursor=cursor)
            events += page["events"]
            cursor = page["cursor"]
            if cursor is None:
                return events

    out(call(read, agent, data), json_output, _show_history)


def _show_history(events: list[dict[str, Any]]) -> str:
    if not events:
        return "Nothing was noted yet."
    rows = [
        [
            event["at"],
            event["kind"],
            event["actor"] or "",
            "; ".join(filter(None, [event["because"], *map(_show_changed, event["changed"])])),
        ]
        for event in events
    ]
    return show_table(("when", "what", "by", "how"), rows)


def _show_changed(changed: dict[str, Any]) -> str:
    if changed["field"] == "text":
        return "text"
    old, new = (
        ", ".join(value) if isinstance(value, list) else value for value in (changed["old"], changed["new"])
    )
    return f"{changed['field']}: {old} → {new}"


@click.command()
@click.argument("memory_id", required=False)
@_filters
@click.option("--undo", is_flag=True, help="Bring it back.")
@as_agent
@as_json
def delete(
    memory_id: str | None, undo: bool, agent: str | None, data: Path | None, json_output: bool, **options: Any
) -> None:
    """Take a memory, or all that fit some filters, out of every answer; --undo brings one back.

    With filters it says how many those are, and deletes them with --confirm and that number.
    """
    if memory_id is None:
        if undo:
            raise click.UsageError("--undo brings back one memory: name its id.")
        params = _wanted(options, agent)
        answer = call(
            lambda client: client.call(
                "DELETE", _MEMORIES, None, **params, confirm_count=options["confirm_count"]
            ),
            agent,
            data,
        )
        out(answer, json_output, lambda a: _show_bulk(a, "deleted"))
        return
    _refuse_filters(options)
    path = f"{_MEMORIES}/{quoted(memory_id)}"
    method, path = ("POST", f"{path}/undelete") if undo else ("DELETE", path)
    answer = call(lambda client: client.call(method, path), agent, data)
    out(answer, json_output, lambda a: f"{'Back' if undo else 'Deleted'}: {a['id']}")


@click.command()
@click.argument("memory_id", required=False)
@_filters
@click.option("--priority", type=int, help="Its new priority, 0 to 100.")
@click.option("--ttl-days", type=float, callback=finite, help="Its life from now in days, 0 = never expires.")
@click.option("--to-type", type=_TYPES, help="Its new type.")
@click.option("--pin/--unpin", "pinned", default=None, help="Let it never expire, or expire again.")
@click.option("--add-tag", "add_tags", multiple=True, help="May be given several times.")
@click.option("--remove-tag", "remove_tags", multiple=True, help="May be given several times.")
@as_agent
@as_json
def edit(
    memory_id: str | None, agent: str | None, data: Path | None, json_output: bool, **options: Any
) -> None:
    """Change a memory, or all that fit some filters.

    With filters it says how many those are, and changes them with --confirm and that number.
    """
    changes = {
        "priority": options["priority"],
        "ttl_days": options["ttl_days"],
        "memory_type": options["to_type"],
        "pinned": options["pinned"],
        "add_tags": list(options["add_tags"]) or None,
        "remove_tags": list(options["remove_tags"]) or None,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    if memory_id is None:
        body = {
            "filter": _as_body(_wanted(options, agent)),
            "changes": changes,
            "confirm_count": options["confirm_count"],
        }
        answer = call(lambda client: client.call("PATCH", _MEMORIES, body), agent, data)
        out(answer, json_output, lambda a: _show_bulk(a, "changed"))
        return
    _refuse_filters(options)
    out(call(lambda client: _edit_one(client, memory_id, changes), agent, data), json_output, show_memory)


async def _edit_one(client: Client, memory_id: str, changes: dict[str, Any]) -> Any:
    path = f"{_MEMORIES}/{quoted(memory_id)}"
    added, removed = changes.pop("add_tags", []), changes.pop("remove_tags", [])
    if added or removed:
        tags = (await client.call("GET", path))["tags"]
        changes["tags"] = [tag for tag in [*tags, *added] if tag not in removed]
    return await client.call("PATCH", path, changes)


def _wanted(options: dict[str, Any], agent: str | None) -> dict[str, Any]:
    """The filters that were given.  Raises InvalidInput when --all does not say of whom."""
    wanted = {name: options[name] for name in _FILTER_NAMES if options[name] not in (None, False)}
    if options["everything"]:
        whose = load(os.environ, agent=agent).agent
        if whose is None:
            raise InvalidInput("--all needs --agent: whose memories are meant?", field="agent")
        wanted["agent_id"] = whose
    return wanted


def _as_body(wanted: dict[str, Any]) -> dict[str, Any]:
    """The filters as a JSON body has them, where types and tags are lists."""
    lists = {"memory_type": "memory_types", "tag": "tags"}
    return {lists.get(name, name): [value] if name in lists else value for name, value in wanted.items()}


def _refuse_filters(options: dict[str, Any]) -> None:
    names = (*_FILTER_NAMES, "everything", "confirm_count")
    if any(options[name] not in (None, False) for name in names):
        raise click.UsageError("Give either an id or filters.")


def _show_bulk(answer: dict[str, Any], done: str) -> str:
    count = answer["count"]
    if answer["applied"]:
        rest = f" {answer['left_out']} could not be." if answer["left_out"] else ""
        return f"{count} {done}.{rest}"
    lines = [f"{count} fit; nothing was {done}. With --confirm {count} they are."]
    return "\n".join([*lines, *answer["sample"], *(["…"] if count > len(answer["sample"]) else [])])


@click.command()
@click.option("--source", help="All that came from this source.")
@click.option("--session", "session_id", help="All of this session.")
@click.option("--confirm", "confirm_count", type=int, help="Yes, if it is exactly so many.")
@click.option("--list", "listed", is_flag=True, help="List what was forgotten.")
@click.option("--lift", "lifted", metavar="ID", help="Admit again what was forgotten under this id.")
@as_agent
@as_json
def forget(
    listed: bool, lifted: str | None, agent: str | None, data: Path | None, json_output: bool, **options: Any
) -> None:
    """Remove all of a source or a session for good; no scan and no import brings it back.

    It says how many memories those are, and forgets them with --confirm and that number. There is no undo.
    """
    if listed:
        answer = call(lambda client: client.call("GET", "/api/v1/forgotten"), agent, data)
        out(answer, json_output, _show_forgotten)
    elif lifted is not None:
        path = f"/api/v1/forgotten/{quoted(lifted)}"
        answer = call(lambda client: client.call("DELETE", path), agent, data)
        out(answer, json_output, lambda a: f"The {a['kind']} {a['value']} may come back.")
    else:
        answer = call(lambda client: client.call("POST", "/api/v1/forget", options), agent, data)
        out(answer, json_output, _show_forgot)


def _show_forgot(answer: dict[str, Any]) -> str:
    count = answer["count"]
    if not answer["applied"]:
        return f"{count} memories are of it; nothing was forgotten. With --confirm {count} they go for good."
    return f"{count} forgotten. Backups and pushed snapshots from before still hold them."


def _show_forgotten(answer: dict[str, Any]) -> str:
    columns = ("id", "agent_id", "kind", "value", "at", "by", "memories")
    rows = [[stone[name] for name in columns] for stone in answer["forgotten"]]
    return show_table(columns, rows) if rows else "Nothing was forgotten."


COMMANDS = (history, delete, edit, forget)
