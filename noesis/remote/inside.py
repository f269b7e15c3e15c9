"""A client of the application in this very process, called without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from noesis.remote.asynchronous import AsyncNoesisClient


@asynccontextmanager
async def client_inside(app: Any, headers: Mapping[str, str]) -> AsyncIterator[AsyncNoesisClient]:
    """A client of an ASGI application that sends these headers with every request."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as http:
        yield AsyncNoesisClient.over(http)
