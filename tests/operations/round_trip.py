"""An export of everything, imported where it came from and into an empty store."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from noesis.exporting.values import Shape, Wanted
from noesis.importing.values import Imported, Recipients, What
from noesis.memory import Memory, Role, Scope
from noesis.rows import by_memory, to_memory
from noesis.runtime import Noesis
from noesis.store.filters import EVERYTHING
from tests.support import Clock, WordEmbedder, running

EVERYBODY = Scope(None, Role.ADMIN, actor="test")


async def export_to(noesis: Noesis, file: Path) -> set[str]:
    """Write all memories, the deleted ones too, and give the ids that went out; each has to go out once."""
    async with noesis.exporting.open(EVERYBODY, Wanted(deleted=True), Shape.NDJSON) as export:
        file.write_bytes(b"".join([portion.data async for portion in export.portions]))
    header, *lines = map(json.loads, file.read_bytes().splitlines())
    ids = {str(line["id"]) for line in lines}
    assert header["memories"] == len(lines) == len(ids)
    return ids


async def import_from(noesis: Noesis, file: Path) -> Imported:
    """Import a file for the agents that it names."""
    what, to = What(path=str(file), trusted=True), Recipients(as_given=True)
    return await noesis.inflow.importing.run(what, to, lambda _done, _total: None, lambda: False)


async def everything(noesis: Noesis) -> dict[str, Memory]:
    """All memories of both tables by id."""
    tables = (noesis.store.active, noesis.store.archive)
    rows = [row for table in tables for row in await table.rows(EVERYTHING)]
    return {memory_id: to_memory(chunks) for memory_id, chunks in by_memory(rows).items()}


async def round_trip(
    noesis: Noesis, embedder: WordEmbedder, clock: Clock, environ: dict[str, str]
) -> tuple[set[str], Imported, dict[str, Memory]]:
    """The ids that went out, what an import into the same store did, and what an empty store then holds."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "all.ndjson"
        ids = await export_to(noesis, file)
        again = await import_from(noesis, file)
        empty = Path(directory) / "empty"
        async with running(empty, embedder=embedder, clock=clock, environ=environ) as other:
            await import_from(other.noesis, file)
            return ids, again, await everything(other.noesis)
