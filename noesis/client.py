"""The client library, and the command line's way to a Noesis.

For programs: `NoesisClient` and, for asyncio, `AsyncNoesisClient` speak to a running server.  The
command line speaks the same API: without NOESIS_URL the application runs inside its process and is
called without a network.  Nothing here imports the store, so that a client stays small.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec

from noesis.errors import InvalidInput, SettingsError
from noesis.remote.asynchronous import AsyncNoesisClient
from noesis.remote.connecting import TIMEOUT_S, address, fits_header, timeout
from noesis.remote.problems import RemoteError, Unreachable, raise_for_problem, unreachable
from noesis.remote.synchronous import NoesisClient
from noesis.remote.values import (
    Accepted,
    Assembled,
    Found,
    Hit,
    Included,
    Indexed,
    Memory,
    Message,
    New,
    Page,
)
from noesis.settings import Settings

__all__ = [
    "Accepted",
    "Assembled",
    "AsyncNoesisClient",
    "Client",
    "Found",
    "Hit",
    "Included",
    "Indexed",
    "Memory",
    "Message",
    "New",
    "NoesisClient",
    "Page",
    "RemoteError",
    "Unreachable",
    "open_client",
]

_FIRST_LOAD_S = 30.0
"""A command that opens the store itself has to load the model first."""


class Client:
    """Calls the API and gives back decoded JSON; a problem is raised as the product's own error."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    @property
    def library(self) -> AsyncNoesisClient:
        """The same way to the server, as the library has it."""
        return AsyncNoesisClient.over(self._http)

    async def call(self, method: str, path: str, body: dict[str, Any] | None = None, **params: Any) -> Any:
        """One request.  Raises a NoesisError; one that the server does not answer, Unreachable."""
        content = (
            None if body is None else msgspec.json.encode({k: v for k, v in body.items() if v is not None})
        )
        wanted = {name: value for name, value in params.items() if value is not None}
        try:
            response = await self._http.request(
                method,
                path,
                content=content,
                params=wanted,
                headers={"content-type": "application/json"} if content else {},
            )
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error
        raise_for_problem(response.status_code, response.content)
        return msgspec.json.decode(response.content) if response.content else None

    async def stream_lines(self, path: str, lines: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
        """Send NDJSON and give each line of the answer as it comes.  Raises as `call` does."""
        try:
            async with self._http.stream(
                "POST", path, content=lines, headers={"content-type": "application/x-ndjson"}, timeout=None
            ) as response:
                if response.status_code >= 400:
                    raise_for_problem(response.status_code, await response.aread())
                async for line in response.aiter_lines():
                    yield msgspec.json.decode(line)
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error

    @asynccontextmanager
    async def stream_bytes(
        self, path: str, params: dict[str, Any]
    ) -> AsyncIterator[tuple[httpx.Headers, AsyncIterator[bytes]]]:
        """The answer's headers, and its body piece by piece.  Raises as `call` does, also when it breaks off."""
        wanted = {name: value for name, value in params.items() if value not in (None, ())}
        try:
            async with self._http.stream("GET", path, params=wanted) as response:
                if response.status_code >= 400:
                    raise_for_problem(response.status_code, await response.aread())
                yield response.headers, response.aiter_bytes()
        except httpx.HTTPError as error:
            raise unreachable(self._http.base_url, error) from error


@asynccontextmanager
async def open_client(settings: Settings) -> AsyncIterator[Client]:
    """A client of NOESIS_URL, or of the store opened in this process.

    Raises SettingsError or InvalidInput.
    """
    if settings.agent is not None and not fits_header(settings.agent):
        raise InvalidInput("An agent's name is of a-z, 0-9, _ and -.", field="agent")
    agent = {} if settings.agent is None else {"x-noesis-agent": settings.agent}
    if settings.url is None:
        async with _local(settings, agent) as client:
            yield client
        return
    if settings.token is None:
        raise SettingsError("NOESIS_URL needs a token: set NOESIS_TOKEN. `noesis token create` makes one.")
    if not fits_header(settings.token):
        raise SettingsError("NOESIS_TOKEN is not a token of Noesis.")
    headers = {"authorization": f"Bearer {settings.token}", **agent}
    async with httpx.AsyncClient(
        base_url=address(settings.url), headers=headers, timeout=timeout(TIMEOUT_S), trust_env=False
    ) as http:
        yield Client(http)


@asynccontextmanager
async def _local(settings: Settings, agent: dict[str, str]) -> AsyncIterator[Client]:
    # Imported here: a client of a running server must not pay for the store.
    from contextlib import nullcontext

    from noesis.api.app import build_app
    from noesis.runtime import open_runtime

    async with open_runtime(settings, query_deadline_s=_FIRST_LOAD_S) as noesis:
        app = build_app(settings, nullcontext(noesis))
        headers = {"authorization": f"Bearer {noesis.tokens.for_this_process()}", **agent}
        # Not by its lifespan, whose task group would wrap every error of a command in a group.
        app.state.noesis = noesis
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),  # type: ignore[arg-type]
            base_url="http://localhost",
            headers=headers,
        ) as http:
            yield Client(http)
