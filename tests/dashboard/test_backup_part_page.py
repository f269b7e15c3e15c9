"""Bringing a part of a backup back: looked at beside what is there now, then chosen."""

from __future__ import annotations

import html
import re

import httpx

from noesis.editing import Edit
from noesis.memory import MemoryFilter, Role, Scope
from noesis.runtime import Noesis
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS
from tests.dashboard.conftest import remember
from tests.dashboard.test_backups_page import looked_at

ADMIN = Scope(agent=None, role=Role.ADMIN)


async def shown(admin: httpx.AsyncClient, address: str) -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", main).split()))


async def texts(noesis: Noesis) -> set[str]:
    return {memory.text for memory in (await noesis.browsing.page(ADMIN, MemoryFilter())).memories}


async def restore(noesis: Noesis) -> None:
    """Carry out the waiting restore, as a worker does."""
    job = await noesis.jobs.ledger.claim({"restore": 1}, noesis.now_ms())
    assert job is not None
    await noesis.jobs.ledger.finish(
        job, await HANDLERS["restore"].run(JobContext(noesis, job), **job.args), noesis.now_ms()
    )


async def kept(noesis: Noesis) -> tuple[str, str, str]:
    """A backup of two memories, one of which was changed since; its address and their ids."""
    first = await remember(noesis, "The heron comes at six.")
    second = await remember(noesis, "The boat lies in the shed.", agent="writer")
    backup = await noesis.backups.create()
    await noesis.editing.edit(ADMIN, first, Edit(text="The heron comes at seven."))
    return f"/backups/{backup.name}/part", first, second


async def test_a_part_stands_beside_what_is_there_now(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    address, _, _ = await kept(noesis)
    assert "Bring the chosen back" not in await shown(admin, address)
    look = await looked_at(admin, noesis, f"{address}?agent=planner")
    page = await shown(admin, look)
    assert "different now in the backup The heron comes at six . now The heron comes at seven ." in page
    assert "<mark>seven</mark>" in (await admin.get(look)).text
    for agent, words in (("writer", "All of this part is as it was."), ("coder", "The backup holds nothing")):
        assert words in await shown(admin, await looked_at(admin, noesis, f"{address}?agent={agent}"))
    # What is seen of one part is not shown as another's.
    other = look.replace("agent=planner", "agent=writer")
    assert (await admin.get(other)).status_code == 303


async def test_the_chosen_ones_come_back(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    address, first, _ = await kept(noesis)
    await remember(noesis, "Said since.")
    answer = await admin.post(address, data={"agent": "planner", "id": [first]})
    assert (answer.status_code, answer.headers["location"]) == (303, "/backups?said=part-started")
    await restore(noesis)
    assert await texts(noesis) == {"The heron comes at six.", "The boat lies in the shed.", "Said since."}


async def test_the_whole_part_comes_back(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    address, _, second = await kept(noesis)
    await noesis.editing.edit(ADMIN, second, Edit(text="The boat is at sea."))
    await admin.post(address, data={"agent": "writer", "which": "all"})
    await restore(noesis)
    assert await texts(noesis) == {"The heron comes at seven.", "The boat lies in the shed."}


async def test_a_mistake_brings_the_page_back_and_starts_nothing(
    admin: httpx.AsyncClient, visitor: httpx.AsyncClient, noesis: Noesis
) -> None:
    address, first, _ = await kept(noesis)
    for fields, words in (
        ({"agent": "planner"}, "Choose the memories"),
        ({"which": "all"}, "Choose the memories"),
        ({"agent": "no name", "which": "all"}, 'id="agent-mistake"'),
    ):
        answer = await admin.post(address, data=fields)
        assert answer.status_code == 400
        assert words in answer.text
    assert (await admin.get(f"{address}?agent=no+name")).status_code == 400
    assert (await admin.get("/backups/none.tar.gz/part")).status_code == 404
    assert (await visitor.post(address, data={"id": first})).headers["location"] == "/login"
    assert (await noesis.jobs.list()).jobs == []
