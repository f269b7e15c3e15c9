"""The command `export`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click
import msgspec

from noesis.client import open_client
from noesis.commands import as_json, out
from noesis.errors import InvalidInput, StoreError, StoreFull
from noesis.settings import Settings, load

if TYPE_CHECKING:
    from noesis.exporting.values import Wanted

TYPES = ("fact", "decision", "preference", "context", "session")

_TELL_EVERY = 1000


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for, by the names of the API's parameters."""

    format: str
    memory_type: tuple[str, ...]
    tag: tuple[str, ...]
    session_id: str | None
    source: str | None
    after: datetime | None
    before: datetime | None
    archive: str
    deleted: bool
    vectors: bool


class Portion(msgspec.Struct, frozen=True):
    """Some bytes, how many memories are out with them (None: not known), and how many there will be."""

    data: bytes
    done: int | None
    total: int


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--agent", help="The agent whose memories go out (NOESIS_AGENT).")
@click.option("--all", "everyone", is_flag=True, help="Every agent's memories.")
@click.option(
    "--format", type=click.Choice(("ndjson", "json", "markdown")), help="Default: by FILE's ending."
)
@click.option("--type", "memory_type", type=click.Choice(TYPES), multiple=True)
@click.option("--tag", multiple=True, help="May be given several times: all of them.")
@click.option("--session", "session_id", help="Only this session.")
@click.option("--source", help="Only from this source.")
@click.option("--after", type=click.DateTime(), help="Created at this time (UTC) or later.")
@click.option("--before", type=click.DateTime(), help="Created before this time (UTC).")
@click.option("--archive", type=click.Choice(("none", "only", "both")), default="both", show_default=True)
@click.option("--deleted", is_flag=True, help="Also what was deleted and can still be brought back.")
@click.option("--vectors", is_flag=True, help="Vectors too (ndjson only).")
@click.option("--data", type=Path, help="Directory of the store (NOESIS_DATA).")
@as_json
def export_command(
    file: Path, agent: str | None, everyone: bool, data: Path | None, json_output: bool, **asked: Any
) -> None:
    """Write memories to FILE, or with - to standard output.

    The archive is part of it. `noesis import` reads every form back: ndjson is the one to keep, json is
    the array that the original plugin's export was, markdown a .tar.gz with a file for each memory.
    """
    settings = load(os.environ, agent=agent, data=data)
    if (settings.agent is None) == (not everyone):
        raise click.UsageError("Say whose memories: --agent NAME, or --all.")
    if everyone:
        settings = msgspec.structs.replace(settings, agent=None)
    wanted = Asked(**asked | {"format": asked["format"] or format_of(file)})
    to_screen = str(file) == "-"
    tell = _quiet if json_output or not sys.stderr.isatty() else _tell
    done = asyncio.run(_export(settings, wanted, sys.stdout.buffer if to_screen else file, tell))
    if not to_screen:
        out(done, json_output, lambda d: f"{d['memories']:,} memories, {d['bytes']:,} bytes: {d['file']}")


def format_of(file: Path) -> str:
    """The form that a file's name asks for."""
    name = file.name.lower()
    if name.endswith((".tar.gz", ".tgz")):
        return "markdown"
    return "json" if name.endswith(".json") else "ndjson"


async def _export(
    settings: Settings, asked: Asked, target: Path | BinaryIO, tell: Callable[[Portion], None]
) -> dict[str, Any]:
    portions = _from_here if settings.url is None else _from_there
    async with portions(settings, asked) as found:
        if not isinstance(target, Path):
            written, total = await _write(found, target, tell)
            return {"memories": total, "bytes": written}
        # Under another name until it is whole: half an export must not look like one.
        partial = target.with_name(f"{target.name}.partial")
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                written, total = await _write(found, file, tell)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise _cannot_write(target, error) from error
        return {"memories": total, "bytes": written, "file": str(target)}


async def _write(
    portions: AsyncIterator[Portion], file: BinaryIO, tell: Callable[[Portion], None]
) -> tuple[int, int]:
    written = total = 0
    async for portion in portions:
        await asyncio.to_thread(file.write, portion.data)
        written += len(portion.data)
        total = portion.total
        tell(portion)
    return written, total


def _cannot_write(target: Path, error: OSError) -> StoreError | InvalidInput:
    if error.errno == 28:
        return StoreFull(f"There is no room left for {target.name}; it was not written.")
    return InvalidInput(f"{target.name} cannot be written: {error.strerror}.", field="file")


@asynccontextmanager
async def _from_here(settings: Settings, asked: Asked) -> AsyncIterator[AsyncIterator[Portion]]:
    # Imported here: a client of a running server must not pay for the store.
    from noesis.exporting.values import Shape
    from noesis.memory import Role, Scope
    from noesis.runtime import open_runtime

    async with open_runtime(settings) as noesis:
        scope = Scope(agent=settings.agent, role=Role.ADMIN, actor="command line")
        async with noesis.exporting.open(scope, _wanted(asked), Shape(asked.format)) as export:
            total = export.outline.memories
            yield (Portion(each.data, each.memories, total) async for each in export.portions)


def _wanted(asked: Asked) -> Wanted:
    from noesis.exporting.values import Stage, Wanted
    from noesis.memory import MemoryFilter, MemoryType, check_tags, to_ms

    wanted = MemoryFilter(
        memory_types=tuple(MemoryType(each) for each in asked.memory_type),
        tags=check_tags(asked.tag),
        session_id=asked.session_id,
        source=asked.source,
        after=None if asked.after is None else to_ms(_utc(asked.after), "after"),
        before=None if asked.before is None else to_ms(_utc(asked.before), "before"),
    )
    return Wanted(filter=wanted, archive=Stage(asked.archive), deleted=asked.deleted, vectors=asked.vectors)


@asynccontextmanager
async def _from_there(settings: Settings, asked: Asked) -> AsyncIterator[AsyncIterator[Portion]]:
    values = msgspec.structs.asdict(asked)
    times = {name: _utc(values[name]).isoformat() for name in ("after", "before") if values[name] is not None}
    flags = {name: "true" for name in ("deleted", "vectors") if values[name]}
    asked_for = {
        name: values[name] for name in ("format", "memory_type", "tag", "session_id", "source", "archive")
    }
    async with (
        open_client(settings) as client,
        client.stream_bytes("/api/v1/export", {**asked_for, **times, **flags}) as (headers, pieces),
    ):
        yield _counted(pieces, int(headers.get("x-noesis-memories", "0")), lines=asked.format != "markdown")


async def _counted(pieces: AsyncIterator[bytes], total: int, *, lines: bool) -> AsyncIterator[Portion]:
    """Each piece with how far it is; both forms of JSON have one line before the first memory ends."""
    seen = 0
    async for piece in pieces:
        seen += piece.count(b"\n")
        yield Portion(piece, min(max(seen - 1, 0), total) if lines else None, total)


def _utc(time: datetime) -> datetime:
    from datetime import UTC

    return time.replace(tzinfo=UTC)


def _quiet(_portion: Portion) -> None:
    """Tell nobody."""


def _tell(portion: Portion) -> None:
    if portion.done is not None:
        click.echo(
            f"\r{portion.done:,} of {portion.total:,} memories", err=True, nl=portion.done == portion.total
        )
