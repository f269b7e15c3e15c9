"""The route of the MCP server: the same tokens and roles, and each tool a call of this very API."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from litestar import post
from litestar.types import ASGIApp, Receive, Scope, Send

from noesis.api.access import AGENT_HEADER, Wired
from noesis.api.memories import ApiRequest
from noesis.api.middleware import LOCAL_NAMES, host_name
from noesis.errors import Forbidden
from noesis.remote.inside import client_inside

_PASSED_ON = ("authorization", AGENT_HEADER, "x-request-id")


@post(
    "/mcp",
    status_code=200,
    include_in_schema=False,
    request_max_body_size=None,
)
async def mcp(request: ApiRequest, noesis: Wired) -> ASGIApp:
    """Answer one message of an MCP host.  Raises Forbidden when it comes from another site's page."""
    _check_origin(request, noesis.settings.allowed_hosts)
    # Loaded when the first host comes: it takes as long as all the rest of the server.
    web: Any = await asyncio.to_thread(importlib.import_module, "noesis.mcp.web")
    headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async with client_inside(request.app, headers) as client:
            await web.answer(scope, receive, send, client)

    return answer


def _check_origin(request: ApiRequest, allowed: tuple[str, ...]) -> None:
    """A browser names the page that asks: only this server's own may."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    name = host_name(origin.split("://", 1)[-1])
    if name not in LOCAL_NAMES and name not in {host.lower() for host in allowed}:
        raise Forbidden("The request comes from another site.")


HANDLERS = [mcp]
