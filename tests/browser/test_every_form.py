"""Every form of the dashboard is sent by a test in a browser, with scripts and without."""

from __future__ import annotations

from tests.browser import test_actions_memory as memory
from tests.browser import test_actions_upkeep as upkeep
from tests.browser.forms import FORMS

IN_JOURNEYS = {"POST /backups/*/restore", "POST /backups/upload"}
"""Sent in test_backups.py, which runs with scripts and without."""
NEED_A_BUCKET = {"POST /backups/*/fetch"}
"""Shown only where backups go to an S3 bucket as well; tests/dashboard sends them without a browser."""


def test_every_form_is_sent_by_somebody() -> None:
    walks = [does for module in (memory, upkeep) for _, does in module.WALKS.values()]
    sent = {form for does in walks for form in does}
    sent |= IN_JOURNEYS | NEED_A_BUCKET | {*memory.SOURCES, *memory.FIRST_STEPS, *upkeep.SNAPSHOTS}
    assert sent == set(FORMS)
