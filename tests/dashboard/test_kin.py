"""A memory's page and the hits of a search name what replaces it; the page shows what is around and like it."""

from __future__ import annotations

import httpx

from noesis.memory import Role, Scope
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember

ADMIN = Scope(agent=None, role=Role.ADMIN)


async def test_both_sides_of_a_supersession_point_to_each_other(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    old = await remember(noesis, "deploy on <Fridays>")
    new = await remember(noesis, "deploy on Tuesdays")
    await noesis.superseding.link(ADMIN, old, new)
    page = (await admin.get(f"/memories/{old}")).text
    assert f'Superseded by <a href="/memories/{new}" hx-ignore>deploy on Tuesdays</a>' in page
    page = (await admin.get(f"/memories/{new}")).text
    assert f'It supersedes <a href="/memories/{old}" hx-ignore>deploy on &lt;Fridays&gt;</a>' in page
    hits = (await admin.get("/", params={"q": "deploy on Fridays"})).text
    assert hits.index(f'href="/memories/{new}"') < hits.index(f'href="/memories/{old}"')
    assert f'<a href="/memories/{new}">by this one</a>' in hits


async def test_it_shows_what_is_around_and_like_it(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    ids = [
        await remember(noesis, text, session_id="s", position=number)
        for number, text in enumerate(("where is the key", "under the mat", "and the spare key"))
    ]
    page = (await admin.get(f"/memories/{ids[1]}")).text
    around = page[page.index("Around it") : page.index("Like it")]
    assert around.index(ids[0]) < around.index("After") < around.index(ids[2])
    lone = await remember(noesis, "quite alone", "hermit")
    page = (await admin.get(f"/memories/{lone}")).text
    assert "Around it" not in page
    assert "Like it" not in page
