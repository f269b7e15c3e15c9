"""The API's reference, for people and for agents that read pages."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get

from noesis.api.access import Access, Wired, opens
from noesis.dashboard.api_reference import groups
from noesis.dashboard.openclaw_commands import TOKEN_COMMAND, openclaw_commands
from noesis.dashboard.rendering import base_url, page


@get("/docs", opt=opens(Access.EITHER), include_in_schema=False)
async def show_docs(request: Request[Any, Any, Any], noesis: Wired) -> Response[str]:
    """Every operation with its parameters, body and a command that calls it."""
    address = base_url(request, https=noesis.settings.secure_cookies)
    document = request.app.openapi_schema.to_schema()
    return page(
        request,
        "docs.html",
        here="docs",
        groups=groups(document, address),
        base_url=address,
        token_command=TOKEN_COMMAND,
        openclaw_commands=openclaw_commands(address),
    )


HANDLERS = [show_docs]
