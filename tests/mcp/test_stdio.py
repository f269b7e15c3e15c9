"""`noesis mcp`: a host starts it and speaks over standard input and output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, types

from noesis.memory import Role
from tests.mcp.test_readme import listening
from tests.servers import quiet_environment
from tests.support import Product, running


def command(data: Path, **settings: str) -> StdioServerParameters:
    environment = quiet_environment(data, **settings)
    return StdioServerParameters(command=sys.executable, args=["-m", "noesis", "mcp"], env=environment)


@pytest.mark.integration
async def test_over_a_running_server_with_its_token(product: Product, tmp_path: Path) -> None:
    _, secret = await product.noesis.tokens.create(Role.AGENT, ["alpha"], "desktop")
    async with listening(product) as url:
        server = command(tmp_path / "none", NOESIS_URL=url, NOESIS_TOKEN=secret)
        async with Client(server, mode="legacy") as client:
            await client.call_tool("memory_index", {"text": "The van key hangs by the door."})
            found = await client.call_tool("memory_search", {"query": "van key"})
            refused = await client.call_tool("memory_search", {"query": "x", "agent_id": "beta"})
    assert found.structured_content["hits"][0]["text"] == "The van key hangs by the door."
    assert refused.is_error
    assert not (tmp_path / "none").exists()


@pytest.mark.integration
async def test_on_the_store_itself_as_the_agent_that_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with Client(command(data, NOESIS_AGENT="alpha")) as client:
        assert len((await client.list_tools()).tools) == 8
        stored = await client.call_tool("memory_index", {"text": "The van key hangs by the door."})
    assert not stored.is_error
    content = stored.content[0]
    assert isinstance(content, types.TextContent)
    async with running(data) as product:
        alpha = await product.agent("alpha")
        memories = (await alpha.post("/api/v1/recall", json={})).json()["memories"]
    assert [memory["text"] for memory in memories] == ["The van key hangs by the door."]
