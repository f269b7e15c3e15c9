"""Two processes on one store: nothing lost, nothing doubled, neither starves, each sees the other at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.memory import Role
from tests.servers import Process, all_memories, headers, process, token_for


def write_until(server: Process, token: str, name: str, shared_id: str, until: float) -> set[str]:
    """Write own texts, texts that the other writes too, and change one memory both share; what was acknowledged."""
    acknowledged: set[str] = set()
    with httpx.Client(base_url=server.url, headers=headers(token), trust_env=False, timeout=60) as client:
        number = 0
        while time.monotonic() < until:
            for text in (f"{name} alone wrote number {number}", f"both wrote number {number}"):
                response = client.post("/api/v1/memories", json={"text": text})
                assert response.status_code in (200, 201), response.text
                acknowledged.add(text)
            tags = {"tags": [f"{name}-{number}"]}
            assert client.patch(f"/api/v1/memories/{shared_id}", json=tags).status_code == 200
            number += 1
    return acknowledged


def texts(server: Process, token: str) -> list[Any]:
    return [memory["text"] for memory in all_memories(server.url, token)]


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(15, marks=[pytest.mark.integration, pytest.mark.timeout(400)]),
        pytest.param(300, marks=[pytest.mark.torture, pytest.mark.timeout(1800)]),
    ],
)
def test_two_servers_write_the_same_and_different_things_while_it_is_optimised(
    tmp_path: Path, seconds: int
) -> None:
    data = tmp_path / "data"
    token, admin = token_for(data), token_for(data, Role.ADMIN)
    with process("up", data) as one, process("up", data) as other:
        shared = httpx.post(
            f"{one.url}/api/v1/memories",
            json={"text": "both change this one"},
            headers=headers(token),
            trust_env=False,
            timeout=60,
        ).json()["id"]
        until = time.monotonic() + seconds
        with ThreadPoolExecutor(2) as pool:
            writing = [
                pool.submit(write_until, server, token, name, shared, until)
                for server, name in ((one, "one"), (other, "other"))
            ]
            while time.monotonic() < until:
                httpx.post(f"{one.url}/api/v1/optimize", headers=headers(admin), trust_env=False, timeout=60)
                time.sleep(1)
            ones, others = (future.result() for future in writing)
        acknowledged = ones | others | {"both change this one"}
        for server in (one, other):
            found = texts(server, token)
            assert len(found) == len(set(found)), "something is there twice"
            assert set(found) == acknowledged
        assert 1 / 5 < len(ones) / len(others) < 5, "one of them starved"


@pytest.mark.integration
@pytest.mark.timeout(300)
def test_each_process_sees_the_others_writes_at_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = token_for(data)
    with ExitStack() as stack:
        servers = [stack.enter_context(process(command, data)) for command in ("up", "api")]
        clients = [
            stack.enter_context(
                httpx.Client(base_url=server.url, headers=headers(token), trust_env=False, timeout=60)
            )
            for server in servers
        ]
        clients[0].post("/api/v1/search", json={"query": "van key"})
        for number in range(5):
            writer, reader = clients[number % 2], clients[1 - number % 2]
            made = writer.post("/api/v1/memories", json={"text": f"the van key number {number}"}).json()
            hits = reader.post("/api/v1/search", json={"query": f"van key number {number}"}).json()["hits"]
            assert made["id"] in {hit["id"] for hit in hits}
            recalled = reader.post("/api/v1/recall", json={"limit": 50}).json()["memories"]
            assert made["id"] in {memory["id"] for memory in recalled}
            assert reader.get("/api/v1/stats").json()["active"]["memories"] == 1
            assert reader.delete(f"/api/v1/memories/{made['id']}").status_code == 200
            assert writer.get("/api/v1/stats").json()["active"]["memories"] == 0
            assert not writer.post("/api/v1/search", json={"query": "van key", "archive": "never"}).json()[
                "hits"
            ]
