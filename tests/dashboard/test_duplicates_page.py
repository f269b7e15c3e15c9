"""The page of duplicates: a look is started, findings stand side by side, one or many are decided on."""

from __future__ import annotations

import re

import httpx

from noesis.dashboard.duplicate_cards import marked
from noesis.duplicates.values import Wanted
from noesis.memory import Role, Scope
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import Clock, Product

ADMIN = Scope(agent=None, role=Role.ADMIN)
FRIDAYS = "We deploy the billing service on Fridays at noon."
AGAIN = "On Fridays at noon we deploy the billing service."
WATER = "We water the tomato plants in the greenhouse every evening."
NEVER = "We never water the tomato plants in the greenhouse every evening."


async def shown(admin: httpx.AsyncClient, address: str = "/inbox/duplicates") -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


async def found(noesis: Noesis, clock: Clock, *texts: str, agent: str = "planner") -> list[str]:
    """Memories that were looked through; their ids."""
    ids = []
    for text in texts:
        ids.append(await remember(noesis, text, agent=agent))
        clock.advance(seconds=60)
    await noesis.duplicates.look(None, Wanted(), lambda _done, _total: None, lambda: False)
    return ids


async def ids_of(noesis: Noesis) -> list[str]:
    return [finding.id for finding in (await noesis.duplicates.findings(ADMIN)).findings]


async def test_the_empty_page_says_how_to_begin_and_a_look_is_started_once(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    assert "Nobody has looked yet." in await shown(admin)
    for _ in range(2):
        answer = await admin.post("/inbox/duplicates/look")
        assert answer.headers["location"] == "/inbox/duplicates?said=looking-for-duplicates"
    (job,) = (await noesis.jobs.list()).jobs
    assert (job.name, job.key) == ("dedup", "dedup:*:0.9:None:False")
    assert "Look for near-duplicates due just now" in await shown(admin)


async def test_the_api_and_the_page_start_the_same_look(
    admin: httpx.AsyncClient, product: Product, noesis: Noesis
) -> None:
    await admin.post("/inbox/duplicates/look")
    await (await product.admin()).post("/api/v1/dedup", json={})
    assert len((await noesis.jobs.list()).jobs) == 1


async def test_findings_stand_side_by_side_with_what_tells_them_apart(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await found(noesis, clock, WATER, NEVER)
    text = (await admin.get("/inbox/duplicates")).text
    assert "<mark>never</mark>" in text
    page = await shown(admin)
    assert "A newer statement and an older one" in page
    assert "Supersede , finding 1 Keep both , finding 1 Delete the others , finding 1" in page
    assert "Nothing of this kind waits." in await shown(admin, "/inbox/duplicates?kind=exact")
    assert (await admin.get("/inbox/duplicates?cursor=x")).status_code == 400


async def test_one_is_merged_into_the_one_that_was_chosen(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    first, second = await found(noesis, clock, FRIDAYS, AGAIN)
    (finding,) = await ids_of(noesis)
    fields = {"decision": "merge", "keep": first, "kind": "near"}
    answer = await admin.post(f"/inbox/duplicates/{finding}", data=fields)
    assert answer.headers["location"] == "/inbox/duplicates?kind=near&said=decided"
    assert not (await noesis.browsing.get(ADMIN, first)).archived
    assert (await noesis.browsing.get(ADMIN, second)).archive_reason == "merged"
    assert (await noesis.audit.newest(1))[0].action == "duplicates merged"
    again = await admin.post(f"/inbox/duplicates/{finding}", data=fields)
    assert again.status_code == 409
    assert "This was decided before." in again.text


async def test_many_are_decided_alike_and_what_does_not_fit_is_told(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await found(noesis, clock, FRIDAYS, AGAIN, WATER, NEVER)
    both = await ids_of(noesis)
    assert len(both) == 2
    answer = await admin.post("/inbox/duplicates/many", data={"id": both, "decision": "merge"})
    assert answer.status_code == 409
    assert "1 decided. 1 not: This can be decided as" in answer.text
    (left,) = await ids_of(noesis)
    answer = await admin.post("/inbox/duplicates/many", data={"id": [left], "decision": "keep_both"})
    assert answer.headers["location"] == "/inbox/duplicates?said=decided"
    assert await ids_of(noesis) == []


async def test_a_mistake_brings_the_page_back_and_changes_nothing(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await found(noesis, clock, FRIDAYS, AGAIN)
    (finding,) = await ids_of(noesis)
    for address, fields, words in (
        ("many", {"decision": "merge"}, "Choose the findings"),
        ("many", {"id": finding}, "Choose what is to be done."),
        (finding, {"decision": "burn"}, "Choose what is to be done."),
        (finding, {"decision": "merge", "keep": "another"}, "keep must be one of"),
    ):
        answer = await admin.post(f"/inbox/duplicates/{address}", data=fields)
        assert answer.status_code == 400
        assert words in answer.text
    assert (await admin.post("/inbox/duplicates/never-was", data={"decision": "merge"})).status_code == 404
    assert await ids_of(noesis) == [finding]


async def test_what_the_texts_say_is_no_markup(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await found(noesis, clock, "The <b>shop</b> opens at 5.", "The <b>shop</b> opens at 6.")
    text = (await admin.get("/inbox/duplicates")).text
    assert "<b>shop" not in text
    assert "&lt;b&gt;shop" in text


async def test_only_who_is_logged_in_decides(
    visitor: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    await found(noesis, clock, FRIDAYS, AGAIN)
    (finding,) = await ids_of(noesis)
    assert (await visitor.get("/inbox/duplicates")).headers["location"].startswith("/login")
    for address in ("look", "many", finding):
        answer = await visitor.post(
            f"/inbox/duplicates/{address}", data={"decision": "delete", "id": finding}
        )
        assert answer.headers["location"] == "/login"
    assert await ids_of(noesis) == [finding]


def test_words_that_only_one_text_has_are_marked() -> None:
    pieces = marked("The PORT is 5433 now", ["The port is 5432"])
    assert pieces == (("The PORT is ", False), ("5433", True), (" ", False), ("now", True))
    assert marked("Same", ["same"]) == (("Same", False),)


async def test_the_bar_counts_findings_until_they_are_decided_on_or_overtaken(
    admin: httpx.AsyncClient, noesis: Noesis, clock: Clock
) -> None:
    async def counts(address: str = "/agents") -> tuple[str, ...]:
        text = (await admin.get(address)).text
        return tuple(re.findall(r'class="count">(\d+)|(?:texts|Duplicates) \((\d+)\)', text)[0])

    first, _ = await found(noesis, clock, FRIDAYS, AGAIN)
    await found(noesis, clock, WATER, NEVER, agent="writer")
    assert await counts() == ("2", "")
    assert "Duplicates (2)" in await shown(admin)
    (one, *_) = await ids_of(noesis)
    await noesis.editing.delete(ADMIN, first)
    await shown(admin)
    assert await counts() == ("1", "")
    (left,) = await ids_of(noesis)
    assert left != one
    await admin.post(f"/inbox/duplicates/{left}", data={"decision": "keep_both"})
    assert 'class="count"' not in (await admin.get("/agents")).text
