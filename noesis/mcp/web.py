"""MCP over HTTP: each request stands alone, so that any process may answer it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from noesis.mcp.server import build
from noesis.remote.asynchronous import AsyncNoesisClient

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 2 << 20


async def answer(scope: Message, receive: Receive, send: Send, client: AsyncNoesisClient) -> None:
    """Answer one request of the streamable HTTP transport with the rights of `client`.

    Nothing is kept between requests: a session would tie a host to one process, and there is nothing
    that the server would tell it by itself.
    """
    server = build(lambda _: client)
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
