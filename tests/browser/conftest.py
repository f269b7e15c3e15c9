"""Real Chromium against the real server; every page that a test opens is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, sync_playwright

from noesis.api.access import SESSION_COOKIE
from noesis.memory import MemoryType, NewMemory, Scope
from noesis.runtime import Noesis
from tests.browser.forms import forms_sent
from tests.browser.server import Served, serving

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PASSWORD = "a long enough sentence"

_REPORT_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  window.reportViolation(`${event.violatedDirective} ${event.blockedURI}`));
"""


class Window:
    """A browser's window, and what must not happen in it."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url = url
        self.context = context
        self.requests: list[str] = []
        self.sent: set[str] = set()
        self.faults: list[str] = []
        context.expose_binding("reportViolation", lambda _, what: self.faults.append(f"CSP: {what}"))
        context.add_init_script(_REPORT_VIOLATIONS)
        context.on("request", self._saw)
        self.page: Page = context.new_page()
        self.page.on("dialog", self._dismiss)
        self.page.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))
        self.page.on("console", self._heard)

    def goto(self, path: str) -> Page:
        """Open a path of the server."""
        self.page.goto(self.url + path)
        return self.page

    def check(self) -> None:
        """Nothing was blocked, nothing left this server, nothing is stored, nothing popped up."""
        assert self.faults == []
        host = urlsplit(self.url).netloc
        assert [url for url in self.requests if urlsplit(url).netloc != host] == []
        if self.page.url.startswith("http"):
            assert self.page.evaluate_handle("localStorage").evaluate("(store) => store.length") == 0

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _saw(self, request: Request) -> None:
        self.requests.append(request.url)
        self.sent |= forms_sent(request)

    def _heard(self, message: Any) -> None:
        # A status of 400 is what some tests are about; the browser reports it as an error of the page's.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(f"console: {message.text}")


Opener = Callable[..., AbstractContextManager[Window]]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for a module: its loop must not run while other modules' asynchronous tests do."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with a password."""
    with serving(tmp_path_factory.mktemp("served")) as server:
        server.run(lambda noesis: noesis.admin.set_password(PASSWORD))
        yield server


@pytest.fixture
def window(chromium: Browser, served: Served) -> Opener:
    """Opens a window that is logged in, unless told otherwise; options go to the browser's context."""

    @contextmanager
    def opened(*, logged_in: bool = True, **options: Any) -> Iterator[Window]:
        with watched(chromium, served, **options) as window:
            if logged_in:
                log_in(window, served)
            yield window

    return opened


@contextmanager
def watched(chromium: Browser, served: Served, **options: Any) -> Iterator[Window]:
    """A window without a session, checked at its end."""
    context = chromium.new_context(**options)
    context.set_default_timeout(20_000)
    try:
        window = Window(context, served.url)
        yield window
        window.check()
    finally:
        context.close()


def log_in(window: Window, served: Served) -> None:
    """Give the window a session."""
    value = served.run(lambda noesis: noesis.admin.new_session())
    window.context.add_cookies(
        [{"name": SESSION_COOKIE, "value": value, "url": served.url, "sameSite": "Strict"}]
    )


def remember(served: Served, text: str, agent: str = "planner", **values: Any) -> str:
    """Store a memory and return its id."""

    async def store(noesis: Noesis) -> str:
        new = NewMemory(text=text, **{"memory_type": MemoryType.FACT, **values})
        return (await noesis.indexing.index(Scope(agent=agent), new)).id

    return served.run(store)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)
