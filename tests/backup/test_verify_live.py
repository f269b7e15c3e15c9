"""`noesis verify`: every bit that changes in the live store is found, in rows, indexes and manifests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from noesis.backup.values import Wanted
from noesis.embedding.base import EmbedderIdentity
from noesis.errors import StoreError
from noesis.store.linking import link_newest
from tests.backup.machine import Machine, machine, names
from tests.store.changes import Put
from tests.store.rows import make_row, unit_vector

FLIPS = pytest.mark.parametrize(
    "flips",
    [
        pytest.param(30, marks=pytest.mark.timeout(300)),
        pytest.param(1000, marks=[pytest.mark.torture, pytest.mark.timeout(7200)]),
    ],
)


@contextmanager
def flipped(path: Path, bit: int) -> Iterator[None]:
    """One bit of a file is another while this lasts; the file stays the same file."""
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    try:
        _overwrite(path, bytes(data))
        yield
    finally:
        data[bit // 8] ^= 1 << bit % 8
        _overwrite(path, bytes(data))


def _overwrite(path: Path, data: bytes) -> None:
    with path.open("r+b") as file:
        file.write(data)


def live_files(here: Machine, folder: Path) -> list[Path]:
    """The files of the live version, and what names it."""
    link_newest(here.store.directory, folder)
    linked = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    # What an index learnt from is a hint: a wrong one makes it be built anew.
    own = [here.store.directory / name for name in linked if name.name != "vector_index.json"]
    return [*own, here.directory / "CURRENT", here.store.directory / "checksums.json"]


async def filled(here: Machine) -> None:
    await here.write(*range(20))
    await here.store.submit(Put(make_row(30, vector=unit_vector(30)), archived=True))
    await here.store.maintain(force=True)
    await here.write(20, 21)


@FLIPS
async def test_every_flipped_bit_of_what_was_verified_once_is_found(flips: int, tmp_path: Path) -> None:
    chance = random.Random(7)
    async with machine(tmp_path / "m") as here:
        await filled(here)
        assert (await here.backups.verify_live()).ok
        files = live_files(here, tmp_path / "linked")
        missed = []
        for _ in range(flips):
            path = chance.choice(files)
            bit = chance.randrange(path.stat().st_size * 8)
            with flipped(path, bit):
                if (await here.backups.verify_live()).ok:
                    missed.append((path.name, bit))
        assert missed == []
        assert (await here.backups.verify_live()).ok


async def test_a_value_that_changed_is_found_without_any_earlier_look(tmp_path: Path) -> None:
    """By the hash of its row; and a backup is refused while older ones stay."""
    async with machine(tmp_path / "m") as here:
        await filled(here)
        kept = await here.backup()
        here.clock.advance(seconds=5)
        data = [each for each in live_files(here, tmp_path / "linked") if each.parent.name == "data"]
        path, place = next(
            (each, at) for each in data if (at := each.read_bytes().find(b"memory number 1")) > 0
        )
        (here.store.directory / "checksums.json").unlink()
        with flipped(path, place * 8 + 1):
            found = await here.backups.verify_live()
            assert not found.ok
            assert any("damaged" in problem for problem in found.problems)
            with pytest.raises(StoreError, match="not kept"):
                await here.backups.create()
        assert [backup.name for backup in await here.backups.list()] == [kept.name]
        assert not list(kept.parent.glob("*.partial"))


@pytest.mark.parametrize("what", ["text", "copy", "undecodable", "vector"])
async def test_a_damaged_memory_is_mended_by_a_restore_of_it_alone(what: str, tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        # Another model's vectors are not taken over.
        assert await here.store.adopt(EmbedderIdentity("test", "one", "0" * 64, 16))
        await here.write(1, 2)
        path, row = await here.backup(), make_row(1)
        # The values in one piece, the text's length before it; a copy is what only the keyword index reads.
        text = row.text.encode()
        packed = bytes([0xA0 | len(text)]) + text
        stored = {"vector": unit_vector(1).tobytes(), "copy": text}.get(what, packed)
        files = [each for each in live_files(here, tmp_path / "linked") if each.parent.name == "data"]
        data, at = next((each, at) for each in files if (at := each.read_bytes().find(stored)) >= 0)
        content = bytearray(data.read_bytes())
        place, bits = (at, 0xFF) if what == "undecodable" else (at + 1, 1)
        content[place] ^= bits
        _overwrite(data, bytes(content))
        assert await here.store.active.damaged() == [row.id]
        if what == "copy":
            assert await here.texts() == names((1, 2))
        else:
            with pytest.raises(StoreError, match="noesis verify"):
                await here.texts()
        wanted = Wanted(ids=(row.id,))
        brought = await here.backups.bring(path, wanted, "admin")
        assert (brought.restored, brought.same) == (1, 0)
        assert await here.texts() == names((1, 2))
        assert (await here.backups.bring(path, wanted, "admin")).same == 1


@pytest.mark.parametrize("what", ["truncated", "zeroed", "missing"])
async def test_a_fragment_that_is_not_whole_is_found_and_the_restore_of_a_backup_mends_it(
    what: str, tmp_path: Path
) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1, 2, 3)
        path = await here.backup()
        data = min((here.store.directory / "memories.lance" / "data").iterdir())
        size = data.stat().st_size
        data.unlink()
        if what != "missing":
            data.write_bytes(bytes(size if what == "zeroed" else size // 2))
    async with machine(tmp_path / "m", despite_damage=True) as here:
        # Where an older version is whole, the start has gone back to it; else there is a stand-in.
        assert here.store.damaged or here.store.dropped or not (await here.backups.verify_live()).ok
        restored = await here.backups.restore(path, made_for="r", safety_backup=False)
        assert restored.memories == 3
        assert await here.texts() == names((1, 2, 3))
    async with machine(tmp_path / "m") as here:
        assert await here.texts() == names((1, 2, 3))
        assert (await here.backups.verify_live()).ok
