"""Every page, narrow and wide, light and dark: nothing that axe objects to, nothing wider than the window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from noesis.dashboard.language import COOKIE
from noesis.memory import MemoryType
from tests.browser.conftest import Opener, Window, remember, watched
from tests.browser.server import Served, serving

AXE = Path(__file__).resolve().parents[2] / "node_modules/axe-core/axe.min.js"
WIDTHS = (360, 1280)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

MARKDOWN = """## Deploy notes

The **staging** box, see [runbook](https://example.com/run).

- stop `noesis`, then copy /srv/a-very-long-directory-name/that-goes-on/and-on/without-any-blank-to-break-at

> quoted

| host | role |
|---|---|
| a1 | api |
"""

_RUN = """async () => (await axe.run()).violations.map(
  (each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`)"""


@pytest.fixture(scope="module")
def axe() -> str:
    return AXE.read_text(encoding="utf-8")


def assert_accessible(page: Page, axe: str) -> None:
    page.evaluate(axe)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            assert page.evaluate(_RUN) == [], (page.url, width, theme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, page.url


@pytest.fixture(scope="module")
def memory_id(served: Served) -> str:
    for number, kind in enumerate(MemoryType):
        remember(
            served, f"Heron number {number}", memory_type=kind, tags=("bird", "water"), source="birds.md"
        )
    return remember(served, MARKDOWN, source="notes/deploy.md", session_id="s-1", position=3, author="Ana")


def show_hits(window: Window, _: str) -> None:
    page = window.goto("/?q=heron&tag=bird&mode=keyword")
    page.locator(".why summary").first.click()


def show_mistake(window: Window, memory_id: str) -> None:
    page = window.goto(f"/memories/{memory_id}/edit")
    page.locator("#priority").fill("x")
    page.get_by_role("button", name="Save").click()


def show_keys(window: Window, _: str) -> None:
    window.goto("/").keyboard.press("?")


def address(path: str) -> Callable[[Window, str], None]:
    def show(window: Window, memory_id: str) -> None:
        window.goto(path.format(id=memory_id))

    return show


def show_chosen(window: Window, _: str) -> None:
    window.goto("/?q=heron").get_by_role("button", name="shown…").click()


def show_done(window: Window, _: str) -> None:
    show_chosen(window, _)
    window.page.get_by_label("Priority").fill("40")
    window.page.get_by_role("button", name="Change these").click()


PAGES: dict[str, Callable[[Window, str], None]] = {
    "newest": address("/"),
    "hits": show_hits,
    "no hits": address("/?q=heron&agent=nobody"),
    "wrong filter": address("/?q=heron&mode=magic"),
    "raw": address("/memories/{id}?said=edited"),
    "rendered": address("/memories/{id}?view=rendered"),
    "found": address("/memories/{id}?why=deploy+notes"),
    "not found": address("/memories/{id}?why=heron+number"),
    "wrong question": address("/memories/{id}?why=%00"),
    "edit": address("/memories/{id}/edit"),
    "mistake": show_mistake,
    "delete": address("/memories/{id}/delete"),
    "docs": address("/docs"),
    "agents": address("/agents"),
    "agent": address("/agents/planner?prompt=heron"),
    "stats": address("/stats"),
    "archive": address("/archive"),
    "next to go": address("/archive/next"),
    "activity": address("/activity"),
    "backups": address("/backups"),
    "system": address("/system"),
    "duplicates": address("/inbox/duplicates"),
    "first steps": address("/start"),
    "chosen": show_chosen,
    "chosen and changed": show_done,
    "nowhere": address("/nowhere"),
    "keys": show_keys,
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_accessible(name: str, window: Opener, memory_id: str, axe: str) -> None:
    with window() as visitor:
        PAGES[name](visitor, memory_id)
        assert_accessible(visitor.page, axe)


@pytest.mark.parametrize("language", ["de", "zh"])
def test_long_words_of_other_languages_fit_a_narrow_window(
    language: str, window: Opener, memory_id: str, axe: str
) -> None:
    with window(viewport={"width": WIDTHS[0], "height": 800}) as visitor:
        visitor.context.add_cookies([{"name": COOKIE, "value": language, "url": visitor.url}])
        for path in (
            "/?q=heron",
            "/backups",
            "/system",
            "/sources/new",
            f"/memories/{memory_id}/edit",
            "/agents",
        ):
            page = visitor.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[0], path
            if path in ("/?q=heron", "/system"):
                page.evaluate(axe)
                assert page.evaluate(_RUN) == [], path


def test_a_deleted_memory_is_accessible(window: Opener, served: Served, axe: str) -> None:
    gone = remember(served, "Gone but not forgotten")
    with window() as visitor:
        page = visitor.goto(f"/memories/{gone}/delete")
        page.get_by_role("button", name="Delete").click()
        assert_accessible(page, axe)


def test_the_way_in_is_accessible(chromium: Browser, tmp_path: Path, axe: str) -> None:
    with serving(tmp_path) as served, watched(chromium, served) as window:
        key = served.run(lambda noesis: noesis.admin.new_setup_secret())
        for path in ("/login", "/setup?key=wrong", f"/setup?key={key}"):
            assert_accessible(window.goto(path), axe)
        page = window.page
        for label, value in (("Password", "a long enough sentence"), ("The same again", "another one")):
            page.get_by_label(label, exact=True).fill(value)
        page.get_by_role("button", name="Set password").click()
        assert_accessible(page, axe)
        for label in ("Password", "The same again"):
            page.get_by_label(label, exact=True).fill("a long enough sentence")
        page.get_by_role("button", name="Set password").click()
        page.get_by_role("heading", name="First steps").wait_for()
        assert_accessible(page, axe)
        page.get_by_role("button", name="I need no first steps").click()
        page.get_by_role("heading", name="Nothing is remembered yet").wait_for()
        assert_accessible(page, axe)
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("The password is not right.").wait_for()
        assert_accessible(page, axe)
