"""The application in this process, on a real store, with a browser that is logged in or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from noesis.api.access import SESSION_COOKIE
from noesis.api.app import build_app
from noesis.memory import NewMemory, Scope
from noesis.runtime import Noesis, open_runtime
from noesis.settings import Settings
from tests.dashboard.fake_embedder import FakeEmbedder

BASE = "http://localhost"
BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin"}
PASSWORD = "a long enough sentence"


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data=tmp_path)


@pytest.fixture
async def served(
    settings: Settings, embedder: FakeEmbedder
) -> AsyncIterator[tuple[httpx.ASGITransport, Noesis]]:
    # The application's own lifespan would have to begin and end in one task, which fixtures do not promise.
    runtime = open_runtime(settings, embedder=embedder)
    app = build_app(settings, runtime)
    async with runtime as app.state.noesis:
        yield httpx.ASGITransport(app=cast("Any", app)), app.state.noesis


@pytest.fixture
def noesis(served: tuple[httpx.ASGITransport, Noesis]) -> Noesis:
    return served[1]


@pytest.fixture
async def visitor(served: tuple[httpx.ASGITransport, Noesis]) -> AsyncIterator[httpx.AsyncClient]:
    """A browser without a session."""
    async with httpx.AsyncClient(transport=served[0], base_url=BASE, headers=BROWSER) as client:
        yield client


@pytest.fixture
async def admin(served: tuple[httpx.ASGITransport, Noesis]) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that is logged in."""
    cookies = {SESSION_COOKIE: await served[1].admin.new_session()}
    async with httpx.AsyncClient(
        transport=served[0], base_url=BASE, headers=BROWSER, cookies=cookies
    ) as client:
        yield client


async def remember(noesis: Noesis, text: str, agent: str = "planner", **values: object) -> str:
    """Store a memory and return its id."""
    new = NewMemory(text=text, **values)  # type: ignore[arg-type]
    return (await noesis.indexing.index(Scope(agent=agent), new)).id
