"""One tour without a mouse: in, to a memory, corrected, deleted, undone, out of the archive, and out again."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PASSWORD, Opener, remember
from tests.browser.server import Served

_MOST_TABS = 60


def reach(page: Page, target: Locator) -> None:
    """Go on with Tab until the target has the focus, which must be seen."""
    for _ in range(_MOST_TABS):
        if target.evaluate("(element) => element === document.activeElement"):
            outline = target.evaluate("(element) => getComputedStyle(element).outlineStyle")
            assert outline != "none", "the focus is not seen"
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{target} cannot be reached by Tab")


def press(page: Page, role: str, name: str) -> None:
    """Reach a button or a link and use it."""
    target = page.get_by_role(role, name=name, exact=True)  # type: ignore[arg-type]
    reach(page, target)
    page.keyboard.press("Enter")


def write(page: Page, label: str, text: str) -> None:
    """Reach a field and write in the place of what it holds."""
    reach(page, page.get_by_label(label, exact=True))
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def test_everything_is_reached_by_the_keyboard_alone(window: Opener, served: Served) -> None:
    remember(served, "The ferry leaves at noon.", "sailor")
    remember(served, "The tide was low in March.", "sailor", ttl_days=1e-7)
    served.run(lambda noesis: noesis.retention.cleaning.run(None, confirm=True))
    with window(logged_in=False) as visitor:
        page = visitor.goto("/")
        expect(page.get_by_label("Password")).to_be_focused()
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.get_by_role("search")).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()
        page.keyboard.press("/")
        page.keyboard.type("when does the ferry leave")
        expect(page.locator(".hit mark").first).to_have_text("ferry")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        expect(page.locator(".hit-link").first).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="The ferry leaves at noon.")).to_be_visible()
        press(page, "link", "Edit")
        write(page, "Text", "The ferry leaves at one.")
        press(page, "button", "Save")
        expect(page.get_by_text("Saved.")).to_be_visible()
        press(page, "link", "Delete…")
        press(page, "button", "Delete")
        expect(page.get_by_text("no search and no agent finds it")).to_be_visible()
        press(page, "button", "Bring it back")
        expect(page.get_by_role("heading", name="The ferry leaves at one.")).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("r")
        expect(page.get_by_role("heading", name="Archive")).to_be_visible()
        box = page.locator(".hit", has_text="tide").get_by_role("checkbox")
        reach(page, box)
        page.keyboard.press("Space")
        expect(box).to_be_checked()
        press(page, "button", "Bring the chosen back")
        expect(page.get_by_role("status").filter(has_text="back")).to_be_visible()
        page.keyboard.press("g")
        page.keyboard.press("s")
        expect(page.locator(".hit", has_text="tide")).to_be_visible()
        press(page, "button", "Log out")
        expect(page.get_by_text("You are logged out")).to_be_visible()
