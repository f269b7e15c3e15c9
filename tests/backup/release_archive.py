"""Makes the archive of this release that tests of all later ones restore: `python -m tests.backup.release_archive`.

Run it once for each release, before its number changes; an archive that is there is never made again.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import msgspec

from noesis import __version__
from noesis.editing import Edit
from noesis.memory import Memory, MemoryType, NewMemory, Role, Scope
from noesis.rows import by_memory, to_memory
from noesis.runtime import Noesis
from noesis.store.filters import EVERYTHING
from tests.support import running

RELEASES = Path(__file__).resolve().parents[1] / "data" / "releases"
SECRET_NAME = "release"
LONG = " ".join(f"Chapter {number} tells of the island and of {number} boats." for number in range(400))


class Expected(msgspec.Struct, frozen=True):
    """What a restore of the archive has to bring back."""

    memories: list[Memory]
    token: str
    superseded: dict[str, str]


async def fill(noesis: Noesis) -> Expected:
    """Something of everything that a store can hold."""
    alpha, beta = (Scope(name, Role.AGENT, actor="release") for name in ("alpha", "beta"))
    for scope, new in (
        (alpha, NewMemory(text="The spare key hangs by the back door", tags=("home", "keys"))),
        (alpha, NewMemory(text="We chose PostgreSQL", memory_type=MemoryType.DECISION, priority=77)),
        (alpha, NewMemory(text="We chose SQLite after all", memory_type=MemoryType.DECISION)),
        (alpha, NewMemory(text=LONG, memory_type=MemoryType.CONTEXT, ttl_days=0)),
        (
            alpha,
            NewMemory(text="Der Zug fährt um 8 Uhr: 日本語も", session_id="s1", author="Bob", position=3),
        ),
        (beta, NewMemory(text="Beta drinks tea", memory_type=MemoryType.PREFERENCE)),
        (beta, NewMemory(text="This one is deleted")),
    ):
        await noesis.indexing.index(scope, new)
    found = {memory.text: memory.id for memory in await memories(noesis)}
    await noesis.editing.edit(alpha, found["The spare key hangs by the back door"], Edit(priority=91))
    await noesis.editing.delete(beta, found["This one is deleted"])
    old, new_id = found["We chose PostgreSQL"], found["We chose SQLite after all"]
    await noesis.superseding.link(alpha, old, new_id)
    _, secret = await noesis.tokens.create(Role.AGENT, ["alpha"], SECRET_NAME)
    return Expected(await memories(noesis), secret, {old: new_id})


async def memories(noesis: Noesis) -> list[Memory]:
    """Every memory of both tables, in order of ids."""
    found = [await table.rows(EVERYTHING) for table in (noesis.store.active, noesis.store.archive)]
    whole = by_memory(row for rows in found for row in rows)
    return sorted((to_memory(rows) for rows in whole.values()), key=lambda memory: memory.id)


async def make(directory: Path) -> None:
    """Fill a product and put its backup, and what it holds, among the releases."""
    async with running(directory) as product:
        expected = await fill(product.noesis)
        backup = await product.noesis.backups.create()
        RELEASES.mkdir(exist_ok=True)
        shutil.copyfile(product.noesis.backups.shelf.path(backup.name), RELEASES / f"{__version__}.tar.gz")
    written = msgspec.json.format(msgspec.json.encode(expected))
    (RELEASES / f"{__version__}.json").write_bytes(written)


def main() -> None:
    """Make it, unless it is there."""
    if (RELEASES / f"{__version__}.tar.gz").exists():
        raise SystemExit(f"The archive of {__version__} is there and stays as it is.")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(make(Path(folder) / "data"))


if __name__ == "__main__":
    main()
