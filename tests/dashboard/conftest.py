"""The product in this process, with a browser that is logged in or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from noesis.api.access import SESSION_COOKIE
from noesis.memory import NewMemory, Scope
from noesis.runtime import Noesis
from tests.support import Clock, Product, WordEmbedder, running

PASSWORD = "a long enough sentence"
_BROWSER = {"accept": "text/html", "sec-fetch-site": "same-origin"}


@pytest.fixture
def environ() -> dict[str, str]:
    """Settings of the product."""
    return {}


@pytest.fixture
async def product(
    tmp_path: Path, embedder: WordEmbedder, clock: Clock, environ: dict[str, str]
) -> AsyncIterator[Product]:
    async with running(tmp_path, embedder=embedder, clock=clock, environ=environ) as opened:
        yield opened


@pytest.fixture
def noesis(product: Product) -> Noesis:
    return product.noesis


@pytest.fixture
def visitor(product: Product) -> httpx.AsyncClient:
    """A browser without a session."""
    client = product.client()
    client.headers.update(_BROWSER)
    return client


@pytest.fixture
async def admin(product: Product) -> httpx.AsyncClient:
    """A browser that is logged in."""
    client = product.client()
    client.headers.update(_BROWSER)
    client.cookies.set(SESSION_COOKIE, await product.noesis.admin.new_session())
    return client


async def remember(noesis: Noesis, text: str, agent: str = "planner", **values: object) -> str:
    """Store a memory and return its id."""
    new = NewMemory(text=text, **values)  # type: ignore[arg-type]
    return (await noesis.indexing.index(Scope(agent=agent), new)).id
