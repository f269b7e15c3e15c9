"""Who may speak MCP to the server, and in which versions of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import Product

ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def hello(version: str) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18"])
async def test_a_host_of_an_older_version_is_served_in_its_version(product: Product, version: str) -> None:
    client = await product.agent("alpha")
    answer = await client.post("/mcp", json=hello(version), headers=ACCEPT)
    assert answer.status_code == 200
    assert answer.json()["result"]["protocolVersion"] == version
    headers = {**ACCEPT, "mcp-protocol-version": version}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post("/mcp", json=told, headers=headers)).status_code == 202
    call = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "memory_index", "arguments": {"text": "The van key hangs by the door."}},
    }
    result = (await client.post("/mcp", json=call, headers=headers)).json()["result"]
    assert "Remembered" in result["content"][0]["text"]
    listed = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
    tools = (await client.post("/mcp", json=listed, headers=headers)).json()["result"]["tools"]
    assert len(tools) == 8


async def test_nobody_is_served_without_a_token_or_from_another_site(product: Product) -> None:
    body = hello("2025-06-18")
    assert (await product.client().post("/mcp", json=body, headers=ACCEPT)).status_code == 401
    client = await product.agent("alpha")
    for origin, status in (
        ("http://evil.example", 403),
        ("https://localhost.evil.example", 403),
        ("null", 403),
        ("http://localhost:3000", 200),
    ):
        answer = await client.post("/mcp", json=body, headers={**ACCEPT, "origin": origin})
        assert (origin, answer.status_code) == (origin, status)
    foreign = await client.post("/mcp", json=body, headers={**ACCEPT, "host": "evil.example"})
    assert foreign.status_code == 400
    assert (await client.get("/mcp", headers=ACCEPT)).status_code == 405


async def test_a_gateway_names_its_agent_and_is_bound_to_those_it_is_for(product: Product) -> None:
    from noesis.memory import Role

    _, secret = await product.noesis.tokens.create(Role.GATEWAY, ["alpha"], "gateway")
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_recall", "arguments": {}},
    }
    nobody = (await product.client(secret).post("/mcp", json=call, headers=ACCEPT)).json()["result"]
    assert nobody["isError"] is True
    assert "X-Noesis-Agent" in nobody["content"][0]["text"]
    alpha = (await product.client(secret, "alpha").post("/mcp", json=call, headers=ACCEPT)).json()["result"]
    assert not alpha.get("isError", False)
    assert (await product.client(secret, "beta").post("/mcp", json=call, headers=ACCEPT)).status_code == 403


async def test_what_is_no_message_is_refused_and_the_server_goes_on(product: Product) -> None:
    client = await product.agent("alpha")
    for body in (b"", b"[]", b"{", b'"x"', b"[" * 100_000, b'{"jsonrpc": "2.0", "id": 1}', b"\xff\xfe"):
        answer = await client.post("/mcp", content=body, headers=ACCEPT)
        assert (body[:20], 400 <= answer.status_code < 500) == (body[:20], True)
    large = await client.post("/mcp", content=b" " * (3 << 20), headers=ACCEPT)
    assert large.status_code == 413
    assert (await client.post("/mcp", json=hello("2025-06-18"), headers=ACCEPT)).status_code == 200
