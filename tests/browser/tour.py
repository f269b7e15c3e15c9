"""The tour of docs/tour.md, as the test takes it and as the pictures are made of it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

MEMORY = "Releases go out on Tuesdays, never on a Friday."
CORRECTED = "Releases go out on Wednesdays, never on a Friday."
QUESTION = "when do releases go out"


class Tour:
    """Somebody who goes by what stands on the pages; `named` is what they used, in order."""

    def __init__(self, page: Page, picture: Callable[[str], object]) -> None:
        self.page = page
        self.picture = picture
        self.named: list[str] = []

    def press(self, name: str) -> None:
        """Press the button or follow the link of this name."""
        self.named.append(name)
        either = self.page.get_by_role("button", name=name, exact=True)
        either.or_(self.page.get_by_role("link", name=name, exact=True)).first.click()

    def write(self, label: str, text: str) -> None:
        """Fill the field of this label."""
        self.named.append(label)
        self.page.get_by_label(label, exact=True).fill(text)

    def see(self, words: str) -> None:
        """Look at a heading or a sentence."""
        self.named.append(words)
        expect(self.page.locator("main").get_by_text(words).first).to_be_visible()


def take(tour: Tour, set_up: str, password: str) -> None:
    """From the first start's link to a memory that was found, corrected, deleted and brought back."""
    tour.page.goto(set_up)
    tour.write("Password", password)
    tour.write("The same again", password)
    tour.picture("tour-password")
    tour.press("Set password and log in")
    tour.see("First steps")
    tour.write("Something worth remembering", MEMORY)
    tour.page.get_by_label("Something worth remembering").scroll_into_view_if_needed()
    tour.picture("tour-remember")
    tour.press("Remember it")
    tour.see("There is one.")
    tour.press("Search")
    tour.write("Search the memories", QUESTION)
    expect(tour.page.locator(".hit mark").first).to_be_visible()
    tour.see("why?")
    tour.page.get_by_text("why?").first.click()
    tour.picture("tour-found")
    tour.page.locator(".hit-link").first.click()
    tour.press("Edit")
    tour.write("Text", CORRECTED)
    tour.press("Save")
    tour.see("History")
    expect(tour.page.get_by_role("heading", name=CORRECTED)).to_be_visible()
    tour.picture("tour-corrected")
    tour.press("Delete…")
    tour.picture("tour-delete")
    tour.press("Delete")
    tour.see("This memory is deleted")
    tour.press("Bring it back")
    tour.see("It is back.")
    tour.picture("tour-back")
