"""What a caller gets while Ollama is down, slow, overloaded or hostile."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from noesis.embedding import EmbeddingFailure
from noesis.embedding.ollama import OllamaEmbedder
from noesis.embedding.ollama_http import MAX_BODY, OllamaHttp, checked_url
from noesis.embedding.ollama_wire import OllamaTrouble, Tags
from noesis.errors import EmbedderError, EmbedderUnavailable, SettingsError
from tests.embedding.conftest import state_of
from tests.fakes.ollama import FakeOllama

TEXT = "a secret memory"


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def impatient(ollama: FakeOllama, clock: Clock) -> AsyncIterator[OllamaEmbedder]:
    embedder = OllamaEmbedder(
        ollama.url,
        "nomic-embed-text",
        jitter=lambda: 0.0,
        clock=clock,
        document_timeout_s=0.5,
        query_timeout_s=0.3,
    )
    yield embedder
    await embedder.close()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


async def fails(call: Callable[[], object]) -> EmbedderError:
    with pytest.raises(EmbedderUnavailable) as caught:
        await call()  # type: ignore[misc]
    assert TEXT not in caught.value.message
    return caught.value


async def test_it_can_be_made_before_ollama_is_up(clock: Clock) -> None:
    port = free_port()
    embedder = OllamaEmbedder(f"http://127.0.0.1:{port}", "nomic-embed-text", clock=clock)
    assert state_of(embedder) == "unknown"
    error = await fails(lambda: embedder.embed_query(TEXT))
    assert f"127.0.0.1:{port}" in error.message
    assert state_of(embedder) == "unreachable"
    fake = FakeOllama()
    fake.start(port)
    try:
        assert (await embedder.embed_query(TEXT)).shape == (64,)
        assert state_of(embedder) == "ready"
    finally:
        await embedder.close()
        fake.stop()


async def test_a_name_that_does_not_resolve_is_unavailable() -> None:
    embedder = OllamaEmbedder("http://ollama.invalid:11434", "nomic-embed-text", query_timeout_s=10)
    await fails(embedder.identity)
    await embedder.close()


async def test_after_three_failures_there_is_one_probe_in_ten_seconds(
    ollama: FakeOllama, impatient: OllamaEmbedder, clock: Clock
) -> None:
    await impatient.identity()
    ollama.faults.status = 503
    ollama.calls.clear()
    for _ in range(3):
        await fails(lambda: impatient.embed_query(TEXT))
    before = len(ollama.calls)
    for _ in range(20):
        await fails(lambda: impatient.embed_query(TEXT))
        await fails(lambda: impatient.embed_documents([TEXT]))
    assert len(ollama.calls) == before
    clock.now += 10.1
    await asyncio.gather(*(fails(lambda: impatient.embed_query(TEXT)) for _ in range(20)))
    assert [path for _, path, _ in ollama.calls[before:]] == ["/api/version"]


async def test_when_ollama_is_back_the_next_probe_finds_it(
    ollama: FakeOllama, impatient: OllamaEmbedder, clock: Clock
) -> None:
    await impatient.identity()
    ollama.stop()
    for _ in range(4):
        await fails(lambda: impatient.embed_query(TEXT))
    ollama.start()
    await fails(lambda: impatient.embed_query(TEXT))
    clock.now += 10.1
    assert (await impatient.embed_query(TEXT)).shape == (64,)
    assert not isinstance((await impatient.embed_documents([TEXT]))[0], EmbeddingFailure)


async def test_a_hanging_server_costs_a_question_its_deadline_and_no_more(
    ollama: FakeOllama, impatient: OllamaEmbedder
) -> None:
    await impatient.identity()
    ollama.faults.hang = True
    async with asyncio.timeout(5):
        error = await fails(lambda: impatient.embed_query(TEXT))
    assert "0.3 s" in error.message


async def test_a_hanging_server_does_not_hold_documents_for_ever(
    ollama: FakeOllama, impatient: OllamaEmbedder
) -> None:
    await impatient.identity()
    ollama.faults.hang = True
    async with asyncio.timeout(10):
        await fails(lambda: impatient.embed_documents([TEXT]))


async def test_a_dripping_answer_is_bounded_as_a_whole(ollama: FakeOllama, impatient: OllamaEmbedder) -> None:
    await impatient.identity()
    ollama.faults.drip_s = 0.05
    async with asyncio.timeout(10):
        await fails(lambda: impatient.embed_query(TEXT))
        await fails(lambda: impatient.embed_documents([TEXT]))


async def test_a_slow_load_outlives_the_question_that_asked_for_it(ollama: FakeOllama, clock: Clock) -> None:
    """The first question fails in time; the load goes on and serves a later one."""
    ollama.faults.slow_load_s = 0.6
    embedder = OllamaEmbedder(
        ollama.url, "nomic-embed-text", clock=clock, query_timeout_s=0.2, document_timeout_s=10
    )
    await fails(lambda: embedder.embed_query(TEXT))
    await embedder.identity()
    assert (await embedder.embed_query(TEXT)).shape == (64,)
    loads = [body for _, path, body in ollama.calls if path == "/api/embed"]
    assert len(loads) == 5 + 1
    await embedder.close()


async def test_a_model_that_was_unloaded_is_loaded_in_the_background(
    ollama: FakeOllama, clock: Clock
) -> None:
    embedder = OllamaEmbedder(
        ollama.url, "nomic-embed-text", clock=clock, query_timeout_s=0.2, document_timeout_s=10
    )
    await embedder.identity()
    ollama.loaded.clear()
    ollama.faults.slow_load_s = 0.5
    await fails(lambda: embedder.embed_query(TEXT))
    async with asyncio.timeout(10):
        while not ollama.loaded:  # noqa: ASYNC110 - the server is in another thread
            await asyncio.sleep(0.02)
    assert (await embedder.embed_query(TEXT)).shape == (64,)
    await embedder.close()


async def test_an_overloaded_server_is_tried_twice_then_reported(
    ollama: FakeOllama, impatient: OllamaEmbedder
) -> None:
    await impatient.identity()
    ollama.calls.clear()
    ollama.faults.busy = 100
    await fails(lambda: impatient.embed_documents([TEXT, TEXT]))
    assert len(ollama.embed_calls()) == 2


async def test_a_model_that_does_not_fit_in_memory_is_unavailable(
    ollama: FakeOllama, impatient: OllamaEmbedder
) -> None:
    ollama.faults.no_memory = True
    await fails(lambda: impatient.embed_documents([TEXT]))


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 401},
        {"status": 403},
        {"status": 500},
        {"status": 502},
        {"status": 418},
        {"close_connection": True},
        {"not_json": True},
        {"gzip_bomb": True},
    ],
    ids=str,
)
async def test_a_broken_server_is_unavailable(
    fault: dict[str, int], ollama: FakeOllama, embedder: OllamaEmbedder
) -> None:
    for when in ("from the start", "later"):
        for name, value in fault.items():
            setattr(ollama.faults, name, value)
        error = await fails(lambda: embedder.embed_documents([TEXT]))
        assert "127.0.0.1" in error.message, when
        for name in fault:
            setattr(ollama.faults, name, 0)
        await embedder.identity()


async def test_redirects_are_not_followed(ollama: FakeOllama, embedder: OllamaEmbedder) -> None:
    with FakeOllama() as inner:
        await embedder.identity()
        ollama.faults.redirect_to = f"{inner.url}/api/embed"
        error = await fails(lambda: embedder.embed_query(TEXT))
        assert "redirect" in error.message
        assert inner.calls == []


async def test_proxies_of_the_environment_are_ignored(
    ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    embedder = OllamaEmbedder(ollama.url, "nomic-embed-text")
    assert (await embedder.identity()).dimension == 64
    await embedder.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254",
        "http://[fe80::1]:11434",
        "http://[::ffff:169.254.169.254]",
        "http://user@127.0.0.1:11434",
        "http://x:y@ollama",
        "file:///etc/passwd",
        "ftp://ollama",
        "ollama:11434",
        "127.0.0.1",
        "",
        "http://",
        "http://ollama?x=1",
        "http://a b",
    ],
)
def test_an_address_that_is_none_stops_the_start(url: str) -> None:
    with pytest.raises(SettingsError):
        OllamaEmbedder(url, "nomic-embed-text")


@pytest.mark.parametrize(
    "url", ["http://ollama:11434", "https://x/ollama/", "http://[::1]:11434", "http://10.0.0.4"]
)
def test_an_ordinary_address_is_taken(url: str) -> None:
    assert checked_url(url).host


async def test_a_body_is_refused_once_it_is_over_the_limit(ollama: FakeOllama) -> None:
    http = OllamaHttp(ollama.url)
    ollama.faults.huge_body = MAX_BODY + 1
    with pytest.raises(OllamaTrouble, match=f"more than {MAX_BODY} bytes"):
        await http.get("/api/tags", Tags, timeout_s=30)
    await http.close()


async def test_a_question_goes_between_the_requests_of_a_long_run_of_documents(
    ollama: FakeOllama, embedder: OllamaEmbedder
) -> None:
    await embedder.identity()
    ollama.calls.clear()
    ollama.faults.delay_s = 0.02
    documents = asyncio.create_task(embedder.embed_documents(["word " * 300] * 12))
    await asyncio.sleep(0.05)
    await embedder.embed_query("a question")
    assert not documents.done()
    await documents
