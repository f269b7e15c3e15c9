"""The archive of every release can be restored by this version, on an empty machine and with all it held."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from noesis import __version__
from noesis.memory import Role, Scope, SearchQuery
from tests.backup.release_archive import RELEASES, Expected, memories
from tests.support import running

ARCHIVES = sorted(path.name for path in RELEASES.glob("*.tar.gz"))


def test_there_is_an_archive_of_this_release() -> None:
    assert f"{__version__}.tar.gz" in ARCHIVES


@pytest.mark.parametrize("name", ARCHIVES)
async def test_the_archive_of_each_release_comes_back_whole(name: str, tmp_path: Path) -> None:
    wanted = (RELEASES / name.replace(".tar.gz", ".json")).read_bytes()
    expected = msgspec.json.decode(wanted, type=Expected)
    async with running(tmp_path / "d") as product:
        noesis = product.noesis
        await noesis.backups.restore(RELEASES / name, made_for="test")
        assert await memories(noesis) == expected.memories
        assert (await noesis.backups.verify_live()).ok
        assert await noesis.superseding.replaced_by(expected.superseded) == expected.superseded
        mine = product.client(expected.token)
        assert (await mine.get("/api/v1/memories")).status_code == 200
        result = await noesis.search.search(
            Scope("alpha", Role.AGENT), SearchQuery(text="Where does the spare key hang?")
        )
        assert result.hits[0].memory.text == "The spare key hangs by the back door"
        assert not result.degraded
