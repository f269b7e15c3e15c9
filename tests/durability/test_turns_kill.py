"""kill -9 between the answer to a turn and its capture: what was accepted is captured, once each."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.memory import MemoryFilter, Scope
from tests.servers import Process, free_port, headers, token_for
from tests.support import running

TURNS = 12


def turn(number: int) -> dict[str, Any]:
    said = {
        "role": "user",
        "content": f"We decided to paint shed number {number} green.",
        "timestamp": 1_780_000_000_000,
    }
    return {"session_id": "talk", "advancement_key": f"turn-{number}", "messages": [said]}


@pytest.mark.integration
async def test_every_turn_that_was_accepted_is_there_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    token = await asyncio.to_thread(token_for, data)
    # Without a worker beside it nothing is captured before it dies.
    api = Process("api", data, free_port())
    api.start()
    with httpx.Client(base_url=api.url, headers=headers(token), trust_env=False, timeout=60) as client:
        with ThreadPoolExecutor(4) as pool:
            answers = list(
                pool.map(lambda number: client.post("/api/v1/context/turns", json=turn(number)), range(TURNS))
            )
        api.kill()
    assert [answer.status_code for answer in answers] == [202] * TURNS
    async with running(data) as product:
        intake, alpha = product.noesis.context.intake, Scope("alpha")
        waiting = await intake.waiting()
        assert len(waiting) == TURNS
        # A host that did not hear the answer sends it again.
        host = product.client(token, "alpha")
        again = await host.post("/api/v1/context/turns", json=turn(0))
        assert again.json() == {"accepted": 0, "duplicate": True}
        # Killed after it was stored and before that was noted: the second run adds nothing.
        for turn_id in (*waiting, *waiting):
            await intake.capture(turn_id)
        page = await product.noesis.browsing.page(alpha, MemoryFilter(), limit=100)
    assert sorted(memory.text for memory in page.memories) == sorted(
        f"We decided to paint shed number {number} green." for number in range(TURNS)
    )
