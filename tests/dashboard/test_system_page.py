"""The page of the system: checks, model, settings, and a bundle that gives nothing away."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile

import httpx
import pytest

from noesis.memory import Role
from noesis.runtime import Noesis
from noesis.settings import Settings, load
from noesis.shown_settings import shown_settings, without_secrets
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS
from tests.dashboard.conftest import remember
from tests.support import Product, WordEmbedder

SECRETS = {
    "NOESIS_REDIS_URL": "redis://worker:rediSecret-1@127.0.0.1:1/0",
    "NOESIS_ADMIN_PASSWORD": "a sentence for the admin",
    "NOESIS_GIT_LFS_TOKEN": "ghp_lfsSecret2",
    "NOESIS_OLLAMA_URL": "http://anna:ollamaSecret3@127.0.0.1:1",
    "NOESIS_GIT_LFS_REPO": "https://bot:gitSecret4@git.example.org/me/memories.git",
}
HIDDEN = ("rediSecret-1", "a sentence for the admin", "ghp_lfsSecret2", "ollamaSecret3", "gitSecret4")


async def shown(admin: httpx.AsyncClient, address: str = "/system") -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", main).split()))


def squeezed(text: str) -> str:
    """The text without blanks, and without the marks of code."""
    return re.sub(r"[\s`]+", "", text)


async def test_every_check_is_a_sentence_with_what_to_do(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    page = squeezed(await shown(admin))
    for part in (await noesis.health.report()).parts:
        assert squeezed(part.summary) in page or part.name == "disk", (
            "what is free changes from moment to moment"
        )
        assert squeezed(part.what_to_do) in page
    page = await shown(admin)
    assert "No place is followed." in page
    assert "No vector was made yet." in page
    assert "<code>noesis worker</code>" in (await admin.get("/system")).text


async def test_the_model_of_now_and_that_of_the_store_are_told(
    admin: httpx.AsyncClient, noesis: Noesis, embedder: WordEmbedder
) -> None:
    await remember(noesis, "The heron comes in the morning.")
    page = await shown(admin)
    assert "words of test, 64 dimensions" in page
    assert "the same model" in page
    assert "1 ready" in page
    embedder.model = "other words"
    assert "another model: search is by words alone" in await shown(admin)
    embedder.down = True
    assert "The embedder does not answer." in await shown(admin)


async def test_upkeep_and_verification_are_started_and_the_verdict_is_told(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    await remember(noesis, "The heron comes in the morning.")
    for what in ("upkeep", "verify"):
        answer = await admin.post(f"/system/{what}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/system?said=started#work")
    page = await shown(admin)
    assert "Compact and index the store due just now" in page
    job = await noesis.jobs.ledger.claim({"verify": 1}, noesis.now_ms())
    assert job is not None
    result = await HANDLERS["verify"].run(JobContext(noesis, job))
    await noesis.jobs.ledger.finish(job, result, noesis.now_ms())
    assert re.search(r"All 1 rows and \d+ files are as they should be\. just now", await shown(admin))


async def test_a_switch_of_models_is_offered_when_it_is_needed_and_can_be_undone(
    admin: httpx.AsyncClient, noesis: Noesis, embedder: WordEmbedder
) -> None:
    await remember(noesis, "The heron comes in the morning.")
    assert "Make all vectors anew" not in await shown(admin)
    assert (await admin.post("/system/reembed")).status_code == 409
    embedder.model = "other words"
    page = await shown(admin)
    assert "1 row is to be embedded anew." in page
    answer = await admin.post("/system/reembed")
    assert answer.headers["location"] == "/system?said=started#work"
    assert "Embed everything anew due just now" in await shown(admin)
    job = await noesis.jobs.ledger.claim({"reembed": 1}, noesis.now_ms())
    assert job is not None
    result = await HANDLERS["reembed"].run(JobContext(noesis, job), **job.args)
    await noesis.jobs.ledger.finish(job, result, noesis.now_ms())
    page = await shown(admin)
    assert "the same model" in page
    assert "Go back to the vectors of before…" in page
    assert "Go back to the vectors of before?" in await shown(admin, "/backups/undo")


class TestWithSecrets:
    @pytest.fixture
    def environ(self) -> dict[str, str]:
        return {**SECRETS, "NOESIS_TOP_K": "9"}

    async def test_settings_stand_with_their_names_and_secrets_do_not(self, admin: httpx.AsyncClient) -> None:
        answer = await admin.get("/system")
        for secret in HIDDEN:
            assert secret not in answer.text
        page = await shown(admin)
        assert "NOESIS_TOP_K 9 default: 6" in page
        assert "NOESIS_REDIS_URL set, not shown" in page
        assert "NOESIS_OLLAMA_URL http://***@127.0.0.1:1" in page
        assert "NOESIS_DATABASE_URL not set" in page

    async def test_the_bundle_holds_no_memory_no_question_and_no_secret(
        self, admin: httpx.AsyncClient, noesis: Noesis
    ) -> None:
        _, token = await noesis.tokens.create(Role.AGENT, ["planner"], "x")
        await remember(noesis, "The heron sleeps in the zinnia bed.", tags=("zinnia",), source="zinnia.md")
        await noesis.jobs.enqueue("import", key="zinnia", args={"path": "/home/zinnia/notes.md"})
        await admin.get("/?q=where+is+the+zinnia")
        answer = await admin.get("/system/support.zip")
        assert answer.headers["content-disposition"] == 'attachment; filename="noesis-support.zip"'
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        for secret in (*HIDDEN, "zinnia", "heron", "planner", token):
            assert [name for name, text in files.items() if secret in text] == [], secret
        assert json.loads(files["counts.json"])["active"]["memories"] == 1
        assert json.loads(files["settings.json"])["NOESIS_TOP_K"] == "9"
        assert json.loads(files["jobs.json"])[0]["name"] == "import"
        assert {part["name"] for part in json.loads(files["health.json"])["parts"]} >= {"store", "disk"}


def test_every_setting_is_shown_once_and_as_it_would_be_given() -> None:
    settings = load(
        {"NOESIS_TTL_DAYS_BY_TYPE": "session=7,decision=0", "NOESIS_ALLOWED_HOSTS": "a.lan,b.lan"}
    )
    by_name = {each.name: each for each in shown_settings(settings)}
    assert len(by_name) == len(Settings.__struct_fields__)
    assert by_name["NOESIS_TTL_DAYS_BY_TYPE"].value == "session=7,decision=0"
    assert by_name["NOESIS_ALLOWED_HOSTS"].value == "a.lan,b.lan"
    assert {name for name, each in by_name.items() if not each.is_default} == {
        "NOESIS_TTL_DAYS_BY_TYPE",
        "NOESIS_ALLOWED_HOSTS",
    }


def test_secrets_are_taken_out_of_any_text() -> None:
    settings = load(SECRETS)
    text = "failed: redis://worker:rediSecret-1@127.0.0.1:1/0 with ghp_lfsSecret2 at http://u:p@host/x"
    assert without_secrets(text, settings) == "failed: *** with *** at http://***@host/x"


async def test_only_who_is_logged_in_sees_and_does_anything(
    visitor: httpx.AsyncClient, product: Product, noesis: Noesis
) -> None:
    agent = await product.agent("planner")
    for address in ("/system", "/system/support.zip"):
        assert (await visitor.get(address)).headers["location"].startswith("/login")
        assert (await agent.get(address)).status_code == 401
    for address in ("/system/upkeep", "/system/verify", "/system/reembed"):
        assert (await visitor.post(address)).headers["location"] == "/login"
    assert (await noesis.jobs.list()).jobs == []
