"""The dashboard's own files and its error pages."""

from __future__ import annotations

import re

import httpx
import pytest

from noesis.dashboard.static import WEB, static_address, static_files
from noesis.runtime import Noesis


async def test_files_are_public_typed_and_kept_for_a_year_by_their_content(
    visitor: httpx.AsyncClient,
) -> None:
    types = {
        "app.css": "text/css",
        "keys.js": "text/javascript",
        "htmx.min.js": "text/javascript",
        "favicon.svg": "image/svg",
    }
    for name, media_type in types.items():
        answer = await visitor.get(static_address(name))
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(media_type)
        assert "immutable" in answer.headers["cache-control"]
        assert answer.content == (WEB / "static" / name).read_bytes()
        plain = await visitor.get(f"/static/{name}")
        assert plain.headers["cache-control"] == "no-cache"
        kept = await visitor.get(f"/static/{name}", headers={"if-none-match": plain.headers["etag"]})
        assert (kept.status_code, kept.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2fREADME.md",
        "/static/%2e%2e/templates/layout.html",
        "/static/nothing.css",
        "/static/app.css%00",
        "/static/",
    ],
)
async def test_no_path_leads_out(visitor: httpx.AsyncClient, path: str) -> None:
    assert (await visitor.get(path)).status_code == 404


def test_pages_load_nothing_from_elsewhere_and_carry_nothing_inline() -> None:
    """Held for the templates; the browser tests hold it for what comes out."""
    for template in (WEB / "templates").iterdir():
        source = template.read_text(encoding="utf-8")
        assert not re.search(r"\s(?:style|on[a-z]+|hx-on\S*)=", source), template.name
        assert not re.search(r"""(?:src|href|action)=["'](?:https?:)?//""", source), template.name
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style", source), template.name
        unsafe = [line for line in source.splitlines() if "|safe" in line and "rendered.html" not in line]
        assert all("describedby" in line for line in unsafe), template.name


def test_the_stylesheet_stays_small() -> None:
    assert static_files()["app.css"].body.count(b"\n") <= 400


async def test_errors_are_pages_for_people_and_problems_for_machines(admin: httpx.AsyncClient) -> None:
    page = await admin.get("/nowhere")
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Nothing here" in page.text
    machine = await admin.get("/nowhere", headers={"accept": "application/json"})
    assert machine.headers["content-type"] == "application/problem+json"
    api = await admin.get("/api/v1/memories", headers={"accept": "text/html"})
    assert (api.status_code, api.headers["content-type"]) == (401, "application/problem+json")
    wrong_method = await admin.get("/logout")
    assert wrong_method.status_code == 405
    assert "Not that way" in wrong_method.text


async def test_a_fault_is_a_page_that_tells_nothing_about_it(
    admin: httpx.AsyncClient, noesis: Noesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("canary in the message")

    monkeypatch.setattr(noesis.browsing, "page", fail)
    answer = await admin.get("/")
    assert answer.status_code == 500
    assert "Noesis made a mistake" in answer.text
    assert "canary" not in answer.text
    assert answer.headers["x-request-id"] in answer.text
