"""Redis is a bell, not a store: down, wiped or full, nothing is lost and nothing is refused."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.ollama import FakeOllama
from tests.servers import Process, headers, process, token_for
from tests.worker.valkey import Valkey

pytestmark = pytest.mark.integration

EMBEDDED_WITHIN_S = 20.0
SLACK = 5.0


class Stack:
    """API, worker, Redis and Ollama as four processes would be, and a client."""

    def __init__(self, api: Process, redis: Valkey, ollama: FakeOllama, token: str) -> None:
        self.api = api
        self.redis = redis
        self.ollama = ollama
        self.client = httpx.Client(base_url=api.url, headers=headers(token), trust_env=False, timeout=60)

    def index(self, text: str) -> dict[str, Any]:
        response = self.client.post("/api/v1/memories", json={"text": text})
        assert response.status_code == 201, response.text
        return dict(response.json())

    def search(self, query: str) -> dict[str, Any]:
        response = self.client.post("/api/v1/search", json={"query": query})
        assert response.status_code == 200, response.text
        return dict(response.json())

    def states(self) -> dict[str, int]:
        return dict(self.client.get("/api/v1/stats").json()["active"]["by_embedding_state"])

    def part(self, name: str) -> dict[str, Any]:
        parts = self.client.get("/health").json()["parts"]
        return dict(next(part for part in parts if part["name"] == name))


@contextlib.contextmanager
def stack_of(tmp_path: Path, *, redis_up: bool) -> Iterator[Stack]:
    redis = Valkey(tmp_path / "redis")
    if redis_up:
        redis.start()
    data = tmp_path / "data"
    token = token_for(data)
    with FakeOllama() as ollama:
        settings = {"NOESIS_REDIS_URL": redis.url, "NOESIS_OLLAMA_URL": ollama.url}
        try:
            with process("api", data, **settings) as api, process("worker", data, **settings):
                stack = Stack(api, redis, ollama, token)
                with stack.client:
                    yield stack
        finally:
            redis.stop()


def wait_for(condition: Callable[[], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.3)


@pytest.mark.timeout(600)
def test_everything_works_without_redis_and_goes_on_when_it_comes(tmp_path: Path) -> None:
    with stack_of(tmp_path, redis_up=False) as stack:
        stack.ollama.stop()
        for number in range(10):
            assert stack.index(f"written without redis number {number}")["embedding_state"] == "pending"
        assert stack.search("without redis number 7")["hits"]
        queue = stack.part("queue")
        assert queue["state"] == "degraded"
        assert queue["what_to_do"]
        stack.ollama.start()
        stack.redis.start()
        wait_for(
            lambda: stack.states() == {"pending": 0, "ready": 10, "failed": 0}, EMBEDDED_WITHIN_S * SLACK
        )
        wait_for(lambda: stack.part("queue")["state"] == "ok", EMBEDDED_WITHIN_S)


@pytest.mark.timeout(600)
def test_a_wiped_redis_forgets_no_work_and_does_none_twice(tmp_path: Path) -> None:
    with stack_of(tmp_path, redis_up=True) as stack:
        stack.ollama.stop()
        ids = [stack.index(f"before the wipe number {number}")["id"] for number in range(10)]
        stack.redis.ask("FLUSHALL")
        ids += [stack.index(f"after the wipe number {number}")["id"] for number in range(10)]
        stack.redis.ask("FLUSHALL")
        stack.ollama.start()
        wait_for(
            lambda: stack.states() == {"pending": 0, "ready": 20, "failed": 0}, EMBEDDED_WITHIN_S * SLACK
        )
        assert len(set(ids)) == 20
        embedded = [text for batch in stack.ollama.embed_calls() for text in batch if "wipe number" in text]
        assert len(embedded) == len(set(embedded)) == 20, "each text was embedded once"


@pytest.mark.timeout(600)
def test_a_full_redis_refuses_nothing_a_user_sends(tmp_path: Path) -> None:
    with stack_of(tmp_path, redis_up=True) as stack:
        stack.redis.ask("CONFIG", "SET", "maxmemory", "1")
        for number in range(5):
            stack.index(f"written while redis is full number {number}")
        assert stack.search("redis is full number 3")["hits"]
        stack.redis.ask("CONFIG", "SET", "maxmemory", "0")
        assert stack.states()["failed"] == 0


@pytest.mark.timeout(600)
def test_no_text_lies_in_redis_or_in_a_log(tmp_path: Path) -> None:
    canary = "zebrafinch"
    with stack_of(tmp_path, redis_up=True) as stack:
        stack.ollama.faults.fail_on = canary
        stack.index(f"the {canary} is a secret bird")
        stack.search(f"where is the {canary}")
        wait_for(lambda: bool(stack.ollama.embed_calls()), EMBEDDED_WITHIN_S)
        time.sleep(1)
        assert canary.encode() not in stack.redis.everything()
        keys = stack.redis.ask("KEYS", "*")
        assert all(canary.encode() not in key for key in keys)
    for log in tmp_path.glob("*.log"):
        assert canary not in log.read_text()
