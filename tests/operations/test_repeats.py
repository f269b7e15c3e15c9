"""A text that comes again: which memory answers for it, with whose values, and what else stays as it was."""

from __future__ import annotations

import pytest

from noesis.editing import Edit
from noesis.memory import EmbeddingState, Indexed, MemoryFilter, NewMemory, Scope
from noesis.runtime import Noesis
from tests.support import Clock, Product

ALPHA = Scope("alpha")
OLD, NEW, THIRD = "the wiki is on port 80", "the wiki is on port 8085", "the wiki moved away"


@pytest.fixture
def noesis(product: Product) -> Noesis:
    return product.noesis


async def index(noesis: Noesis, text: str, ttl_days: float | None = None) -> Indexed:
    return await noesis.indexing.index(ALPHA, NewMemory(text=text, ttl_days=ttl_days))


async def listed(noesis: Noesis) -> dict[str, str]:
    """The living memories' texts by id."""
    page = await noesis.browsing.page(ALPHA, MemoryFilter(), limit=200)
    return {memory.id: memory.text for memory in page.memories}


async def test_of_repeats_that_come_at_once_the_first_is_stored_with_its_own_values(noesis: Noesis) -> None:
    news = [NewMemory(text=f"{OLD} and {number}", tags=("first",), priority=1) for number in range(5)]
    news += [NewMemory(text=new.text, tags=("second",), priority=2, ttl_days=0) for new in news]
    answers = [
        answer for answer in await noesis.indexing.index_many(ALPHA, news) if isinstance(answer, Indexed)
    ]
    assert [answer.duplicate for answer in answers] == [False] * 5 + [True] * 5
    for answer in answers:
        memory = await noesis.browsing.get(ALPHA, answer.id)
        assert (memory.tags, memory.priority) == (("first",), 1)
        assert memory.embedding_state is EmbeddingState.READY


async def test_the_old_text_of_an_edited_memory_is_a_new_one_with_a_vector_at_once(noesis: Noesis) -> None:
    first = await index(noesis, OLD)
    await noesis.editing.edit(ALPHA, first.id, Edit(text=NEW))
    again = await index(noesis, OLD)
    assert (again.duplicate, again.embedding_state) == (False, EmbeddingState.READY)
    assert await listed(noesis) == {first.id: NEW, again.id: OLD}


async def test_texts_edited_and_stored_again_within_one_instant_are_all_kept(noesis: Noesis) -> None:
    first = await index(noesis, OLD)
    await noesis.editing.edit(ALPHA, first.id, Edit(text=NEW))
    second = await index(noesis, OLD)
    await noesis.editing.edit(ALPHA, second.id, Edit(text=THIRD))
    third = await index(noesis, OLD)
    assert await listed(noesis) == {first.id: NEW, second.id: THIRD, third.id: OLD}


async def test_a_repeat_of_a_living_memory_wakes_no_expired_one(noesis: Noesis, clock: Clock) -> None:
    """An edit gave the living one its text, so that two have the same."""
    for before, after in ((OLD, NEW), (NEW, THIRD)):
        expired = await index(noesis, f"{before} and after", ttl_days=1)
        living = await index(noesis, f"{after} to be edited")
        clock.advance(days=1)
        await noesis.editing.edit(ALPHA, living.id, Edit(text=f"{before} and after"))
        again = await index(noesis, f"{before} and after")
        assert (again.duplicate, again.id) == (True, living.id)
        assert expired.id not in await listed(noesis)
