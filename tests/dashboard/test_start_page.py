"""The first steps: what is found, what is left, a first memory, and the end of them."""

from __future__ import annotations

import html
import re
from pathlib import Path

import httpx
import pytest

from noesis.ledger import Beat
from noesis.memory import MemoryFilter, Role, Scope
from noesis.runtime import Noesis
from tests.dashboard.conftest import remember
from tests.support import WordEmbedder

ADMIN = Scope(agent=None, role=Role.ADMIN)
OPEN = "Some first steps may still be open"


async def shown(admin: httpx.AsyncClient, address: str = "/start") -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", main).split()))


async def test_all_that_is_to_be_done_stands_there(admin: httpx.AsyncClient) -> None:
    page = await shown(admin)
    for words in (
        "Set the password done",
        "What is on this machine as you like",
        "OpenClaw was looked for at ~/.openclaw",
        "Make a token to do",
        "http://localhost/plugin/openclaw-noesis.tgz",
        "A first memory to do",
    ):
        assert words in page, words
    assert OPEN in await shown(admin, "/")


async def test_a_model_that_is_missing_is_told_of_with_its_download(
    admin: httpx.AsyncClient, noesis: Noesis, embedder: WordEmbedder
) -> None:
    embedder.down = True
    await remember(noesis, "The heron comes in the morning.")
    page = await shown(admin)
    assert "A model that understands what is meant to do" in page
    assert "found by their words until then" in page
    await noesis.jobs.enqueue("prepare_model")
    job = await noesis.jobs.ledger.claim({"prepare_model": 1}, noesis.now_ms())
    assert job is not None
    await noesis.jobs.ledger.beat({job.id: Beat(job.claims, 64 << 20, 256 << 20)}, noesis.now_ms())
    text = (await admin.get("/start")).text
    assert '<progress value="67108864" max="268435456"' in text
    assert "64.0 MB of 256.0 MB" in text
    assert 'hx-trigger="every 3s"' in text


async def test_a_first_memory_is_stored_by_hand(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    answer = await admin.post("/start/memory", data={"text": "Releases go out on Tuesdays.", "agent": "Main"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/start?said=stored#memory")
    (memory,) = (await noesis.browsing.page(ADMIN, MemoryFilter())).memories
    assert (memory.text, memory.agent_id) == ("Releases go out on Tuesdays.", "main")
    assert "A first memory done" in await shown(admin)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": " ", "agent": "main"}, "text"),
        ({"text": "x", "agent": "not a name"}, "agent"),
        ({"agent": "main"}, "text"),
    ],
)
async def test_a_mistake_brings_the_form_back(
    admin: httpx.AsyncClient, noesis: Noesis, fields: dict[str, str], words: str
) -> None:
    answer = await admin.post("/start/memory", data=fields)
    assert answer.status_code == 400
    assert f'id="{words}-mistake"' in answer.text
    assert f'value="{fields["agent"]}"' in answer.text
    assert (await noesis.browsing.page(ADMIN, MemoryFilter())).memories == ()


class TestWithOpenClaw:
    @pytest.fixture
    def environ(self, tmp_path: Path) -> dict[str, str]:
        home = tmp_path / "claw"
        (home / "workspace").mkdir(parents=True)
        (home / "workspace" / "MEMORY.md").write_text("# Notes\n\nThe heron comes in the morning.\n")
        (home / "openclaw.json").write_text("{}")
        return {"NOESIS_OPENCLAW_HOME": str(home)}

    async def test_what_is_found_of_openclaw_is_told(self, admin: httpx.AsyncClient) -> None:
        page = await shown(admin)
        assert "What is on this machine done" in page
        assert "OpenClaw's places were found:" in page


async def test_they_end_by_themselves_when_all_is_done(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    _, secret = await noesis.tokens.create(Role.GATEWAY, ["*"], "openclaw")
    await remember(noesis, "The heron comes in the morning.")
    assert "All is set up." not in await shown(admin)
    await noesis.tokens.authenticate(secret)
    page = await shown(admin)
    assert "All is set up." in page
    assert "Connect OpenClaw, or anything else done" in page
    assert OPEN not in await shown(admin, "/")


async def test_they_end_when_nobody_needs_them(admin: httpx.AsyncClient, visitor: httpx.AsyncClient) -> None:
    assert (await visitor.post("/start/end")).headers["location"] == "/login"
    assert (await visitor.get("/start")).headers["location"].startswith("/login")
    assert OPEN in await shown(admin, "/")
    assert (await admin.post("/start/end")).headers["location"] == "/"
    assert OPEN not in await shown(admin, "/")
