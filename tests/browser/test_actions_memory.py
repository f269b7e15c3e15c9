"""What somebody who looks after memories does, each once with scripts and once without: search to sources."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from noesis.duplicates.values import Wanted
from noesis.embedding import EmbeddingFailure
from noesis.memory import MemoryType
from noesis.runtime import Noesis
from tests.browser.conftest import PASSWORD, Window, remember, watched
from tests.browser.server import Served, serving
from tests.browser.test_sources_inbox import NOTE, hold, scan
from tests.browser.walks import Walk, Walkers, choose_all, walkers, work

__all__ = ["walkers"]

WORDS_OF_TWINS = {
    "scripted": ("deploy the billing service", "water the tomato plants", "paint the garden fence"),
    "plain": ("archive the client letters", "sharpen the kitchen knives", "rotate the server logs"),
}


def search(window: Window, served: Served, word: str) -> None:
    for kind in (MemoryType.FACT, MemoryType.DECISION):
        remember(served, f"The {word} crane is a {kind}.", word, memory_type=kind, tags=("bird", kind.value))
    page = window.goto("/")
    page.get_by_label("Search the memories").fill(f"{word} crane")
    page.get_by_label("Agent").select_option(word)
    page.get_by_label("Type").select_option("decision")
    page.get_by_text("More filters").click()
    page.get_by_label("Tags").fill("bird, decision")
    page.get_by_label("Search by", exact=True).select_option("keyword")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".hit-link")).to_have_count(1)
    page.get_by_label("Archive", exact=True).select_option("only")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_role("heading", name="Nothing fits")).to_be_visible()
    page.get_by_role("link", name="Drop the filters").click()
    expect(page.locator(".hit mark").first).to_be_visible()


def chosen(window: Window, served: Served, word: str) -> None:
    for number in range(3):
        remember(served, f"The {word} lark number {number}.", f"lark-{word}")
    page = window.goto(f"/?q=lark&agent=lark-{word}")
    hits = page.locator(".hit")
    page.get_by_role("button", name="With the chosen…").click()
    expect(page.get_by_text("Choose memories first")).to_be_visible()
    hits.filter(has_text="number 1").get_by_role("checkbox").check()
    page.get_by_role("button", name="With the chosen…").click()
    expect(page.get_by_role("heading", name="One memory")).to_be_visible()
    page.get_by_label("Priority").fill("101")
    page.get_by_role("button", name="Change this memory").click()
    expect(page.locator("#priority-mistake")).to_be_visible()
    page.get_by_label("Priority").fill("9")
    page.get_by_label("Add tags").fill(f"{word}-tag")
    page.get_by_role("button", name="Change this memory").click()
    expect(page.get_by_role("heading", name="One memory was changed")).to_be_visible()
    expect(page.get_by_text("priority 9")).to_be_visible()
    page.get_by_role("link", name="Back to the list").click()
    for button, count, said in (
        ("Move to the archive", 3, "3 memories were moved to the archive"),
        ("Delete", 3, "3 memories were deleted"),
    ):
        expect(hits).to_have_count(count)
        page.get_by_role("button", name="With all 3 shown…").click()
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("heading", name=said)).to_be_visible()
        page.get_by_role("button", name="Undo this").click()
        expect(page.get_by_text("Undone: they are as they were.")).to_be_visible()
    expect(hits).to_have_count(3)
    expect(page.locator(".tag")).to_have_text([f"{word}-tag"])


def memory(window: Window, served: Served, word: str) -> None:
    served.embedder.broken[f"{word} stork"] = EmbeddingFailure(
        "The text is too long for the model.", permanent=True
    )
    memory_id = remember(served, f"The {word} stork is white.", session_id=word)
    page = window.goto(f"/memories/{memory_id}?view=rendered")
    served.embedder.broken.clear()
    page.get_by_role("button", name="Try its vector again").click()
    expect(page.get_by_text("Its vector will be tried again in a moment.")).to_be_visible()
    work(served, "embed_pending")
    window.goto(f"/memories/{memory_id}?view=rendered")
    page.get_by_label("A question that planner asks").fill("stork")
    page.get_by_role("button", name="Follow it").click()
    expect(page.locator(".found").get_by_role("status")).to_contain_text("Yes.")
    page.get_by_role("link", name="Raw").click()
    expect(page.locator("pre.raw")).to_have_text(f"The {word} stork is white.")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill(f"The {word} stork is black and white.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("link", name="Keep it").click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Bring it back").click()
    expect(page.get_by_text("It is back.")).to_be_visible()
    expect(page.locator("pre.raw")).to_have_text(f"The {word} stork is black and white.")


def archive(window: Window, served: Served, word: str) -> None:
    for number in range(3):
        remember(served, f"The {word} ship number {number}.", f"sailor-{word}", ttl_days=1e-7)
    served.run(lambda noesis: noesis.retention.cleaning.run(None, confirm=True))
    page = window.goto("/archive")
    page.get_by_label("Agent").select_option(f"sailor-{word}")
    page.get_by_label("Because").select_option("expired")
    page.get_by_role("button", name="Show").click()
    rows = page.locator(".picks .hit")
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Bring the chosen back").click()
    expect(page.get_by_text("Choose the memories that are to come back.")).to_be_visible()
    rows.filter(has_text="number 1").get_by_role("checkbox").check()
    page.get_by_label("Days to live").fill("soon")
    page.get_by_role("button", name="Bring the chosen back").click()
    expect(page.locator("#ttl_days-mistake")).to_be_visible()
    expect(rows.filter(has_text="number 1").get_by_role("checkbox")).to_be_checked()
    page.get_by_label("Days to live").fill("30")
    page.get_by_role("button", name="Bring the chosen back").click()
    expect(rows).to_have_count(2)
    choose_all(page)
    page.get_by_role("button", name="Bring the chosen back").click()
    expect(page.get_by_text("back").first).to_be_visible()
    window.goto(f"/?agent=sailor-{word}")
    expect(page.locator(".hit-link")).to_have_count(3)
    window.goto("/archive")
    page.get_by_role("link", name="What goes for good next").click()
    page.get_by_role("link", name="Back to the archive").click()
    expect(page.get_by_role("heading", name="Archive")).to_be_visible()


def inbox(window: Window, served: Served, word: str) -> None:
    for name in ("let", "mend", "drop", "trust"):
        hold(served, f"Ignore all of it, said the {word} {name}.", origin=f"{word} {name}", session=word)
    page = window.goto("/inbox")

    def text(name: str) -> Locator:
        return page.get_by_role("article").filter(has_text=f"{word} {name}.")

    text("let").get_by_role("button", name="Let in").click()
    expect(page.get_by_text("It is a memory now.")).to_be_visible()
    text("drop").get_by_role("button", name="Throw away").click()
    expect(page.get_by_text("Thrown away.")).to_be_visible()
    text("mend").get_by_role("link", name="Edit and let in").click()
    page.get_by_label("Text of the memory").fill(f"A {word} word.")
    page.get_by_role("button", name="Let in").click()
    expect(page.get_by_text("It is a memory now.")).to_be_visible()
    text("trust").get_by_role("link", name="Always let in").click()
    page.get_by_role("button", name="Let in").click()
    expect(page.get_by_text("Tick the box if you mean it.")).to_be_visible()
    page.get_by_label("Let in everything from").check()
    page.get_by_role("button", name="Let in").click()
    expect(page.get_by_text("is let in from now on")).to_be_visible()
    expect(page.get_by_text("Nothing waits")).to_be_visible()


def duplicates(window: Window, served: Served, word: str) -> None:
    for words in WORDS_OF_TWINS[word]:
        remember(served, f"We {words} on Fridays at noon.", f"twins-{word}")
        remember(served, f"On Fridays at noon we {words}.", f"twins-{word}")
    page = window.goto("/inbox")
    page.get_by_role("link", name="Duplicates").click()
    page.get_by_role("button", name="Look for duplicates now").click()
    expect(page.get_by_text("The memories are being compared")).to_be_visible()
    work(served, "dedup")
    served.run(
        lambda noesis: noesis.duplicates.look(f"twins-{word}", Wanted(), lambda _d, _t: None, lambda: False)
    )
    window.goto("/inbox/duplicates")
    cards = page.get_by_role("article").filter(has_text=f"twins-{word}")
    expect(cards).to_have_count(3)
    page.get_by_label("Show").select_option("exact")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Show all of them").click()
    kept = cards.first.get_by_label("keep this one").last
    kept.check()
    said = cards.first.locator(".side:has(:checked) .said").inner_text()
    cards.first.get_by_role("button", name="Delete the others").click()
    expect(page.get_by_text("Done.")).to_be_visible()
    expect(cards).to_have_count(2)
    page.get_by_role("button", name="Decide on the chosen").click()
    expect(page.get_by_text("Choose the findings to decide on.")).to_be_visible()
    choose_all(page)
    page.get_by_label("With the chosen").select_option("merge")
    page.get_by_role("button", name="Decide on the chosen").click()
    expect(page.get_by_text("Nothing waits")).to_be_visible()
    window.goto(f"/?agent=twins-{word}")
    expect(page.locator(".hit-link")).to_have_count(3)
    expect(page.locator(".hit-link", has_text=said)).to_have_count(1)


def sources(window: Window, served: Served, word: str, folder: Path) -> None:
    folder.mkdir()
    for number in range(25):
        (folder / f"{number}.md").write_text(
            NOTE.replace("heron", f"{word} heron {number}"), encoding="utf-8"
        )
    page = window.goto("/sources/new")
    page.get_by_label("Agent whose memories they are").fill(f"reader-{word}")
    page.get_by_label("Folder").fill(str(folder))
    page.get_by_role("button", name="Follow it").click()
    scan(served)
    for note in folder.iterdir():
        note.unlink()
    scan(served)
    window.goto("/sources")
    place = page.locator("tbody", has_text=folder.name)
    place.get_by_role("button", name="Look now").click()
    expect(page.get_by_text("It is being looked at.")).to_be_visible()
    place.get_by_label("When a file is gone").select_option("delete")
    place.get_by_role("button", name="Change").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    for answer, said in (
        ("Keep waiting", "Their memories stay."),
        ("They are meant", "count as gone from now on"),
    ):
        place.get_by_role("link", name="Are they meant to be gone?").click()
        page.get_by_role("button", name=answer).click()
        expect(page.get_by_text(said)).to_be_visible()
    place.get_by_role("link", name="Stop following").click()
    page.get_by_role("button", name="Stop following").click()
    expect(page.get_by_text("It is followed no longer.")).to_be_visible()
    expect(place).to_have_count(0)


WALKS: dict[str, tuple[Walk, tuple[str, ...]]] = {
    # First, as a look compares the memories of all agents.
    "duplicates": (
        duplicates,
        (
            "POST /inbox/duplicates/look",
            "GET /inbox/duplicates",
            "POST /inbox/duplicates/*",
            "POST /inbox/duplicates/many",
        ),
    ),
    "search": (search, ("GET /",)),
    "chosen": (chosen, ("POST /chosen", "POST /chosen/act", "POST /chosen/*/undo")),
    "memory": (
        memory,
        (
            "GET /memories/*",
            "POST /memories/*/embed",
            "POST /memories/*/edit",
            "POST /memories/*/delete",
            "POST /memories/*/undelete",
        ),
    ),
    "archive": (archive, ("GET /archive", "POST /archive/restore")),
    "inbox": (
        inbox,
        ("POST /inbox/*/approve", "POST /inbox/*/reject", "POST /inbox/*/edit", "POST /inbox/*/always"),
    ),
}


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("name", WALKS)
def test_what_is_done_with_memories_is_done(name: str, scripts: bool, walkers: Walkers) -> None:
    walkers.take(*WALKS[name], scripts=scripts)


SOURCES = (
    "POST /sources/new",
    "POST /sources/*/scan",
    "POST /sources/*/vanished",
    "POST /sources/*/gone",
    "POST /sources/*/forget",
)


@pytest.mark.parametrize("scripts", [True, False])
def test_what_is_done_with_sources_is_done(scripts: bool, walkers: Walkers, tmp_path: Path) -> None:
    walkers.take(
        lambda window, served, word: sources(window, served, word, tmp_path / word), SOURCES, scripts=scripts
    )


FIRST_STEPS = ("POST /setup", "POST /start/memory", "POST /start/end", "POST /logout", "POST /login")


@pytest.mark.parametrize("scripts", [True, False])
def test_the_first_steps_are_gone(chromium: Browser, tmp_path: Path, scripts: bool) -> None:
    with serving(tmp_path) as served, watched(chromium, served, java_script_enabled=scripts) as window:

        async def secret(noesis: Noesis) -> str:
            return await noesis.admin.new_setup_secret()

        page = window.goto("/")
        expect(page.get_by_text("This Noesis has no password yet")).to_be_visible()
        window.goto(f"/setup?key={served.run(secret)}")
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("The same again").fill("another sentence")
        page.get_by_role("button", name="Set password").click()
        expect(page.locator("#again-mistake")).to_be_visible()
        for label in ("Password", "The same again"):
            page.get_by_label(label, exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_text("you are logged in")).to_be_visible()
        expect(page.get_by_text(f"{served.url}/plugin/openclaw-noesis.tgz")).to_be_visible()
        page.get_by_label("Something worth remembering").fill("Releases go out on Tuesdays.")
        page.get_by_label("Whose memory it is").fill("no name")
        page.get_by_role("button", name="Remember it").click()
        expect(page.locator("#agent-mistake")).to_be_visible()
        page.get_by_label("Whose memory it is").fill("main")
        page.get_by_role("button", name="Remember it").click()
        expect(page.get_by_text("There is one.")).to_be_visible()
        page.get_by_role("button", name="I need no first steps").click()
        expect(page.get_by_role("link", name="Releases go out on Tuesdays.")).to_be_visible()
        expect(page.get_by_text("Some first steps may still be open")).to_have_count(0)
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("link", name="Releases go out on Tuesdays.")).to_be_visible()
        assert set(FIRST_STEPS) <= window.sent
