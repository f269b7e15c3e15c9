"""The panel of a memory's page that follows it through a search."""

from __future__ import annotations

import httpx

from noesis.dashboard import memory_pages
from noesis.memory import Role, Scope
from noesis.runtime import Noesis
from noesis.why_not import Stage
from tests.dashboard.conftest import remember


async def panel(admin: httpx.AsyncClient, memory_id: str, question: str | None) -> str:
    """The panel's HTML, from its heading to the end of the page."""
    params = {} if question is None else {"why": question}
    answer = await admin.get(f"/memories/{memory_id}", params=params)
    assert answer.status_code == 200
    return answer.text.split('id="why-title"', 1)[1]


async def test_without_a_question_or_with_a_blank_one_there_is_no_verdict(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    memory_id = await remember(noesis, "the heron")
    for question in (None, "", "  "):
        shown = await panel(admin, memory_id, question)
        assert 'name="why" value=""' in shown
        assert 'role="status"' not in shown
        assert 'role="alert"' not in shown
    invisible = await panel(admin, memory_id, "\u200b")
    assert "query must not be empty or blank." in invisible


async def test_a_hit_is_shown_with_its_place_and_score(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "the heron", "ops")
    await remember(noesis, "the heron of another agent", "writer")
    shown = await panel(admin, memory_id, "heron")
    assert "It is hit 1 of this search." in shown
    assert "Candidate 1 of 1, score 0." in shown, "the search is that of the memory's own agent"
    assert "A question that ops asks" in shown


async def test_what_kept_it_out_is_shown_with_what_brings_it_back(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    for number in range(9):
        await remember(noesis, f"heron number {number}")
    low = await remember(
        noesis, "heron among many other quite different words of no account at all", priority=0
    )
    shown = await panel(admin, low, "heron number")
    assert "6 were asked for." in shown
    assert "Search with a limit of 10." in shown
    await noesis.editing.delete(Scope(agent=None, role=Role.ADMIN), low)
    shown = await panel(admin, low, "heron number")
    assert "It was deleted." in shown
    assert "Undo the deletion on its page." in shown
    assert "Candidate" not in shown


async def test_a_question_is_shown_again_as_text(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "the heron")
    shown = await panel(admin, memory_id, '"><script>alert(1)</script>')
    assert 'value="&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"' in shown
    assert "<script>alert" not in shown


async def test_a_question_that_is_too_long_is_answered_by_its_mistake(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    """Also for a deleted memory, which no question could bring."""
    memory_id = await remember(noesis, "the heron")
    question = "<b>" + "x" * 50_000
    gone = await remember(noesis, "the badger")
    await noesis.editing.delete(Scope(agent="planner"), gone)
    for asked in (memory_id, gone):
        shown = await panel(admin, asked, question)
        assert "query must have at most 50,000 characters.</p>" in shown.split('role="alert"', 1)[1]
        assert "<b>x" not in shown


async def test_the_view_is_kept_while_asking(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "**bold** heron")
    page = (await admin.get(f"/memories/{memory_id}?view=rendered&why=heron")).text
    assert '<input type="hidden" name="view" value="rendered">' in page
    assert "<strong>bold</strong>" in page
    assert "It is hit 1 of this search." in page


def test_every_stage_has_words() -> None:
    assert set(memory_pages._VERDICTS) == set(Stage)
