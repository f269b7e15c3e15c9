"""The SDK's own client, speaking to the application without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx2
import pytest
from litestar import Litestar
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from noesis.memory import Role
from tests.support import Product, application

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def connect(product: Product) -> Connect:
    """Open a client with a new token of an agent, by the newest protocol or (`legacy`) with a handshake."""

    @asynccontextmanager
    async def open_client(agent: str = "alpha", mode: str = "auto") -> AsyncIterator[Client]:
        _, secret = await product.noesis.tokens.create(Role.AGENT, [agent], f"mcp {agent}")
        with application(product.noesis) as app:
            async with (
                _http(app, {"authorization": f"Bearer {secret}"}) as http,
                Client(streamable_http_client("http://localhost/mcp", http_client=http), mode=mode) as client,
            ):
                yield client

    return open_client


def _http(app: Litestar, headers: dict[str, str]) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), headers=headers)  # type: ignore[arg-type]
