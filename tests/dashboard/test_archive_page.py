"""The page of the archive: filters, bringing back one or many, and what goes for good next."""

from __future__ import annotations

import re

import httpx
import pytest

from noesis.memory import MemoryType, Role, Scope
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import Clock

ADMIN = Scope(agent=None, role=Role.ADMIN)


async def shown(admin: httpx.AsyncClient, address: str = "/archive") -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


async def archived(noesis: Noesis, clock: Clock, *texts: str, **values: object) -> list[str]:
    """Memories that expired and were archived; their ids."""
    ids = [await remember(noesis, text, ttl_days=1, **values) for text in texts]  # type: ignore[arg-type]
    clock.advance(days=2)
    await noesis.retention.cleaning.run(None, confirm=True)
    return ids


async def test_the_empty_page_says_what_it_is_for(admin: httpx.AsyncClient) -> None:
    assert "The archive is empty." in await shown(admin)
    assert "Nothing: the archive is empty." in await shown(admin, "/archive/next")


async def test_it_is_filtered_by_what_a_memory_is_and_why_it_lies_there(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await archived(noesis, clock, "The heron comes in the morning.", memory_type=MemoryType.DECISION)
    await archived(noesis, clock, "The boat lies in the shed.", agent="writer")
    page = await shown(admin)
    assert "2 memories that no agent is given by itself" in page
    assert "expired 2 days ago" in page
    for filtered in ("?type=decision", "?agent=planner", "?reason=expired&type=decision"):
        page = await shown(admin, f"/archive{filtered}")
        assert ("heron" in page, "boat" in page) == (True, False), filtered
    assert "Nothing in the archive fits." in await shown(admin, "/archive?reason=merged")
    assert (await admin.get("/archive?month=soon")).status_code == 400


async def test_the_chosen_ones_come_back_with_a_new_life(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    first, second, third = await archived(noesis, clock, "One heron.", "Two herons.", "Three herons.")
    answer = await admin.post("/archive/restore", data={"id": [first, third], "ttl_days": "0"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/archive?said=restored")
    for memory_id, is_archived in ((first, False), (second, True), (third, False)):
        assert (await noesis.browsing.get(ADMIN, memory_id)).archived is is_archived
    assert "1 memory that" in await shown(admin)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Choose the memories"),
        ({"ttl_days": "-3"}, "The days must"),
        ({"ttl_days": "soon"}, "must be a number"),
    ],
)
async def test_a_mistake_brings_the_page_back_and_changes_nothing(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock, fields: dict[str, str], words: str
) -> None:
    (memory_id,) = await archived(noesis, clock, "One heron.")
    chosen = {"id": memory_id} if fields else {"agent": "planner"}
    answer = await admin.post("/archive/restore", data={**fields, **chosen})
    assert answer.status_code == 400
    assert words in answer.text
    assert (await noesis.browsing.get(ADMIN, memory_id)).archived


async def test_one_that_is_gone_meanwhile_is_told_of(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    (memory_id,) = await archived(noesis, clock, "One heron.")
    answer = await admin.post("/archive/restore", data={"id": [memory_id, "never-was"]})
    assert "1 came back; 1 are gone for good." in answer.text


async def test_what_goes_next_is_told_with_its_time(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await archived(noesis, clock, "One heron.")
    page = await shown(admin, "/archive/next")
    assert "365 days after it was archived" in page
    assert re.search(r"One heron\. fact planner goes in 1\d months", page)
