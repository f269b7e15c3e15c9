"""The command of the MCP server on standard input and output."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

import click

from noesis.client import open_client
from noesis.commands import as_agent
from noesis.errors import InvalidInput
from noesis.settings import load


@click.command("mcp")
@as_agent
def mcp_command(agent: str | None, data: Path | None) -> None:
    """Serve the memory to an MCP host on standard input and output.

    Hosts start this command themselves.  It speaks to NOESIS_URL when that is set, and else opens the
    store in NOESIS_DATA, as the agent NOESIS_AGENT.
    """
    # What the host reads is the protocol and nothing else.
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, force=True)
    asyncio.run(_serve(agent, data))


async def _serve(agent: str | None, data: Path | None) -> None:
    from noesis.mcp.stdio import serve

    settings = load(os.environ, agent=agent, data=data)
    if settings.url is None and settings.agent is None:
        raise InvalidInput("Name the agent whose memory it is: --agent or NOESIS_AGENT.", field="agent")
    async with open_client(settings) as client:
        await serve(client.library)
