"""What walks through the dashboard share: a walk, how it is taken, and the worker's part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from noesis.ledger import Job
from noesis.runtime import Noesis
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS
from tests.browser.conftest import Window, log_in, watched
from tests.browser.server import Served

Walk = Callable[[Window, Served, str], None]
"""Takes a window, its server, and a word that is another one with scripts than without."""


class Walkers:
    """Two windows for a module, one with scripts and one without."""

    def __init__(self, windows: dict[bool, Window], served: Served) -> None:
        self._windows = windows
        self._served = served

    def take(self, walk: Walk, does: Iterable[str], *, scripts: bool) -> None:
        """Take a walk; it must send every form that it is said to send, and nothing else may happen."""
        window = self._windows[scripts]
        window.sent.clear()
        walk(window, self._served, "scripted" if scripts else "plain")
        assert set(does) <= window.sent, set(does) - window.sent
        window.check()


@pytest.fixture(scope="module")
def walkers(chromium: Browser, served: Served) -> Iterator[Walkers]:
    """The two windows, logged in."""
    with (
        watched(chromium, served, java_script_enabled=True) as scripted,
        watched(chromium, served, java_script_enabled=False) as plain,
    ):
        for window in (scripted, plain):
            log_in(window, served)
        yield Walkers({True: scripted, False: plain}, served)


def work(served: Served, name: str) -> None:
    """Carry out a waiting job, as a worker does."""

    async def run(noesis: Noesis) -> None:
        job = await _claimed(noesis, name)
        result = await HANDLERS[name].run(JobContext(noesis, job), **job.args)
        await noesis.jobs.ledger.finish(job, result or {}, noesis.now_ms())

    served.run(run)


def fail(served: Served, name: str, error: str) -> None:
    """A job that failed for good."""

    async def run(noesis: Noesis) -> None:
        await noesis.jobs.enqueue(name)
        await noesis.jobs.ledger.fail(await _claimed(noesis, name), error, noesis.now_ms())

    served.run(run)


def enqueue(served: Served, name: str, **options: Any) -> None:
    """A job that waits."""

    async def run(noesis: Noesis) -> None:
        await noesis.jobs.enqueue(name, **options)

    served.run(run)


def choose_all(page: Page) -> None:
    """Tick every box: by the button where there are scripts, else one by one."""
    button = page.get_by_role("button", name="Choose all")
    if button.is_visible():
        button.click()
    else:
        for box in page.locator("input[name=id]:enabled").all():
            box.check()


async def _claimed(noesis: Noesis, name: str) -> Job:
    job = await noesis.jobs.ledger.claim({name: 1}, noesis.now_ms())
    assert job is not None, name
    return job
