"""What somebody who looks after Noesis does, each once with scripts and once without: agents to system."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from noesis.errors import Unauthorized
from noesis.memory import MemoryType
from noesis.runtime import Noesis
from tests.browser.conftest import Window, log_in, remember, watched
from tests.browser.server import Served, serving
from tests.browser.walks import Walk, Walkers, choose_all, enqueue, fail, walkers, work

__all__ = ["walkers"]


def tokens(window: Window, served: Served, word: str) -> None:
    page = window.goto("/agents")
    page.get_by_label("Name, to know it again").fill(f"gateway {word}")
    page.get_by_label("Role").select_option("gateway")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("#agents-mistake")).to_be_visible()
    expect(page.get_by_label("Role")).to_have_value("gateway")
    page.get_by_label("Agents, with commas between").fill("*")
    page.get_by_role("button", name="Make it").click()
    secret = page.get_by_label("The token").inner_text()
    assert secret.startswith("nse_")
    page.get_by_role("link", name="I have copied it").click()
    assert secret not in page.content()
    page.get_by_role("link", name=f"Revoke… gateway {word}").click()
    page.get_by_role("link", name="Keep it").click()
    served.run(lambda noesis: noesis.tokens.authenticate(secret))
    page.get_by_role("link", name=f"Revoke… gateway {word}").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_text("The token is worthless from now on.")).to_be_visible()
    expect(page.get_by_text(f"gateway {word}")).to_have_count(0)
    with pytest.raises(Unauthorized):
        served.run(lambda noesis: noesis.tokens.authenticate(secret))


def policy(window: Window, served: Served, word: str) -> None:
    remember(served, "The heron comes in the morning.", word)
    page = window.goto("/agents")
    page.get_by_role("link", name=word, exact=True).click()
    page.get_by_label("May search the memories of other agents").check()
    page.get_by_label("Secrets in its texts").select_option("block")
    page.get_by_label("Most memories").fill("few")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#max_memories-mistake")).to_be_visible()
    page.get_by_label("Most memories").fill("1")
    page.get_by_label("Most writes a minute").fill("30")
    page.get_by_label("session", exact=True).fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("session", exact=True)).to_have_value("7")
    expect(page.get_by_label("May search the memories of other agents")).to_be_checked()
    window.goto("/agents")
    expect(page.locator("tr", has_text=word).first).to_contain_text("at most 1 memor")


def prompt(window: Window, served: Served, word: str) -> None:
    remember(served, "Herons are never fed.", f"reader-{word}", memory_type=MemoryType.DECISION)
    remember(served, "The ferry leaves at noon.", f"reader-{word}")
    page = window.goto(f"/agents/reader-{word}")
    page.get_by_role("textbox", name="A prompt").fill("When does the ferry leave?")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("status").filter(has_text="tokens")).to_contain_text("2 memories")
    expect(page.locator(".hit", has_text="Herons")).to_be_visible()
    page.get_by_text("The block, word for word").click()
    expect(page.locator("pre.raw")).to_contain_text("The ferry leaves at noon.")
    page.locator(".hit-link", has_text="ferry").click()
    expect(page.get_by_role("heading", name="The ferry leaves at noon.")).to_be_visible()


def stats(window: Window, served: Served, word: str) -> None:
    remember(served, f"The {word} swan sleeps.", f"swan-{word}")
    page = window.goto("/stats")
    page.get_by_text("As a table").first.click()
    expect(page.locator(".chart table").first).to_be_visible()
    page.get_by_role("link", name=f"swan-{word}", exact=True).click()
    expect(page.get_by_role("heading", name=f"swan-{word}")).to_be_visible()


def activity(window: Window, served: Served, word: str) -> None:
    fail(served, "backup", "There is no room left on the disk.")
    fail(served, "import", "The line broke.")
    enqueue(served, "cleanup")
    page = window.goto("/activity")
    expect(page.locator("nav .count")).to_have_text("2 failed")
    button(page, "Make a backup", "I have seen it").click()
    expect(page.get_by_text("It is counted no longer.")).to_be_visible()
    button(page, "Import memories", "Try again").click()
    expect(page.get_by_text("It will be tried again.")).to_be_visible()
    for what in ("Import memories", "Archive what has expired"):
        button(page, what, "Stop").click()
        expect(page.get_by_text("It was taken off the list.")).to_be_visible()
    row = page.locator("tr", has_text="Compact and index the store").first
    row.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("It was started")).to_be_visible()
    work(served, "upkeep")
    window.goto("/activity")
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


def language(window: Window, served: Served, word: str) -> None:
    page = window.goto(f"/?q={word}")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.get_by_role("searchbox")).to_have_value(word)
    expect(page.locator("html[lang=de]")).to_have_count(1)
    page.get_by_role("link", name="System").click()
    page.get_by_label("Sprache der Seiten").select_option("zh")
    page.get_by_role("button", name="Wählen").click()
    expect(page.get_by_label("页面语言")).to_have_value("zh")
    page.get_by_label("页面语言").select_option("auto")
    page.get_by_role("button", name="选择", exact=True).click()
    expect(page.get_by_label("Language of the pages")).to_have_value("auto")


def button(page: Page, job: str, name: str) -> Locator:
    """A button beside a job."""
    return page.locator(".jobs > li", has_text=job).first.get_by_role("button", name=name)


def log(window: Window, served: Served, word: str) -> None:
    async def note(noesis: Noesis) -> None:
        await noesis.activity.record("import", f"Brought in {word}.", agent=word)
        await noesis.activity.record("recovery", f"Set aside {word}.", level="warning", agent=word)

    served.run(note)
    page = window.goto("/activity")
    rows = page.locator("table.log tbody tr")
    page.get_by_role("textbox", name="Agent").fill(word)
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(2)
    page.get_by_label("Level").select_option("warning")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(f"Set aside {word}.")
    page.get_by_label("Kind").select_option("import")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Show all of them").click()
    expect(rows.first).to_contain_text("Set aside")


def backups(window: Window, served: Served, word: str) -> None:
    agent = f"keeper-{word}"
    for text in (f"The {word} heron comes at six.", f"The {word} boat is in the shed."):
        remember(served, text, agent)
    page = window.goto("/backups")
    page.get_by_role("button", name="Make a backup").click()
    expect(page.get_by_text("A backup is being made.")).to_be_visible()
    work(served, "backup")
    for button, said, job in (
        ("Verify", "It is being verified", "verify"),
        ("Prove the newest now", "compared", "drill"),
    ):
        window.goto("/backups")
        page.get_by_role("button", name=button).first.click()
        expect(page.get_by_role("status").filter(has_text=said)).to_be_visible()
        work(served, job)
    for button in ("Bring the chosen back", "Bring the whole part back"):
        lose(served, agent)
        window.goto("/backups")
        expect(page.get_by_text("The last proven restore was just now.")).to_be_visible()
        page.get_by_role("link", name="Restore…").first.click()
        expect(page.get_by_role("heading", name="Looking at this backup")).to_be_visible()
        work(served, "preview")
        page.get_by_role("link", name="only a part of it").click()
        page.get_by_label("Agent").fill(agent)
        page.get_by_role("button", name="Look").click()
        expect(page.get_by_role("heading", name="Looking at this backup")).to_be_visible()
        work(served, "preview")
        expect(page.locator(".picks .hit")).to_have_count(2)
        choose_all(page)
        page.get_by_role("button", name=button).click()
        expect(page.get_by_text("The part is being brought back.")).to_be_visible()
        work(served, "restore")
        window.goto(f"/?agent={agent}")
        expect(page.locator(".hit-link")).to_have_count(2)


def lose(served: Served, agent: str) -> None:
    """Delete all that an agent remembers."""

    async def delete(noesis: Noesis) -> None:
        from noesis.memory import MemoryFilter, Role, Scope

        scope = Scope(None, Role.ADMIN)
        for memory in (await noesis.browsing.page(scope, MemoryFilter(), agent=agent)).memories:
            await noesis.editing.delete(scope, memory.id)

    served.run(delete)


def system(window: Window, served: Served, word: str) -> None:
    remember(served, f"The {word} tern flies far.", "planner")
    page = window.goto("/system")
    with page.expect_download() as fetched:
        page.get_by_role("link", name="Support bundle").first.click()
    with zipfile.ZipFile(fetched.value.path()) as bundle:
        assert {"health.json", "settings.json"} <= set(bundle.namelist())
        assert not any(b"tern flies" in bundle.read(name) for name in bundle.namelist())
    for button, job in (("Verify it now", "verify"), ("Compact and index it now", "upkeep")):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_text("It was started")).to_be_visible()
        work(served, job)
    window.goto("/system")
    expect(page.locator("#upkeep-title + dl")).to_contain_text("are as they should be")


def models(window: Window, served: Served, word: str) -> None:
    remember(served, f"The {word} tern comes back.", "planner")
    served.embedder.model, was = f"words {word}", served.embedder.model
    try:
        page = window.goto("/system")
        page.get_by_role("button", name="Make all vectors anew").click()
        expect(page.get_by_text("It was started")).to_be_visible()
        work(served, "reembed")
        window.goto("/system")
        expect(page.get_by_text("the same model")).to_be_visible()
        page.get_by_role("link", name="Go back to the vectors of before…").click()
        page.get_by_role("button", name="Undo it").click()
        expect(page.get_by_role("status").filter(has_text="undone")).to_be_visible()
        work(served, "restore")
    finally:
        served.embedder.model = was
    window.goto("/system")
    expect(page.get_by_text("the same model")).to_be_visible()


WALKS: dict[str, tuple[Walk, tuple[str, ...]]] = {
    "tokens": (tokens, ("POST /agents/tokens", "POST /agents/tokens/*/revoke")),
    "policy": (policy, ("POST /agents/*/policy",)),
    "prompt": (prompt, ("GET /agents/*",)),
    "stats": (stats, ()),
    "activity": (
        activity,
        (
            "POST /activity/jobs/*/seen",
            "POST /activity/jobs/*/retry",
            "POST /activity/jobs/*/cancel",
            "POST /activity/run/*",
        ),
    ),
    "log": (log, ("GET /activity",)),
    "backups": (
        backups,
        (
            "POST /backups/make",
            "POST /backups/*/verify",
            "POST /backups/prove",
            "GET /backups/*/part",
            "POST /backups/*/part",
        ),
    ),
    "system": (system, ("POST /system/verify", "POST /system/upkeep")),
    "language": (language, ("POST /language",)),
    "models": (models, ("POST /system/reembed", "POST /backups/undo")),
}


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("name", WALKS)
def test_what_is_done_in_the_dashboard_is_done(name: str, scripts: bool, walkers: Walkers) -> None:
    walkers.take(*WALKS[name], scripts=scripts)


SNAPSHOTS = ("POST /backups/snapshots/take", "POST /backups/snapshots/fetch")


def test_snapshots_are_taken_and_fetched_back(chromium: Browser, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
    with serving(tmp_path / "data", git_lfs_enabled=True, git_lfs_repo=str(remote)) as served:
        for scripts in (True, False):
            remember(served, f"Herons, scripts: {scripts}.")
            with watched(chromium, served, java_script_enabled=scripts) as window:
                log_in(window, served)
                page = window.goto("/backups")
                page.get_by_role("button", name="Take one now").click()
                expect(page.get_by_text("A snapshot is being taken.")).to_be_visible()
                work(served, "snapshot")
                window.goto("/backups")
                expect(page.locator("#snapshots")).to_contain_text("pushed just now to main")
                if scripts:
                    page.get_by_role("button", name="Fetch back").first.click()
                else:
                    page.get_by_role("button", name="Fetch", exact=True).click()
                expect(page.get_by_text("It is being fetched. Once it was compared")).to_be_visible()
                work(served, "fetch_snapshot")
                window.goto("/backups")
                expect(page.get_by_role("link", name="Restore… snapshot-").first).to_be_visible()
                assert set(SNAPSHOTS) <= window.sent
