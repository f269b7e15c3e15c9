"""The pages of one memory over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import pytest

from noesis.errors import StoreFull
from noesis.memory import MemoryType, Role, Scope
from noesis.runtime import Noesis
from noesis.store import Row, Table
from tests.dashboard.conftest import remember

ADMIN = Scope(agent=None, role=Role.ADMIN)


async def fields_of(noesis: Noesis, memory_id: str, **changes: str) -> dict[str, str]:
    """What a browser would send for the untouched form, with some fields changed."""
    memory = await noesis.browsing.get(ADMIN, memory_id)
    shown = {
        "text": memory.text.replace("\n", "\r\n"),
        "memory_type": memory.memory_type.value,
        "priority": "" if memory.priority_set_by == "type" else str(memory.priority),
        "tags": ", ".join(memory.tags),
        "ttl_days": "",
        "seen": memory.content_hash,
    }
    return shown | changes


async def test_it_tells_everything_in_words(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(
        noesis,
        "Line one\n\nline <two>",
        "ops",
        source="infra.md",
        position=3,
        author="Ana",
        author_role="user",
        tags=("nas",),
        ttl_days=62.5,
        session_id="s-1",
    )
    page = (await admin.get(f"/memories/{memory_id}")).text
    assert "Line one\n\nline &lt;two&gt;</pre>" in page
    for shown in ("in 62 days", "30 (from its type)", "infra.md", "Ana (user)", "s-1", "nas", memory_id):
        assert shown in page
    assert "ready: found by meaning and by words" in page


async def test_it_never_expires_in_words(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "for good", ttl_days=0)
    assert "<dd>never</dd>" in (await admin.get(f"/memories/{memory_id}")).text.replace("\n", "")


async def test_a_life_of_a_century_is_shown(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "for long", ttl_days=36_500)
    assert "in 100 years" in (await admin.get(f"/memories/{memory_id}")).text


async def test_the_rendered_view_is_its_own_address(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "**bold** and [link](https://example.com)")
    raw = (await admin.get(f"/memories/{memory_id}")).text
    rendered = (await admin.get(f"/memories/{memory_id}?view=rendered")).text
    assert "**bold**" in raw.split("<pre", 1)[1]
    assert "<strong>bold</strong>" in rendered
    assert 'rel="noopener nofollow"' in rendered


async def test_what_was_typed_is_kept_when_the_disk_is_full(
    admin: httpx.AsyncClient, noesis: Noesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_id = await remember(noesis, "the ladder stands behind the shed")
    fields = await fields_of(noesis, memory_id, text="the ladder was lent to Ana")

    async def full(_table: Table, _rows: Sequence[Row]) -> None:
        raise StoreFull("There is no room left on the disk.")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Table, "upsert", full)
        answer = await admin.post(f"/memories/{memory_id}/edit", data=fields)
    assert answer.status_code == 507
    assert "There is no room left on the disk." in answer.text
    assert "the ladder was lent to Ana</textarea>" in answer.text
    assert (await noesis.browsing.get(ADMIN, memory_id)).text == "the ladder stands behind the shed"


async def test_its_page_follows_a_question_to_it(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "the ladder stands behind the shed")
    for number in range(8):
        await remember(noesis, f"where the heron stands in pond number {number}")
    verdicts = {
        "": "Is it found?",
        "ladder behind the shed": "<strong>Yes.</strong> It is hit 1",
        "where the heron stands": "<strong>No: others fit better.</strong> It was candidate 9 of 9",
        "x" * 50_001: "query must have at most",
    }
    for asked, verdict in verdicts.items():
        answer = await admin.get(f"/memories/{memory_id}", params={"why": asked})
        assert answer.status_code == 200
        assert verdict in answer.text


async def test_an_unknown_memory_is_a_404_page(admin: httpx.AsyncClient) -> None:
    for path in ("", "/edit", "/delete"):
        answer = await admin.get(f"/memories/0b0e2c1e-7a5c-5c2f-9a3b-1f6c8b0d9e11{path}")
        assert answer.status_code == 404
        assert "Nothing here" in answer.text
        assert "Log out" in answer.text


async def test_an_edit_changes_what_the_form_changed(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "old\nwords", "ops", tags=("a",))
    fields = await fields_of(
        noesis,
        memory_id,
        text="new\r\nwords",
        memory_type="decision",
        tags="b, c",
        priority="7",
        ttl_days="0",
    )
    answer = await admin.post(f"/memories/{memory_id}/edit", data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/memories/{memory_id}?said=edited")
    memory = await noesis.browsing.get(ADMIN, memory_id)
    assert (memory.text, memory.memory_type, memory.tags) == ("new\nwords", MemoryType.DECISION, ("b", "c"))
    assert (memory.priority, memory.agent_id) == (7, "ops")
    assert "Saved." in (await admin.get(answer.headers["location"])).text
    assert (await noesis.audit.newest(1))[0].action == "memory edited"


async def test_an_untouched_form_changes_nothing(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "as it is\n\n  indented", priority=40, tags=("a", "b"))
    before = await noesis.browsing.get(ADMIN, memory_id)
    answer = await admin.post(f"/memories/{memory_id}/edit", data=await fields_of(noesis, memory_id))
    assert answer.headers["location"].endswith("?said=unchanged")
    assert await noesis.browsing.get(ADMIN, memory_id) == before


MISTAKES = [
    ("priority", "900", "whole number from 0 to 100"),
    ("priority", "high", "whole number from 0 to 100"),
    ("ttl_days", "soon", "must be a number"),
    ("ttl_days", "-1", "must lie between"),
    ("ttl_days", "nan", "must lie between"),
    ("memory_type", "rumour", "type must be one of"),
    ("tags", "x" * 65, "A tag must have"),
    ("text", " ", "must not be empty"),
    ("text", "x" * 500_001, "at most"),
]


async def test_a_mistake_is_named_at_its_field_and_everything_typed_is_kept(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    memory_id = await remember(noesis, "kept as it is")
    for field, value, message in MISTAKES:
        fields = await fields_of(noesis, memory_id, **{"tags": "typed, before", field: value})
        answer = await admin.post(f"/memories/{memory_id}/edit", data=fields)
        assert answer.status_code in (400, 413), field
        assert f'id="{field}-mistake"' in answer.text
        assert message in answer.text
        assert fields["tags"] in answer.text
        assert value in answer.text or field == "memory_type"
    assert (await noesis.browsing.get(ADMIN, memory_id)).text == "kept as it is"


async def test_a_text_that_changed_meanwhile_is_not_overwritten(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    memory_id = await remember(noesis, "first")
    stale = await fields_of(noesis, memory_id, text="mine")
    await admin.post(f"/memories/{memory_id}/edit", data=await fields_of(noesis, memory_id, text="theirs"))
    answer = await admin.post(f"/memories/{memory_id}/edit", data=stale)
    assert answer.status_code == 409
    assert "mine</textarea>" in answer.text
    assert (await noesis.browsing.get(ADMIN, memory_id)).text == "theirs"


async def test_the_largest_text_fits_through_the_form(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "short")
    text = ("é" * 999 + " ") * 499
    answer = await admin.post(
        f"/memories/{memory_id}/edit", data=await fields_of(noesis, memory_id, text=text)
    )
    assert answer.status_code == 303
    assert len((await noesis.browsing.get(ADMIN, memory_id)).text) == len(text.strip())


async def test_deleting_asks_first_and_can_be_undone(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "going and coming")
    assert "Delete this memory?" in (await admin.get(f"/memories/{memory_id}/delete")).text
    assert not (await noesis.browsing.get(ADMIN, memory_id)).archived

    gone = await admin.post(f"/memories/{memory_id}/delete")
    page = (await admin.get(gone.headers["location"])).text
    assert "Deleted." in page
    assert "Bring it back" in page
    assert "going and coming" not in (await admin.get("/")).text
    assert (await admin.get(f"/memories/{memory_id}/edit")).status_code == 404

    back = await admin.post(f"/memories/{memory_id}/undelete")
    assert "It is back." in (await admin.get(back.headers["location"])).text
    assert "going and coming" in (await admin.get("/")).text
    assert (await admin.post(f"/memories/{memory_id}/undelete")).status_code == 409


async def test_looking_changes_nothing(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "only looked at")
    before = await noesis.browsing.get(ADMIN, memory_id)
    for path in (
        "/",
        "/?q=looked",
        f"/memories/{memory_id}",
        f"/memories/{memory_id}/edit",
        f"/memories/{memory_id}/delete",
    ):
        assert (await admin.get(path)).status_code == 200
    assert await noesis.browsing.get(ADMIN, memory_id) == before


async def test_its_history_tells_what_happened_and_by_whom(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    memory_id = await remember(noesis, "line one", "ops", tags=("<b>",))
    form = await fields_of(noesis, memory_id, priority="80", tags="nas")
    assert (await admin.post(f"/memories/{memory_id}/edit", data=form)).status_code == 303
    page = (await admin.get(f"/memories/{memory_id}")).text
    history = page[page.index('id="history-title"') :]
    assert history.index("<strong>Changed</strong> by administrator") < history.index(
        "<strong>Stored</strong>"
    )
    assert "priority: 30 → 80" in history
    assert "tags: &lt;b&gt; → nas" in history
    assert history.count("<time datetime=") == 2
