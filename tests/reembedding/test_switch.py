"""A switch to another embedder: same memories, new vectors, nothing mixed and nothing lost."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from noesis.editing import Edit
from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.errors import Cancelled, Conflict, EmbedderMismatch, EmbedderUnavailable, StoreBusy, StoreFull
from noesis.memory import Mode, NewMemory
from noesis.store import Store
from noesis.store.filters import EVERYTHING
from tests.reembedding.machine import (
    ALPHA,
    GatedEmbedder,
    fill,
    found,
    lasting,
    rows,
    switch,
    switching,
    text,
    until,
    write,
)
from tests.store.changes import Put
from tests.store.rows import make_row, unit_vector
from tests.support import NOW, Clock, Product, WordEmbedder, running


@pytest.mark.parametrize("other", [WordEmbedder(128, "other"), WordEmbedder(64, "other")])
async def test_another_embedder_is_never_mixed_in_and_one_switch_takes_it_over(
    other: WordEmbedder, tmp_path: Path
) -> None:
    """C17 a and b: another width, and the same width of another model."""
    clock = Clock()
    async with running(tmp_path / "d", clock=clock) as before:
        await fill(before.noesis, range(300))
        await _pinned_and_archived(before)
        was = await rows(before.noesis)
    async with running(tmp_path / "d", embedder=other, clock=clock) as now:
        noesis = now.noesis
        standing = await switching(noesis).standing()
        assert standing.needed
        assert standing.rows == 300
        assert "noesis reembed" in standing.sentence
        await noesis.vectors.look()
        assert noesis.vectors.is_other_model
        # By words alone, and a new text waits for its vector.
        assert text(7) in await found(noesis, text(7))
        with pytest.raises(EmbedderMismatch):
            await found(noesis, text(7), Mode.VECTOR)
        new = await write(noesis, "The new teapot is blue")
        assert new.embedding_state == "pending"
        assert all(row.vector is None or len(row.vector) == 64 for row in (await rows(noesis)).values())

        done = await switch(noesis)
        assert (done.rows, done.embedded, done.waiting, done.failed) == (301, 301, 0, 0)
        assert (done.model, done.dimension) == ("other", other.dimension)
        after = await rows(noesis)
        assert after.keys() == was.keys() | {new.id}
        for row_id, row in was.items():
            assert lasting(after[row_id]) == lasting(row)
        for row in after.values():
            assert row.vector is not None
            assert row.embedding_state == "ready"
            assert np.allclose(row.vector, other._vector(row.text), atol=1e-6)
        assert (await noesis.backups.verify_live()).ok
        assert (await found(noesis, text(7), Mode.VECTOR))[0] == text(7)
        assert not (await switching(noesis).standing()).needed
        assert noesis.vectors.trouble is None
        assert not list((tmp_path / "d").rglob("reembedding/vectors"))


async def _pinned_and_archived(product: Product) -> None:
    """One memory gets another priority, one lies in the archive."""
    ids = sorted(row.id for row in await product.noesis.store.active.rows(EVERYTHING))
    await product.noesis.editing.edit(ALPHA, ids[0], Edit(priority=91))
    await product.noesis.editing.delete(ALPHA, ids[1])


async def test_the_former_embedder_works_at_once_when_it_is_back(tmp_path: Path) -> None:
    """C17 c: nothing is to be done by hand."""
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(5))
    async with running(tmp_path / "d", embedder=WordEmbedder(128, "fallback")) as second:
        await second.noesis.indexing.index(ALPHA, NewMemory(text="Written in the outage"))
    async with running(tmp_path / "d") as third:
        noesis = third.noesis
        await noesis.filling.fill(lambda _done, _total: None)
        assert await noesis.filling.pending() == 0
        assert (await found(noesis, "Written in the outage", Mode.VECTOR))[0] == "Written in the outage"
        with pytest.raises(Conflict, match="nothing to switch"):
            await switch(noesis)


async def test_the_same_embedder_makes_all_vectors_anew_only_when_forced(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with running(tmp_path / "d", embedder=embedder) as product:
        await fill(product.noesis, range(5))
        embedder.seen.clear()
        with pytest.raises(Conflict):
            await switch(product.noesis)
        assert embedder.seen == []
        done = await switch(product.noesis, force=True)
        assert set(embedder.seen) >= {text(number) for number in range(5)}
        assert done.embedded == 5
        assert done.compared is not None
        assert done.compared.same_answers == 1.0
        assert done.compared.same_neighbours == 1.0


async def test_an_empty_store_has_nothing_to_switch(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as product:
        with pytest.raises(Conflict, match="no vectors yet"):
            await switch(product.noesis)


async def test_a_switch_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
    other = WordEmbedder(32, "other")
    async with running(tmp_path / "d", embedder=other) as second:
        done = await switch(second.noesis, "job")
        count = len(other.seen)
        again = await switch(second.noesis, "job")
        assert (again.generation, len(other.seen)) == (done.generation, count)


async def test_what_is_written_meanwhile_is_in_the_new_generation(tmp_path: Path) -> None:
    """Texts that are new or changed, priorities, deletions; from this process and from another one."""
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(80))
        ids = {row.text: row.id for row in (await rows(first.noesis)).values()}
    other = GatedEmbedder()
    async with running(tmp_path / "d", embedder=other) as one, running(tmp_path / "d") as two:
        switched = asyncio.create_task(switch(one.noesis))
        # The first batch is embedded: the other process goes on with the former model.
        await until(lambda: len(other.seen) >= 64)
        editing = two.noesis.editing
        await editing.edit(ALPHA, ids[text(1)], Edit(text="A text that was changed meanwhile"))
        await editing.edit(ALPHA, ids[text(2)], Edit(priority=88))
        await editing.delete(ALPHA, ids[text(3)])
        await fill(two.noesis, range(500, 510))
        assert (await found(two.noesis, text(500), Mode.VECTOR))[0] == text(500)
        other.go.set()
        done = await switched
        assert (done.rows, done.waiting) == (90, 0)
        after = await rows(one.noesis)
        assert after[ids[text(1)]].text == "A text that was changed meanwhile"
        assert after[ids[text(2)]].priority == 88
        assert after[ids[text(3)]].archived_at is not None
        for row in after.values():
            assert row.vector is not None
            assert np.allclose(row.vector, other._vector(row.text), atol=1e-6)
        # The other process has the former model: it goes by words, and what it writes waits.
        assert text(500) in await found(two.noesis, text(500))
        with pytest.raises(EmbedderMismatch):
            await found(two.noesis, text(500), Mode.VECTOR)
        late = await write(two.noesis, "Written after the swap")
        assert late.embedding_state == "pending"


async def test_a_vector_that_was_on_its_way_at_the_swap_is_not_stored(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
    async with running(tmp_path / "d", embedder=WordEmbedder(64, "other")) as one:
        other_process = await Store.open(one.noesis.store.place, now_ms=lambda: NOW)
        assert await other_process.adopt(await WordEmbedder().identity())
        await switch(one.noesis)
        await other_process.submit(Put(make_row(9, vector=unit_vector(9, 64), embedding_state="ready")))
        stored = (await rows(one.noesis))[make_row(9).id]
        assert (stored.vector, stored.embedding_state) == (None, "pending")
        await other_process.close()


async def test_a_question_whose_vector_was_kept_is_not_asked_of_the_new_generation(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
    other = WordEmbedder(64, "other")
    async with running(tmp_path / "d", embedder=other) as one, running(tmp_path / "d") as two:
        await found(two.noesis, text(1), Mode.VECTOR)
        await switch(one.noesis)
        with pytest.raises(EmbedderMismatch):
            await found(two.noesis, text(1), Mode.VECTOR)


async def test_a_cancelled_switch_changes_nothing_and_the_next_goes_on(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(200))
        was = await rows(first.noesis)
    other = WordEmbedder(32, "other")
    async with running(tmp_path / "d", embedder=other) as second:
        operation = switching(second.noesis)
        told: list[tuple[int, int]] = []
        with pytest.raises(Cancelled, match="kept"):
            await operation.run(
                made_for="a",
                force=False,
                tell=lambda done, total: told.append((done, total)),
                cancelled=lambda: len(other.seen) >= 100,
            )
        assert (await rows(second.noesis)).keys() == was.keys()
        assert len(other.seen) == 128 == (await operation.standing()).ready
        assert told[0] == (0, 200)
        assert told[-1] == (128, 200)
        done = await switch(second.noesis)
        assert (done.kept, done.embedded) == (128, 72)
        made = [each for each in other.seen if each in {text(number) for number in range(200)}]
        assert len(made) == len(set(made)) == 200


async def test_an_embedder_that_goes_away_leaves_the_old_generation_and_all_that_was_made(
    tmp_path: Path,
) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(80))

    class Leaving(WordEmbedder):
        async def _answer(self) -> None:
            self.down = len(self.seen) >= 64
            await super()._answer()

    async with running(tmp_path / "d", embedder=Leaving(32, "other")) as second:
        with pytest.raises(EmbedderUnavailable):
            await switch(second.noesis)
        assert second.noesis.store.embedder == await WordEmbedder().identity()
        assert len(await rows(second.noesis)) == 80
    async with running(tmp_path / "d", embedder=WordEmbedder(32, "other")) as third:
        assert (await switch(third.noesis)).kept == 64


async def test_a_text_that_the_embedder_refuses_fails_alone(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(10))
    other = WordEmbedder(32, "other")
    other.broken = {
        "number3.": EmbeddingFailure("It cannot be read.", permanent=True),
        "number4.": EmbeddingFailure("It failed once.", permanent=False),
    }
    async with running(tmp_path / "d", embedder=other) as second:
        done = await switch(second.noesis)
        assert (done.rows, done.failed, done.waiting) == (10, 1, 1)
        other.broken = {}
        await second.noesis.filling.fill(lambda _done, _total: None)
        assert await second.noesis.filling.pending() == 0


async def test_only_one_switch_is_made_at_a_time(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(70))
    slow = GatedEmbedder()
    async with running(tmp_path / "d", embedder=slow) as one:
        switched = asyncio.create_task(switch(one.noesis))
        await until(lambda: bool(slow.seen))
        async with running(tmp_path / "d", embedder=WordEmbedder(32, "other")) as two:
            with pytest.raises(StoreBusy):
                await switch(two.noesis, "another")
        slow.go.set()
        assert (await switched).rows == 70


async def test_what_an_unfinished_switch_made_goes_when_the_former_model_is_back(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(70))
    other = WordEmbedder(32, "other")
    async with running(tmp_path / "d", embedder=other) as second:
        operation = switching(second.noesis)
        with pytest.raises(Cancelled):
            await operation.run(
                made_for="a", force=False, tell=lambda _done, _total: None, cancelled=lambda: bool(other.seen)
            )
        assert await operation.look() is not None
        assert (await operation.standing()).ready == 64
    async with running(tmp_path / "d") as third:
        assert await switching(third.noesis).look() is None
        assert not (third.noesis.store.place / "reembedding").exists()


async def test_without_room_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
    other = WordEmbedder(32, "other")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=0))
    async with running(tmp_path / "d", embedder=other) as second:
        with pytest.raises(StoreFull):
            await switch(second.noesis)
        assert other.seen == []


async def test_a_model_that_was_exchanged_under_a_running_process_needs_a_new_start(tmp_path: Path) -> None:
    class Exchanged(WordEmbedder):
        """As Ollama's embedder is: who it was is kept, and whatever it is asked fails."""

        async def embed_query(self, text: str) -> Vector:
            raise EmbedderMismatch("The model words was replaced.")

    async with running(tmp_path / "d", embedder=Exchanged()) as product:
        await fill(product.noesis, range(3))
        await found(product.noesis, text(1))
        with pytest.raises(Conflict, match="start Noesis anew"):
            await switch(product.noesis, force=True)
