"""A backup is the whole, verified before it is listed; a restore brings it back and can be undone."""

from __future__ import annotations

import tarfile
from pathlib import Path

import msgspec
import pytest

from noesis.backup.values import Difference, Wanted
from noesis.errors import Conflict
from noesis.memory import Role
from noesis.tokens import Tokens
from noesis.tombstones import Kind
from tests.backup.machine import machine, names
from tests.store.changes import Drop, Put
from tests.store.rows import content, make_row, unit_vector


async def test_a_backup_holds_both_tables_and_is_listed_verified(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(*range(5))
        await here.store.submit(Put(make_row(9, vector=unit_vector(9)), archived=True))
        made = await here.backups.create()
        assert (made.rows, made.memories, made.kind) == (6, 6, "manual")
        assert made.verified_at is not None
        told = msgspec.structs.asdict(made)
        assert told.pop("copy_error") is None
        assert [msgspec.structs.asdict(each) for each in await here.backups.list()] == [told]
        found = await here.backups.verify(made.name)
        assert found.ok
        assert found.rows == 6
        assert set(found.queries.values()) == {True}
        assert len(found.queries) == 4
        with tarfile.open(here.backups.shelf.path(made.name)) as archive:
            held = archive.getnames()
        assert held[0] == "manifest.json"
        assert "control.sqlite" in held


async def test_a_restore_brings_back_the_moment_of_the_backup_and_an_undo_what_was_there_before(
    tmp_path: Path,
) -> None:
    """In the process that restores and in another one, neither of which is started again."""
    async with machine(tmp_path / "m") as here, machine(tmp_path / "m") as other:
        await here.write(*range(5))
        then = await content(here.store)
        path = await here.backup()
        await here.write(5, 6)
        await here.store.submit(Drop(make_row(0).id))
        await here.write(1, text="changed", updated_at=5)
        now = await content(here.store)

        preview = await here.backups.preview(path)
        assert preview.difference == Difference(added=1, lost=2, changed=1, same=3)
        restored = await here.backups.restore(path, made_for="one")
        assert restored.difference == preview.difference
        assert restored.safety_backup is not None
        for each in (here, other):
            assert await content(each.store) == then
        await other.write(20)
        assert await here.texts() == names(range(5)) | names((20,))

        undone = await other.backups.undo(made_for="two")
        assert undone.carried == 1
        for each in (here, other):
            assert await content(each.store) == {
                "active": now["active"]
                | {make_row(20).id: (await content(each.store))["active"][make_row(20).id]},
                "archive": now["archive"],
            }
        again = await here.backups.undo(made_for="three")
        assert await here.texts() == names(range(5)) | names((20,))
        assert again.difference.lost == 2


async def test_the_same_piece_of_work_is_done_once(tmp_path: Path) -> None:
    """A job may run twice; a second restore would leave nothing to undo to."""
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        path = await here.backup()
        await here.write(2)
        first = await here.backups.restore(path, made_for="job", safety_backup=False)
        second = await here.backups.restore(path, made_for="job", safety_backup=False)
        assert (first.generation, second.generation) == ("0002", "0002")
        await here.backups.undo(made_for="undo")
        await here.backups.undo(made_for="undo")
        assert await here.texts() == names((1, 2))


async def test_without_a_restore_there_is_nothing_to_undo(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        with pytest.raises(Conflict, match="no restore"):
            await here.backups.undo(made_for="x")


async def test_an_edit_of_before_the_restore_survives_the_undo_although_its_vector_was_filled_in_since(
    tmp_path: Path,
) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1, vector=None)
        path = await here.backup()
        await here.write(1, text="edited", updated_at=7, content_hash="b" * 32, vector=None)
        await here.backups.restore(path, made_for="r", safety_backup=False)
        await here.write(1)
        await here.backups.undo(made_for="u")
        assert await here.texts() == {"edited"}


async def test_an_empty_machine_gets_all_of_it_and_the_owner_can_come_in(tmp_path: Path) -> None:
    async with machine(tmp_path / "old") as old:
        await old.write(*range(3))
        token, secret = await Tokens(old.control, old.clock).create(Role.ADMIN, [], "owner")
        path = await old.backup()
        expected = await content(old.store)
    moved = tmp_path / "elsewhere.tar.gz"
    path.rename(moved)
    async with machine(tmp_path / "new") as new:
        restored = await new.backups.restore(moved, made_for="x")
        assert restored.safety_backup is None
        assert await content(new.store) == expected
        assert (await Tokens(new.control, new.clock).authenticate(secret)).id == token.id
        assert (await new.backups.verify_live()).ok


async def test_a_restore_revives_no_revoked_token_and_drops_none_that_was_made_since(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        tokens = Tokens(here.control, here.clock)
        await here.write(1)
        revoked, _ = await tokens.create(Role.AGENT, ["alpha"], "revoked later")
        path = await here.backup()
        await tokens.revoke(revoked.id)
        newer, _ = await tokens.create(Role.AGENT, ["alpha"], "newer")
        restored = await here.backups.restore(path, made_for="r")
        assert [token.id for token in await tokens.list()] == [newer.id]
        assert "tokens" in restored.kept_as_now
        await here.backups.undo(made_for="u")
        assert [token.id for token in await tokens.list()] == [newer.id]


@pytest.mark.parametrize("kind", ["source", "session"])
async def test_a_restore_brings_nothing_back_that_was_forgotten_since(kind: str, tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        await here.write(2, **{"source": "notes"} if kind == "source" else {"session_id": "notes"})
        path = await here.backup()
        await here.store.submit(Drop(make_row(2).id))
        await here.tombstones.add("alpha", Kind(kind), "notes", by="somebody")
        preview = await here.backups.preview(path)
        assert preview.difference == Difference(added=0, lost=0, changed=0, same=1, forgotten=1)
        await here.backups.restore(path, made_for="r")
        assert await here.texts() == names((1,))
        brought = await here.backups.bring(path, Wanted(ids=(make_row(2).id,)), "somebody")
        assert (brought.restored, brought.forgotten) == (0, 1)
        await here.backups.undo(made_for="u")
        assert await here.texts() == names((1,))


async def test_a_part_is_brought_back_beside_what_is_there(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1, 2, 3)
        await here.write(4, agent_id="beta")
        path = await here.backup()
        await here.store.submit(Drop(make_row(1).id))
        await here.write(2, text="changed", updated_at=5)
        await here.store.submit(Drop(make_row(4).id))
        beside = await here.backups.beside(path, Wanted(agent="alpha"))
        assert [(each.state, each.then, each.now) for each in beside] == [
            ("missing", "memory number 1", None),
            ("changed", "memory number 2", "changed"),
            ("same", "memory number 3", "memory number 3"),
        ]
        assert (await here.backups.bring(path, Wanted(ids=(make_row(1).id,)), "me")).restored == 1
        brought = await here.backups.bring(path, Wanted(agent="alpha"), "me")
        assert (brought.restored, brought.same) == (1, 2)
        assert await here.texts() == names((1, 2, 3))
        assert (await here.backups.bring(path, Wanted(agent="alpha"), "me")).restored == 0


async def test_a_drill_restores_the_newest_backup_and_the_proof_is_noted(tmp_path: Path) -> None:
    async with machine(tmp_path / "m") as here:
        await here.write(1)
        await here.backup()
        here.clock.advance(days=1)
        proven = await here.backups.drill()
        assert proven.proven_at == here.clock.now
        assert (await here.backups.list())[0].proven_at == here.clock.now
        assert not list((tmp_path / "m" / "scratch").iterdir())
