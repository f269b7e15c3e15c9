"""Acts on chosen memories: on exactly those that were counted, and undone where nobody changed them since."""

from __future__ import annotations

from typing import Any

import pytest

from noesis.agents import Policy
from noesis.bulk_editing import BulkEdit
from noesis.choosing import ARCHIVE, CHANGE, DELETE, Undone
from noesis.chosen_acts import UNDO_FOR_MS
from noesis.editing import Edit
from noesis.errors import Conflict, Forbidden, InvalidInput, NotFound
from noesis.memory import BY_HAND, DELETED, EXPIRED, Memory, MemoryType, NewMemory, Role, Scope
from noesis.runtime import Noesis
from noesis.tombstones import Kind
from tests.operations.expire import archive_all
from tests.support import Clock, Product

ADMIN = Scope(None, Role.ADMIN, actor="admin")


@pytest.fixture
def noesis(product: Product) -> Noesis:
    return product.noesis


async def stored(noesis: Noesis, count: int, agent: str = "alpha", **values: Any) -> list[str]:
    news = [NewMemory(text=f"{agent} heron {number}", **values) for number in range(count)]
    return [(await noesis.indexing.index(Scope(agent), new)).id for new in news]


async def memories(noesis: Noesis, ids: list[str]) -> list[Memory]:
    return [await noesis.browsing.get(ADMIN, memory_id) for memory_id in ids]


def told(memory: Memory) -> tuple[object, ...]:
    """What an act may change."""
    return (
        memory.memory_type,
        memory.priority,
        memory.priority_set_by,
        memory.tags,
        memory.expires_at,
        memory.archived_at,
        memory.archive_reason,
    )


EDIT = BulkEdit(
    memory_type=MemoryType.DECISION, priority=7, ttl_days=3, add_tags=("new",), remove_tags=("old",)
)


@pytest.mark.parametrize("act", [CHANGE, ARCHIVE, DELETE])
async def test_what_was_done_to_the_chosen_is_undone(noesis: Noesis, clock: Clock, act: str) -> None:
    ids = [*await stored(noesis, 2, tags=("old",)), *await stored(noesis, 1, "beta", ttl_days=9)]
    (spared,) = await stored(noesis, 1, "gamma", tags=("old",))
    before = [told(each) for each in await memories(noesis, [*ids, spared])]
    clock.advance(seconds=5)
    act_id = await noesis.oversight.choosing.act(ADMIN, act, ids, 3, EDIT)
    after = [told(each) for each in await memories(noesis, [*ids, spared])]
    assert [was == now for was, now in zip(before, after, strict=True)] == [False, False, False, True]
    if act != CHANGE:
        reason = DELETED if act == DELETE else BY_HAND
        assert {each.archive_reason for each in await memories(noesis, ids)} == {reason}
    clock.advance(seconds=5)
    assert await noesis.oversight.choosing.undo(ADMIN, act_id) == Undone(3, 0)
    assert [told(each) for each in await memories(noesis, [*ids, spared])] == before
    with pytest.raises(NotFound):
        await noesis.oversight.choosing.undo(ADMIN, act_id)


async def test_those_of_the_archive_are_acted_on_where_they_lie(noesis: Noesis, clock: Clock) -> None:
    ids = await stored(noesis, 2)
    await archive_all(noesis, ids[:1])
    act = noesis.oversight.choosing.act
    with pytest.raises(Conflict, match="1 of them are there now, not 2"):
        await act(ADMIN, ARCHIVE, ids, 2)
    clock.advance(seconds=5)
    act_id = await act(ADMIN, DELETE, ids, 2)
    assert {each.archive_reason for each in await memories(noesis, ids)} == {DELETED}
    clock.advance(seconds=5)
    await noesis.oversight.choosing.undo(ADMIN, act_id)
    assert [each.archive_reason for each in await memories(noesis, ids)] == [EXPIRED, None]


async def test_another_count_than_was_shown_changes_nothing(noesis: Noesis) -> None:
    ids = await stored(noesis, 3)
    await noesis.editing.delete(ADMIN, ids[0])
    with pytest.raises(Conflict, match="2 of them are there now, not 3"):
        await noesis.oversight.choosing.act(ADMIN, DELETE, ids, 3)
    assert [each.deleted for each in await memories(noesis, ids)] == [True, False, False]


async def test_what_somebody_changed_since_stays_as_it_is(noesis: Noesis, clock: Clock) -> None:
    ids = await stored(noesis, 2)
    act_id = await noesis.oversight.choosing.act(ADMIN, CHANGE, ids, 2, EDIT)
    clock.advance(seconds=5)
    await noesis.editing.edit(ADMIN, ids[0], Edit(priority=50))
    assert await noesis.oversight.choosing.undo(ADMIN, act_id) == Undone(1, 1)
    assert [each.priority for each in await memories(noesis, ids)] == [50, 30]


async def test_an_undo_makes_no_agent_hold_more_than_it_may(noesis: Noesis, clock: Clock) -> None:
    ids = await stored(noesis, 2)
    act_id = await noesis.oversight.choosing.act(ADMIN, DELETE, ids, 2)
    await noesis.agents.set_policy(Policy("alpha", max_memories=1))
    clock.advance(seconds=5)
    assert await noesis.oversight.choosing.undo(ADMIN, act_id) == Undone(1, 1)


async def test_after_a_day_and_for_what_is_gone_for_good_there_is_no_undo(
    noesis: Noesis, clock: Clock
) -> None:
    ids = [*await stored(noesis, 1, source="birds.md"), *await stored(noesis, 1, "beta")]
    act_id = await noesis.oversight.choosing.act(ADMIN, DELETE, ids, 2)
    await noesis.oversight.forgetting.forget(Scope("alpha"), Kind.SOURCE, "birds.md", confirm_count=1)
    assert [each.id for each in (await noesis.oversight.choosing.get(ADMIN, act_id)).before] == ids[1:]
    clock.advance(seconds=UNDO_FOR_MS / 1000 + 1)
    with pytest.raises(NotFound):
        await noesis.oversight.choosing.undo(ADMIN, act_id)


async def test_it_is_for_administrators_and_for_some(noesis: Noesis) -> None:
    ids = await stored(noesis, 1)
    for scope in (Scope("alpha"), Scope("alpha", Role.GATEWAY)):
        with pytest.raises(Forbidden):
            await noesis.oversight.choosing.act(scope, DELETE, ids, 1)
    for wrong in ([], [str(number) for number in range(201)]):
        with pytest.raises(InvalidInput):
            await noesis.oversight.choosing.act(ADMIN, DELETE, wrong, len(wrong))
