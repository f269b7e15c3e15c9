"""MCP over standard input and output, for hosts that start the server themselves."""

from __future__ import annotations

from mcp.server.stdio import stdio_server

from noesis.mcp.server import build
from noesis.remote.asynchronous import AsyncNoesisClient


async def serve(client: AsyncNoesisClient) -> None:
    """Serve until the host closes the input, with the rights of `client`."""
    server = build(lambda _: client)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
