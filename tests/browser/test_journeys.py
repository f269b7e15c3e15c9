"""What people do with the dashboard, from the first minute on."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PASSWORD, Opener, remember
from tests.browser.server import Served


def test_logging_in_leads_to_the_page_that_was_asked_for(window: Opener, served: Served) -> None:
    remember(served, "The printer is called Hermes.")
    with window(logged_in=False) as visitor:
        page = visitor.goto("/?q=printer")
        page.get_by_label("Password").fill("not this one")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("The password is not right.")).to_be_visible()
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        expect(page).to_have_url(f"{served.url}/?q=printer")
        expect(page.locator("mark")).to_have_text("printer")
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_text("You are logged out")).to_be_visible()
        visitor.goto("/")
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_hits_follow_the_typing_and_the_address_follows_the_hits(window: Opener, served: Served) -> None:
    remember(served, "Ferrets sleep for eighteen hours.", "zoo")
    remember(served, "Ferrets dislike lemons.", "kitchen")
    with window() as visitor:
        page = visitor.goto("/")
        page.locator("#q").press_sequentially("ferrets", delay=5)
        expect(page.locator(".hit mark")).to_have_count(2)
        expect(page).to_have_url(f"{served.url}/?q=ferrets")
        expect(page.locator("#q")).to_be_focused()
        page.get_by_label("Agent").select_option("kitchen")
        expect(page.locator(".hit mark")).to_have_count(1)
        expect(page).to_have_url(f"{served.url}/?q=ferrets&agent=kitchen")
        page.get_by_text("why?").click()
        expect(page.get_by_role("cell", name="rank 1, BM25")).to_be_visible()
        page.reload()
        expect(page.locator(".hit")).to_have_count(1)
        page.locator(".hit-link").click()
        expect(page.get_by_role("heading", name="Ferrets dislike lemons.")).to_be_visible()
        page.go_back()
        expect(page.locator("#q")).to_have_value("ferrets")
        expect(page.locator(".hit")).to_have_count(1)


def test_an_ended_session_is_noticed_while_typing(window: Opener, served: Served) -> None:
    with window() as visitor:
        page = visitor.goto("/?q=anything")
        visitor.context.clear_cookies()
        page.locator("#q").press_sequentially(" else", delay=5)
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_fault_while_typing_shows_its_page_in_place_of_the_hits(window: Opener, served: Served) -> None:
    with window() as visitor:
        page = visitor.goto("/?q=anything&mode=vector")
        served.embedder.down = True
        try:
            page.locator("#q").fill("something new")
            expect(page.get_by_text("The embedder does not answer.")).to_be_visible()
            page.get_by_role("link", name="Search by words instead").click()
            expect(page.locator("#mode")).to_have_value("keyword")
        finally:
            served.embedder.down = False


def test_trouble_is_told_in_short_and_opens_to_what_can_be_done(window: Opener, served: Served) -> None:
    """This server has no worker and no Redis, and one trouble alone would be open."""
    remember(served, "The lighthouse is white.")
    with window() as visitor:
        page = visitor.goto("/?q=lighthouse")
        worker = page.locator(".concern").filter(has_text="No worker gave a sign of life")
        expect(worker.get_by_text("Storing and searching")).to_be_hidden()
        worker.locator("summary").click()
        expect(worker.get_by_text("Storing and searching")).to_be_visible()
        expect(worker.get_by_text("noesis worker")).to_be_visible()


def test_a_memorys_page_says_whether_a_question_finds_it(window: Opener, served: Served) -> None:
    memory_id = remember(served, "Otters hold hands while they sleep.", "aquarium")
    with window() as visitor:
        page = visitor.goto(f"/memories/{memory_id}?view=rendered")
        page.get_by_label("A question that aquarium asks").fill("otters asleep")
        page.get_by_role("button", name="Follow it").click()
        expect(page.locator(".found").get_by_role("status")).to_contain_text("Yes. It is hit 1")
        expect(page.locator(".prose")).to_be_visible()


def test_a_moment_is_told_in_the_zone_of_who_looks(window: Opener, served: Served) -> None:
    text = "The ferry leaves the northern pier at dawn"
    remember(served, text, ttl_days=0, author="Noor", created_at=1_777_665_600_000)
    with window(timezone_id="Asia/Tokyo") as visitor:
        page = visitor.goto("/?q=northern+pier")
        hit = page.locator(".hit", has_text=text)
        expect(hit.locator(".meta")).to_contain_text("Noor")
        moment = hit.locator("time")
        assert "2026-05-01" in (moment.get_attribute("title") or "")
        moment.hover()
        expect(moment).to_have_attribute("title", re.compile("Saturday, May 2, 2026.*5:00:00.AM GMT.9"))


def test_what_is_chosen_stays_chosen_by_its_memory_while_typing(window: Opener, served: Served) -> None:
    for text in ("The finch sings.", "The finch and the wren sing.", "The wren sleeps."):
        remember(served, text, "singer")
    with window() as visitor:
        page = visitor.goto("/?q=finch&agent=singer&mode=keyword")
        wren = page.locator(".hit", has_text="The finch and the wren sing.").get_by_role("checkbox")
        wren.check()
        page.locator("#q").fill("wren")
        expect(page.locator(".hit", has_text="The wren sleeps.")).to_be_visible()
        expect(page.locator(".hit", has_text="The wren sleeps.").get_by_role("checkbox")).not_to_be_checked()
        page.locator("#q").fill("sleeps")
        expect(page.locator(".hit")).to_have_count(1)
        expect(page.get_by_role("checkbox").first).not_to_be_checked()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("x")
        expect(page.get_by_role("checkbox").first).to_be_checked()


def edit_delete_undo(window: Opener, served: Served, text: str, *, scripts: bool) -> None:
    memory_id = remember(served, text)
    with window(java_script_enabled=scripts) as visitor:
        page = visitor.goto(f"/memories/{memory_id}")
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill(f"{text}\n\nwith more lines")
        page.get_by_label("Priority").fill("101")
        page.get_by_label("Tags").fill("one, two")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("whole number from 0 to 100")).to_be_visible()
        expect(page.get_by_label("Tags")).to_have_value("one, two")
        page.get_by_label("Priority").fill("99")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        expect(page.locator("pre.raw")).to_have_text(f"{text}\n\nwith more lines")
        expect(page.get_by_text("99 (set by hand)")).to_be_visible()
        page.get_by_role("link", name="Delete…").click()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("no search and no agent finds it")).to_be_visible()
        page.get_by_role("button", name="Bring it back").click()
        expect(page.get_by_text("It is back.")).to_be_visible()
        expect(page.get_by_role("link", name="Edit")).to_be_visible()


def test_edit_delete_and_undo(window: Opener, served: Served) -> None:
    edit_delete_undo(window, served, "The door code changes monthly.", scripts=True)


def test_everything_works_without_javascript(window: Opener, served: Served) -> None:
    edit_delete_undo(window, served, "The garage code changes weekly.", scripts=False)
    with window(logged_in=False, java_script_enabled=False) as visitor:
        page = visitor.goto("/")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("Search the memories").fill("garage")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("mark").first).to_have_text("garage")
        expect(page.locator(".needs-script").first).to_be_hidden()
        page.get_by_text("why?").first.click()
        expect(page.get_by_role("columnheader", name="Adds").first).to_be_visible()
        page.locator(".hit-link").first.click()
        expect(page.locator("pre.raw")).to_contain_text("garage")
        page.get_by_role("link", name="Rendered").click()
        expect(page.locator(".prose")).to_contain_text("garage")
        page.get_by_role("link", name="API docs").click()
        expect(page.get_by_role("heading", name="API docs")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_text("You are logged out")).to_be_visible()


def test_the_keys_reach_everything(window: Opener, served: Served) -> None:
    for number in range(3):
        remember(served, f"Walrus number {number}")
    with window() as visitor:
        page = visitor.goto("/docs")
        page.keyboard.press("g")
        page.keyboard.press("s")
        expect(page).to_have_url(f"{served.url}/")
        page.keyboard.press("/")
        expect(page.locator("#q")).to_be_focused()
        page.keyboard.type("walrus jk?")
        expect(page.locator("#q")).to_have_value("walrus jk?")
        expect(page.locator(".hit mark")).to_have_count(3)
        page.keyboard.press("Escape")
        expect(page.locator("#q")).not_to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        first = page.locator(".hit-link").first
        expect(first).to_be_focused()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        words = first.text_content()
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page.locator("pre.raw")).to_have_text((words or "").strip())
        page.keyboard.press("g")
        page.keyboard.press("d")
        expect(page).to_have_url(f"{served.url}/docs")
