"""The tour of docs/tour.md can be taken as it is written, and every name on the page is one that exists."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.conftest import PASSWORD, watched
from tests.browser.server import serving
from tests.browser.tour import CORRECTED, MEMORY, QUESTION, Tour, take

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_tour_is_taken_as_it_is_written(chromium: Browser, tmp_path: Path) -> None:
    written = (DOCS / "tour.md").read_text(encoding="utf-8")
    pictures: list[str] = []
    with serving(tmp_path) as served, watched(chromium, served) as window:
        key = served.run(lambda noesis: noesis.admin.new_setup_secret())
        tour = Tour(window.page, pictures.append)
        take(tour, f"{served.url}/setup?key={key}", PASSWORD)
    assert re.findall(r"\*\*(.+?)\*\*", written) == tour.named
    assert re.findall(r"!\[[^]]+\]\(pictures/(.+?)\.png\)", written) == pictures
    assert [name for name in pictures if not (DOCS / "pictures" / f"{name}.png").is_file()] == []
    assert [text for text in (MEMORY, CORRECTED, QUESTION) if text not in " ".join(written.split())] == []
