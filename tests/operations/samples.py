"""Short ways to store and to ask, for tests that call the API."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx

MEMORIES = "/api/v1/memories"


async def index(client: httpx.AsyncClient, text: str, **values: Any) -> dict[str, Any]:
    """Store one memory and return the answer, with its status."""
    reply = await client.post(MEMORIES, json={"text": text, **values})
    assert reply.status_code in (200, 201), reply.text
    return {**reply.json(), "status": reply.status_code}


async def search(client: httpx.AsyncClient, query: str, **values: Any) -> dict[str, Any]:
    """Ask and return the answer."""
    reply = await client.post("/api/v1/search", json={"query": query, **values})
    assert reply.status_code == 200, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def texts(answer: dict[str, Any]) -> list[str]:
    """The texts of an answer, in order."""
    return [memory["text"] for memory in answer.get("hits", answer.get("memories", []))]


async def get(client: httpx.AsyncClient, memory_id: str) -> dict[str, Any]:
    """One memory."""
    reply = await client.get(f"{MEMORIES}/{memory_id}")
    assert reply.status_code == 200, reply.text
    memory: dict[str, Any] = reply.json()
    return memory


async def recall(client: httpx.AsyncClient, **values: Any) -> list[str]:
    """The texts of the newest memories."""
    reply = await client.post("/api/v1/recall", json=values)
    assert reply.status_code == 200, reply.text
    return texts(reply.json())


async def listed(client: httpx.AsyncClient, limit: int = 200, **params: Any) -> list[dict[str, Any]]:
    """Every memory that fits, page by page."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        wanted = {"limit": limit, **params} | ({} if cursor is None else {"cursor": cursor})
        reply = await client.get(MEMORIES, params=wanted)
        assert reply.status_code == 200, reply.text
        page = reply.json()
        found += page["memories"]
        cursor = page["cursor"]
        if cursor is None:
            return found


async def bulk(client: httpx.AsyncClient, lines: Iterable[Any]) -> list[dict[str, Any]]:
    """The answers to a bulk request; a line that is no text is sent as JSON."""
    content = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    reply = await client.post(f"{MEMORIES}/bulk", content=content.encode())
    assert reply.status_code == 200, reply.text
    return [json.loads(line) for line in reply.text.splitlines()]


def words(count: int, start: int = 0) -> str:
    """A text of so many words, each only once."""
    return " ".join(f"word{number}" for number in range(start, start + count))
