"""The commands of backups: backup, backups, verify, restore, undo, and how they fetch from the bucket."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from noesis.client import Client, open_client
from noesis.commands import as_json, out, quoted
from noesis.errors import BucketFailed, Conflict, InvalidInput, NoesisError
from noesis.job_watching import ended, run_job, tell_megabytes
from noesis.settings import Settings, load
from noesis.shown import show_table

if TYPE_CHECKING:
    from noesis.backup.operation import Backups
    from noesis.backup.values import Wanted

_DATA = click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
_BUCKET = "s3://"
_PIECE = 1 << 20


class Failed(NoesisError):
    """The job failed, or a verification found something wrong."""

    code = "failed"
    title = "It failed"
    exit_code = 8


@click.command("backup")
@click.option("--new-key", type=Path, help="Only make a key file to encrypt backups to.")
@click.option("--fetch", help="Only fetch this backup from the bucket (NOESIS_BACKUP_S3_BUCKET) and list it.")
@_DATA
@as_json
def backup_command(new_key: Path | None, fetch: str | None, data: Path | None, json_output: bool) -> None:
    """Make a backup; it is opened and compared before it is listed, then copied to the bucket, if there is one."""
    if fetch is not None:
        fetched = _run(
            data,
            lambda work: work.fetch(fetch, tell_megabytes),
            lambda client: _job(client, "/api/v1/backups/fetch", {"name": fetch}),
        )
        out(
            fetched,
            json_output,
            lambda b: f"{b['name']} is here now, compared: `noesis restore {b['name']}`.",
        )
        return
    if new_key is not None:
        from noesis.backup.encryption import new_key as make_key

        made = {"key_file": str(new_key), "public_key": make_key(new_key)}
        out(
            made,
            json_output,
            lambda m: (
                f"Public key: {m['public_key']}\nSet NOESIS_BACKUP_KEY_FILE to {m['key_file']}, and keep a copy"
                " of that file elsewhere: without it no backup made from now on can be read."
            ),
        )
        return
    found = _run(
        data, lambda work: work.create(tell=tell_megabytes), lambda client: _job(client, "/api/v1/backups")
    )
    out(
        found,
        json_output,
        lambda b: f"{b['name']}: {b['memories']:,} memories, {b['size']:,} bytes, verified.",
    )
    if found.get("copy_error"):
        # The backup is good, and whoever runs this by a timer must hear of it all the same.
        click.echo(f"It was not copied to the bucket: {found['copy_error']}", err=True)
        sys.exit(BucketFailed.exit_code)


@click.command("backups")
@click.option("--bucket", is_flag=True, help="Ask the bucket what lies there now, of other instances too.")
@_DATA
@as_json
def backups_command(bucket: bool, data: Path | None, json_output: bool) -> None:
    """List the backups, newest first, and where each lies."""

    async def there(client: Client) -> Any:
        return (await client.call("GET", f"/api/v1/backups{'/bucket' if bucket else ''}"))["backups"]

    async def here(work: Backups) -> Any:
        from noesis.api.backups import view

        if bucket:
            return [view(each, (work.copies.address_of(each.name),)) for each in await work.copies.held()]
        return [view(each.backup, each.places) for each in await work.everywhere()]

    columns = ("name", "memories", "size", "kind", "verified_at", "proven_at", "places")
    out(
        _run(data, here, there),
        json_output,
        lambda found: (
            show_table(columns, [[_shown(each[column]) for column in columns] for each in found])
            if found
            else "There are no backups yet."
        ),
    )


@click.command("verify")
@click.argument("backup", required=False)
@_DATA
@as_json
def verify_command(backup: str | None, data: Path | None, json_output: bool) -> None:
    """Verify BACKUP (a name from the list, or a file); without one, the live store.

    Every row is hashed anew and every file compared.  Exit code 8 when anything is wrong.
    """

    async def here(work: Backups) -> Any:
        if backup is None:
            return await work.verify_live(tell_megabytes)
        file = _file_of(backup)
        return await (
            work.verify(backup, tell_megabytes) if file is None else work.verify_file(file, tell_megabytes)
        )

    async def there(client: Client) -> Any:
        path = "/api/v1/verify" if backup is None else f"/api/v1/backups/{quoted(backup)}/verify"
        return await _job(client, path)

    found = _run(data, here, there)
    out(found, json_output, _show_verified)
    if found["problems"]:
        sys.exit(Failed.exit_code)


@click.command("restore")
@click.argument("backup")
@click.option("--preview", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-safety-backup", is_flag=True, help="Make no backup of what is there now.")
@click.option("--foreign", is_flag=True, help="It is another instance's, and that is meant.")
@click.option("--agent", help="Only this agent's memories.")
@click.option("--source", help="Only memories of this source.")
@click.option("--id", "ids", multiple=True, help="Only this memory; may be given several times.")
@_DATA
@as_json
def restore_command(
    backup: str,
    preview: bool,
    yes: bool,
    no_safety_backup: bool,
    foreign: bool,
    agent: str | None,
    source: str | None,
    ids: tuple[str, ...],
    data: Path | None,
    json_output: bool,
) -> None:
    """Restore BACKUP (a name from the list, a file, or s3://…); `noesis undo` takes it back.

    Works on an empty machine from the file alone, or from the bucket.
    """
    part = {"agent_id": agent, "source": source, "ids": list(ids) or None}
    asked = {**part, "safety_backup": not no_safety_backup, "foreign": foreign}
    settings = load(os.environ, data=data)
    if preview or not (yes or json_output):
        looked = asyncio.run(_look(settings, backup, part, despite_damage=no_safety_backup))
        if preview:
            out(looked, json_output, _show_preview)
            return
        click.echo(_show_preview(looked), err=True)
        if not click.confirm("Restore?", err=True):
            raise Conflict("Nothing was restored.")
    out(asyncio.run(_restore(settings, backup, asked)), json_output, _show_restored)


@click.command("undo")
@_DATA
@as_json
def undo_command(data: Path | None, json_output: bool) -> None:
    """Undo the last restore or re-embedding; what was written since comes along."""
    found = _run(
        data,
        lambda work: work.undo(made_for=uuid.uuid4().hex),
        lambda client: _job(client, "/api/v1/restore/undo"),
    )
    out(found, json_output, _show_restored)


COMMANDS = (backup_command, backups_command, verify_command, restore_command, undo_command)


def _run(
    data: Path | None,
    here: Callable[[Backups], Awaitable[Any]],
    there: Callable[[Client], Awaitable[Any]],
) -> Any:
    """The answer as plain values, from the running server or from the store opened here."""
    return asyncio.run(_run_in(load(os.environ, data=data), here, there))


async def _run_in(
    settings: Settings,
    here: Callable[[Backups], Awaitable[Any]],
    there: Callable[[Client], Awaitable[Any]],
    *,
    despite_damage: bool = False,
) -> Any:
    if settings.url is not None:
        async with open_client(settings) as client:
            return await there(client)
    from noesis.runtime import open_backups

    async with open_backups(settings, despite_damage=despite_damage) as work:
        return msgspec.to_builtins(await here(work))


async def _look(settings: Settings, backup: str, part: dict[str, Any], *, despite_damage: bool) -> Any:
    async def here(work: Backups) -> Any:
        wanted = _wanted(part)
        path = await _found(work, backup)
        if wanted.whole:
            return {"preview": await work.preview(path, tell_megabytes)}
        return {"memories": await work.beside(path, wanted, tell=tell_megabytes)}

    async def there(client: Client) -> Any:
        name = await _sent(client, backup)
        asked = {"preview": True, **part}
        job = (await client.call("POST", f"/api/v1/backups/{quoted(name)}/restore", asked))["job_id"]
        await ended(client, job, tell_megabytes, failure=Failed)
        return await client.call("GET", f"/api/v1/backups/previews/{job}")

    return await _run_in(settings, here, there, despite_damage=despite_damage)


async def _restore(settings: Settings, backup: str, asked: dict[str, Any]) -> Any:
    async def here(work: Backups) -> Any:
        wanted = _wanted(asked)
        path = await _found(work, backup)
        if not wanted.whole:
            return await work.bring(path, wanted, "command line", tell_megabytes)
        return await work.restore(
            path,
            made_for=uuid.uuid4().hex,
            safety_backup=asked["safety_backup"],
            foreign=asked["foreign"],
            tell=tell_megabytes,
        )

    async def there(client: Client) -> Any:
        name = await _sent(client, backup)
        path = f"/api/v1/backups/{quoted(name)}/restore"
        return await _job(client, path, {"confirm": name, **asked})

    despite = not asked["safety_backup"]
    return await _run_in(settings, here, there, despite_damage=despite)


def _wanted(part: dict[str, Any]) -> Wanted:
    from noesis.backup.values import Wanted
    from noesis.text.normalise import agent_name

    agent = None if part["agent_id"] is None else agent_name(part["agent_id"])
    return Wanted(agent=agent, source=part["source"], ids=tuple(part["ids"] or ()))


async def _found(work: Backups, backup: str) -> Path:
    """The archive that is meant, fetched from the bucket where it lies there alone."""
    if backup.startswith(_BUCKET):
        return work.shelf.path((await work.fetch(backup, tell_megabytes)).name)
    return _file_of(backup) or work.shelf.path(backup)


def _file_of(backup: str) -> Path | None:
    """The file that is meant, or None for the name of a listed backup."""
    path = Path(backup)
    return path.absolute() if path.is_file() or path.name != backup else None


async def _sent(client: Client, backup: str) -> str:
    """The name by which a running server knows it; a file is sent there unless it has it."""
    if backup.startswith(_BUCKET):
        fetched = await _job(client, "/api/v1/backups/fetch", {"name": backup})
        return str(fetched["name"])
    file = _file_of(backup)
    if file is None:
        return backup
    known = {each["name"] for each in (await client.call("GET", "/api/v1/backups"))["backups"]}
    if file.name not in known:
        answers = client.stream_lines(f"/api/v1/backups/upload?name={quoted(file.name)}", _pieces(file))
        async for _ in answers:
            pass
    return file.name


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                yield piece
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.", field="backup") from error


async def _job(client: Client, path: str, body: dict[str, Any] | None = None) -> Any:
    return await run_job(client, path, body, tell=tell_megabytes, failure=Failed)


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in value)
    return "" if value is None else str(value)


def _show_verified(found: dict[str, Any]) -> str:
    head = f"{found['name']}: {found['rows']:,} rows in {found['files']:,} files, {found['bytes']:,} bytes"
    if not found["problems"]:
        return f"{head}. Everything is in order."
    return "\n".join([f"{head}. NOT in order:", *(f"  {problem}" for problem in found["problems"])])


def _show_preview(looked: dict[str, Any]) -> str:
    if looked.get("preview") is None:
        rows = [[each["state"], each["then"][:60], (each["now"] or "")[:60]] for each in looked["memories"]]
        return show_table(("state", "then", "now"), rows) if rows else "The backup has no such memories."
    preview = looked["preview"]
    found = preview["difference"]
    lines = [
        f"{found['added']:,} memories come back, {found['changed']:,} are set back to how they were,"
        f" {found['lost']:,} of today's go, {found['same']:,} stay as they are."
    ]
    if found["forgotten"]:
        lines.append(f"{found['forgotten']:,} were forgotten since and stay away.")
    if preview["foreign"]:
        lines.append("It is the backup of another instance.")
    if preview["other_model"]:
        lines.append("Its vectors are of another model: search goes by words until `noesis reembed`.")
    if preview["kept_as_now"]:
        lines.append(f"As now stay: {', '.join(preview['kept_as_now'])}.")
    return "\n".join(lines)


def _show_restored(done: dict[str, Any]) -> str:
    if "restored" in done:
        return (
            f"{done['restored']:,} memories were brought back, {done['same']:,} were as they are,"
            f" {done['forgotten']:,} stay forgotten."
        )
    found = done["difference"]
    lines = [
        f"{done['memories']:,} memories are there now: {found['added']:,} came back, {found['changed']:,} were"
        f" set back, {found['lost']:,} went. `noesis undo` takes it back."
    ]
    if done["safety_backup"]:
        lines.append(f"What was there before is in {done['safety_backup']} as well.")
    if done["carried"]:
        lines.append(f"{done['carried']:,} memories written since the restore came along.")
    return "\n".join(lines)
