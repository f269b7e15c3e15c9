"""What the README says of settings and routes is what the code has."""

from __future__ import annotations

from pathlib import Path

import pytest
from litestar import Litestar

from noesis.settings import describe
from tests.api.wire import endpoints
from tools.readme_tables import API, README, SETTINGS, api_table, between, settings_table, written

README_TEXT = README.read_text(encoding="utf-8")


def rows(name: str) -> list[list[str]]:
    """The table's cells without its heading."""
    lines = between(README_TEXT, name)
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines[2:])
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_table_of_settings_is_the_codes() -> None:
    """Rewrite it with `python -m tools.readme_tables`."""
    assert between(README_TEXT, SETTINGS) == settings_table()
    assert [row[0].strip("` ") for row in rows(SETTINGS)] == list(describe())


def test_the_table_of_routes_is_the_codes(app: Litestar) -> None:
    assert between(README_TEXT, API) == api_table()
    named = {tuple(row[0].strip("` ").split()) for row in rows(API)}
    machines = {
        e.key
        for e in endpoints(app)
        if e.pattern.startswith(("/api/v1", "/health", "/metrics")) and e.method != "OPTIONS"
    }
    described = {key for key in machines if not key[1].startswith("/api/v1/schema")}
    assert named == described


def test_every_route_says_in_a_few_words_what_it_is_for() -> None:
    for method_and_path, what, who in rows(API):
        assert 5 < len(what) < 60, method_and_path
        assert who in ("everybody", "agent", "gateway", "admin")


def test_nothing_outside_the_marks_is_rewritten() -> None:
    text = "before\n<!-- settings -->\nold\n<!-- /settings -->\nmiddle\n<!-- api -->\n<!-- /api -->\nafter\n"
    new = written(text)
    assert new.startswith("before\n<!-- settings -->\n| Variable |")
    assert "\n<!-- /settings -->\nmiddle\n<!-- api -->\n| Method and path |" in new
    assert new.endswith("\n<!-- /api -->\nafter\n")
    assert written(new) == new


@pytest.mark.parametrize("name", [SETTINGS, API])
def test_a_missing_mark_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="substring"):
        between(README_TEXT.replace(f"<!-- {name} -->", ""), name)
