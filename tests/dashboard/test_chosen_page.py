"""Memories chosen in a list: counted, changed, put away, and all of it undone."""

from __future__ import annotations

import html
import re

import httpx
import pytest

from noesis.memory import BY_HAND, Memory, MemoryType, Role, Scope
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import Clock

ADMIN = Scope(agent=None, role=Role.ADMIN)


def main_of(page: str) -> str:
    """A page's content without its tags, blanks run together."""
    main = page.split("<main", 1)[1].split("</main>")[0]
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", main).split()))


async def herons(noesis: Noesis, count: int = 3) -> list[str]:
    return [await remember(noesis, f"Heron {number}.", tags=("bird",)) for number in range(count)]


async def memories(noesis: Noesis, ids: list[str]) -> list[Memory]:
    return [await noesis.browsing.get(ADMIN, memory_id) for memory_id in ids]


async def undo(admin: httpx.AsyncClient, location: str) -> httpx.Response:
    return await admin.post(f"{location.split('?')[0]}/undo", data={"back": "/?q=heron"})


async def test_the_chosen_are_shown_with_their_count_before_anything_happens(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    ids = await herons(noesis)
    page = main_of((await admin.post("/chosen", data={"id": ids[:2], "back": "/?q=heron"})).text)
    assert "2 memories Heron 0." in page
    assert "Heron 2." not in page
    assert "Delete: 2 memories" in page
    shown = {"which": "shown", "shown": " ".join(ids), "back": "/?q=heron"}
    assert "Delete: 3 memories" in main_of((await admin.post("/chosen", data=shown)).text)
    assert [each.archived for each in await memories(noesis, ids)] == [False] * 3


async def test_who_chooses_nothing_is_told_so_in_the_list(admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/chosen", data={"back": "/?q=heron", "shown": "x"})
    assert answer.headers["location"] == "/?q=heron&said=none-chosen"
    answer = await admin.post("/chosen", data={"back": "//evil.example"})
    assert answer.headers["location"] == "/?said=none-chosen"


async def test_the_search_shows_boxes_and_takes_up_to_all_that_it_shows(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    ids = await herons(noesis, 90)
    page = (await admin.get("/?limit=200")).text
    assert page.count('type="checkbox" id="pick-') == 90
    assert "With all 90 shown…" in page
    answer = await admin.post("/chosen", data={"id": ids})
    assert "Delete: 90 memories" in main_of(answer.text)
    assert "and 82 more" in main_of(answer.text)


async def test_what_is_changed_is_changed_in_all_of_them_and_undone(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    ids = await herons(noesis, 2)
    fields = {
        "ids": " ".join(ids),
        "count": "2",
        "act": "change",
        "memory_type": "decision",
        "priority": "7",
        "ttl_days": "30",
        "add_tags": "pond, morning",
        "remove_tags": "bird",
        "back": "/?q=heron",
    }
    answer = await admin.post("/chosen/act", data=fields)
    assert answer.status_code == 303
    changed = await memories(noesis, ids)
    assert {(each.memory_type, each.priority, each.tags) for each in changed} == {
        (MemoryType.DECISION, 7, ("pond", "morning"))
    }
    page = main_of((await admin.get(answer.headers["location"])).text)
    assert "2 memories were changed" in page
    clock.advance(seconds=5)
    answer = await undo(admin, answer.headers["location"])
    assert answer.headers["location"] == "/?q=heron&said=undone"
    assert {(each.memory_type, each.priority, each.tags) for each in await memories(noesis, ids)} == {
        (MemoryType.FACT, 30, ("bird",))
    }


@pytest.mark.parametrize("act", ["archive", "delete"])
async def test_they_are_put_away_and_come_back(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock, act: str
) -> None:
    ids = await herons(noesis, 2)
    answer = await admin.post("/chosen/act", data={"ids": " ".join(ids), "count": "2", "act": act})
    location = answer.headers["location"]
    away = await memories(noesis, ids)
    assert [each.archived for each in away] == [True, True]
    if act == "archive":
        assert {each.archive_reason for each in away} == {BY_HAND}
        assert "archived by hand" in main_of((await admin.get("/archive")).text)
    clock.advance(seconds=5)
    await undo(admin, location)
    assert [each.archived for each in await memories(noesis, ids)] == [False, False]
    again = await undo(admin, location)
    assert again.headers["location"] == "/?q=heron&said=undone-before"
    assert (await admin.get(location)).status_code == 404


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"act": "change"}, 400, "Say what is to change."),
        ({"act": "change", "priority": "101"}, 400, "whole number from 0 to 100"),
        ({"act": "change", "ttl_days": "soon"}, 400, "The days must be a number"),
        ({"act": "change", "memory_type": "poem"}, 400, "The type must be one of"),
        ({"act": "change", "add_tags": "x" * 65}, 400, "1 to 64 visible characters"),
        ({"act": "burn"}, 400, "Choose what is to be done."),
        ({"act": "delete", "count": "3"}, 409, "2 of them are there now, not 3. Nothing was changed."),
        ({"act": "delete", "count": ""}, 409, "Nothing was changed."),
    ],
)
async def test_a_mistake_changes_nothing_and_keeps_what_was_typed(
    admin: httpx.AsyncClient, noesis: Noesis, fields: dict[str, str], status: int, words: str
) -> None:
    ids = await herons(noesis, 2)
    before = await memories(noesis, ids)
    form = {"ids": " ".join(ids), "count": "2", "remove_tags": "typed" if len(fields) > 1 else ""}
    answer = await admin.post("/chosen/act", data={**form, **fields})
    assert (answer.status_code, words in answer.text) == (status, True)
    if len(fields) > 1:
        assert 'value="typed"' in answer.text
    assert await memories(noesis, ids) == before


async def test_only_who_is_logged_in_does_anything(visitor: httpx.AsyncClient, noesis: Noesis) -> None:
    ids = await herons(noesis, 1)
    for path in ("/chosen", "/chosen/act", "/chosen/x/undo"):
        answer = await visitor.post(path, data={"ids": ids[0], "id": ids[0], "count": "1", "act": "delete"})
        assert answer.headers["location"] == "/login"
    assert not (await memories(noesis, ids))[0].archived
