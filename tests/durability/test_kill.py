"""kill -9 at random moments under load: every acknowledged memory is there once, none is half there."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from pathlib import Path

import httpx
import pytest

from tests.servers import Process, all_memories, free_port, headers, token_for

WRITERS = 8
LONG_TEXT = " ".join(f"step{number}" for number in range(700))
"""Stored in two chunks: half of it would be half a memory."""


class Acknowledged:
    """What the clients were told is stored."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self.tried: set[str] = set()


async def write_until_dead(url: str, token: str, round_: int, acknowledged: Acknowledged) -> None:
    """Write from several clients until the server is gone."""

    async def one(writer: int, client: httpx.AsyncClient) -> None:
        for number in range(10_000):
            text = f"round {round_} writer {writer} number {number}"
            if number % 5 == 4:
                text += " " + LONG_TEXT
            acknowledged.tried.add(text)
            try:
                response = await client.post("/api/v1/memories", json={"text": text})
            except httpx.HTTPError:
                return
            assert response.status_code in (200, 201), response.text
            acknowledged.texts.add(text)

    async with httpx.AsyncClient(base_url=url, headers=headers(token), trust_env=False, timeout=30) as client:
        await asyncio.gather(*(one(writer, client) for writer in range(WRITERS)))


async def kill_under_load(
    server: Process, victims: list[Process], token: str, round_: int, acknowledged: Acknowledged, seed: int
) -> None:
    """Write, and kill the victims at a random moment of it."""
    chance = random.Random(seed + round_)

    async def kill_later() -> None:
        await asyncio.sleep(chance.uniform(0.05, 0.6))
        for victim in victims:
            victim.kill()
        if server not in victims:
            await asyncio.sleep(0.2)

    writing = asyncio.create_task(write_until_dead(server.url, token, round_, acknowledged))
    await kill_later()
    if server not in victims:
        writing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await writing


def check(server: Process, token: str, acknowledged: Acknowledged) -> None:
    """Every acknowledged text once, nothing that nobody wrote, nothing half."""
    found = [str(memory["text"]) for memory in all_memories(server.url, token)]
    assert len(found) == len(set(found)), "a memory is there twice"
    assert acknowledged.texts <= set(found), f"lost: {len(acknowledged.texts - set(found))}"
    assert set(found) <= acknowledged.tried, "a memory is there in part"


ROUNDS = pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(4, marks=[pytest.mark.integration, pytest.mark.timeout(1200)]),
        pytest.param(500, marks=[pytest.mark.torture, pytest.mark.timeout(36_000)]),
    ],
)


@ROUNDS
def test_the_single_process_loses_nothing_it_acknowledged(tmp_path: Path, rounds: int) -> None:
    data = tmp_path / "data"
    token = token_for(data)
    acknowledged = Acknowledged()
    server = Process("up", data, free_port())
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    for round_ in range(rounds):
        server.start()
        asyncio.run(kill_under_load(server, [server], token, round_, acknowledged, seed))
    server.start()
    check(server, token, acknowledged)
    assert len(acknowledged.texts) >= rounds
    server.stop()


@ROUNDS
def test_api_and_worker_apart_lose_nothing_they_acknowledged(tmp_path: Path, rounds: int) -> None:
    data = tmp_path / "data"
    token = token_for(data)
    acknowledged = Acknowledged()
    api, worker = Process("api", data, free_port()), Process("worker", data, free_port())
    seed = time.time_ns() % 1_000_000
    print(f"seed {seed}")
    running: set[str] = set()
    for round_ in range(rounds):
        for process in (api, worker):
            if process.command not in running:
                process.start()
                running.add(process.command)
        victims = [api, worker] if round_ % 5 == 0 else [api if round_ % 2 else worker]
        asyncio.run(kill_under_load(api, victims, token, round_, acknowledged, seed))
        running -= {victim.command for victim in victims}
    for process in (api, worker):
        if process.command not in running:
            process.start()
    check(api, token, acknowledged)
    worker.stop()
    api.stop()
