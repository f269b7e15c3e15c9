"""A switch can be undone: the former vectors are back, and what was written since comes along."""

from __future__ import annotations

from pathlib import Path

from noesis.editing import Edit
from noesis.memory import Mode
from tests.reembedding.machine import ALPHA, fill, found, rows, switch, text, write
from tests.support import Clock, WordEmbedder, running


async def test_an_undo_brings_the_former_vectors_back_and_keeps_what_was_written_since(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with running(tmp_path / "d", clock=clock) as first:
        await fill(first.noesis, range(20))
        was = await rows(first.noesis)
        ids = {row.text: row.id for row in was.values()}
    async with running(tmp_path / "d", embedder=WordEmbedder(128, "other"), clock=clock) as second:
        noesis = second.noesis
        await switch(noesis)
        clock.advance(seconds=5)
        new = await write(noesis, "A kite on the roof")
        await noesis.editing.edit(ALPHA, ids[text(1)], Edit(priority=93))
        await noesis.editing.edit(ALPHA, ids[text(2)], Edit(text="The second one says something else"))
        undone = await noesis.backups.undo(made_for="undo")
        assert undone.carried == 3
        now = await rows(noesis)
        assert now.keys() == was.keys() | {new.id}
        assert now[ids[text(1)]].priority == 93
        widths = {row_id: None if row.vector is None else len(row.vector) for row_id, row in now.items()}
        # A vector of the other model never comes along; where the text is the same, the former one is there.
        assert {row_id for row_id, width in widths.items() if width is None} == {new.id, ids[text(2)]}
        assert set(widths.values()) == {None, 64}
        assert (await noesis.backups.verify_live()).ok
    async with running(tmp_path / "d", clock=clock) as third:
        await third.noesis.filling.fill(lambda _done, _total: None)
        assert await third.noesis.filling.pending() == 0
        assert (await found(third.noesis, "A kite on the roof", Mode.VECTOR))[0] == "A kite on the roof"


async def test_an_undo_can_be_undone(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(5))
    other = WordEmbedder(128, "other")
    async with running(tmp_path / "d", embedder=other) as second:
        await switch(second.noesis)
        await second.noesis.backups.undo(made_for="one")
        await fill(second.noesis, range(5, 6))
        await second.noesis.backups.undo(made_for="two")
        assert second.noesis.store.embedder == await other.identity()
        after = await rows(second.noesis)
        assert {row.text for row in after.values()} == {text(number) for number in range(6)}
        ready = [row for row in after.values() if row.vector is not None]
        assert len(ready) == 5
        assert {len(row.vector) for row in ready if row.vector is not None} == {128}


async def test_the_control_state_is_not_taken_back(tmp_path: Path) -> None:
    """Only a restore goes back in time; a switch has changed nothing that was to be gone back to."""
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
    async with running(tmp_path / "d", embedder=WordEmbedder(32, "other")) as second:
        noesis = second.noesis
        await switch(noesis)
        ids = sorted(await rows(noesis))
        await noesis.superseding.link(ALPHA, ids[0], ids[1])
        await noesis.backups.undo(made_for="undo")
        assert not await noesis.backups.settle()
        assert (await noesis.superseding.replaced_by([ids[0]])) == {ids[0]: ids[1]}
