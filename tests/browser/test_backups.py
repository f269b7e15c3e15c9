"""Backups in a real browser, with scripts and without: fetched, brought in, restored by the name, undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from noesis.memory import MemoryFilter, Role, Scope
from noesis.runtime import Noesis
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS
from tests.browser.conftest import PASSWORD, log_in, remember, watched
from tests.browser.server import serving


async def work(noesis: Noesis) -> None:
    """Carry out the waiting restore or the look before it, as a worker does."""
    job = await noesis.jobs.ledger.claim({"restore": 1, "preview": 1}, noesis.now_ms())
    assert job is not None
    result = await HANDLERS[job.name].run(JobContext(noesis, job), **job.args)
    await noesis.jobs.ledger.finish(job, result, noesis.now_ms())


async def texts(noesis: Noesis) -> list[str]:
    page = await noesis.browsing.page(Scope(agent=None, role=Role.ADMIN), MemoryFilter())
    return [memory.text for memory in page.memories]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_backup_goes_out_and_in_again_and_is_restored_and_undone(
    chromium: Browser, tmp_path: Path, scripts: bool
) -> None:
    with (
        serving(tmp_path / "data") as served,
        watched(chromium, served, java_script_enabled=scripts) as window,
    ):
        served.run(lambda noesis: noesis.admin.set_password(PASSWORD))
        log_in(window, served)
        remember(served, "The heron comes in the morning.")
        served.run(lambda noesis: noesis.backups.create())
        remember(served, "The boat lies in the shed.")
        page = window.goto("/backups")
        with page.expect_download() as fetched:
            page.get_by_role("link", name="Download").click()
        fetched.value.save_as(tmp_path / "mine.tar.gz")
        page.get_by_label("A backup that was downloaded").set_input_files(tmp_path / "mine.tar.gz")
        page.get_by_role("button", name="Bring it in").click()
        expect(page.get_by_text("The backup was looked at and is listed below.")).to_be_visible()
        page.get_by_role("link", name="Restore… mine.tar.gz").click()
        expect(page.get_by_role("heading", name="Looking at this backup")).to_be_visible()
        served.run(work)
        expect(page.get_by_text("they are here and not in the backup")).to_be_visible()
        page.get_by_label("Type the backup's name").fill("mine")
        page.get_by_role("button", name="Restore it").click()
        expect(page.get_by_text("This is not the backup's name.")).to_be_visible()
        page.get_by_label("Type the backup's name").fill("mine.tar.gz")
        page.get_by_role("button", name="Restore it").click()
        expect(page.get_by_text("It is being restored.")).to_be_visible()
        served.run(work)
        assert served.run(texts) == ["The heron comes in the morning."]
        window.goto("/backups")
        page.get_by_role("link", name="Undo this…").click()
        page.get_by_role("button", name="Undo it").click()
        served.run(work)
        assert set(served.run(texts)) == {"The heron comes in the morning.", "The boat lies in the shed."}
