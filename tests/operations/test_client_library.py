"""The client library against the API itself: what it sends is understood, and what it gives is typed."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta

import pytest

from noesis import client as public
from noesis.client import AsyncNoesisClient, Message, New, NoesisClient, RemoteError, Unreachable
from noesis.errors import Forbidden, InvalidInput, NotFound, SettingsError, Unauthorized
from noesis.memory import MemoryType
from noesis.remote.problems import raise_for_problem
from tests.fakes.http_server import HttpServer, Reply, Request
from tests.support import NOW, Product


@pytest.fixture
async def library(product: Product) -> AsyncNoesisClient:
    return AsyncNoesisClient.over(await product.agent("alpha"))


async def test_what_is_indexed_is_found_recalled_got_changed_and_deleted(library: AsyncNoesisClient) -> None:
    stored = await library.index(
        "The van key hangs by the door.", memory_type="fact", tags=["van"], priority=40, ttl_days=0
    )
    again = await library.index("The van key hangs by the door.")
    assert (stored.duplicate, again.duplicate, again.id) == (False, True, stored.id)
    found = await library.search("where is the van key?", limit=3, tags=["van"])
    assert [(hit.id, hit.tags, hit.expires_at) for hit in found.hits] == [(stored.id, ("van",), None)]
    assert [memory.id for memory in await library.recall(limit=5)] == [stored.id]
    changed = await library.update(
        stored.id, text="The van key is lost.", priority=None, memory_type="context"
    )
    assert (changed.id, changed.text, changed.priority, changed.memory_type) == (
        stored.id,
        "The van key is lost.",
        60,
        MemoryType.CONTEXT,
    )
    assert (await library.delete(stored.id)).id == stored.id
    assert (await library.search("van key")).hits == []
    assert (await library.undelete(stored.id)).archived is False
    assert (await library.get(stored.id)).text == "The van key is lost."
    assert (await library.stats())["active"]["memories"] == 1


async def test_many_are_indexed_in_one_request_and_a_bad_one_fails_alone(library: AsyncNoesisClient) -> None:
    results = await library.index_many([New(text="One fact."), New(text=" "), New(text="Another fact.")])
    assert [type(result).__name__ for result in results] == ["Indexed", "InvalidInput", "Indexed"]
    assert sorted([memory.text async for memory in library.memories()]) == ["Another fact.", "One fact."]


async def test_a_list_is_fetched_page_by_page_and_filtered(library: AsyncNoesisClient) -> None:
    await library.index_many(New(text=f"Fact number {n}.", tags=("odd",) if n % 2 else ()) for n in range(7))
    page = await library.page(limit=3)
    assert (len(page.memories), page.cursor is None) == (3, False)
    odd = [memory.text async for memory in library.memories(tags=["odd"], memory_types=["fact"])]
    assert sorted(odd) == ["Fact number 1.", "Fact number 3.", "Fact number 5."]
    later = datetime.fromtimestamp(NOW / 1000, UTC) + timedelta(days=1)
    assert [memory async for memory in library.memories(after=later)] == []
    with pytest.raises(InvalidInput):
        await library.page(tags=["a", "b"])


async def test_a_turn_is_handed_over_and_a_prompt_gets_its_memories(
    library: AsyncNoesisClient, product: Product
) -> None:
    said = [Message(role="user", content="We decided to host the wiki on port 8085.", timestamp=NOW)]
    assert (await library.commit_turn("s1", "k1", said)).accepted == 1
    assert (await library.commit_turn("s1", "k1", said)).duplicate is True
    for turn in await product.noesis.context.intake.waiting():
        await product.noesis.context.intake.capture(turn)
    block = await library.assemble("what about the wiki?", session_id="s2", token_budget=500)
    assert "port 8085" in block.text
    assert [each.memory_type for each in block.memories] == [MemoryType.DECISION]


async def test_problems_are_the_products_own_errors(product: Product, library: AsyncNoesisClient) -> None:
    with pytest.raises(NotFound):
        await library.get("00000000-0000-4000-8000-000000000000")
    with pytest.raises(InvalidInput) as wrong:
        await library.index("x", priority=1000)
    assert wrong.value.field == "priority"
    with pytest.raises(Forbidden):
        await library.search("x", agent_id="beta")
    with pytest.raises(InvalidInput):
        await library.get("../tokens")
    with pytest.raises(Unauthorized):
        await AsyncNoesisClient.over(product.client("nse_no_token")).stats()
    with pytest.raises(RemoteError) as unknown:
        raise_for_problem(418, b'{"code": "teapot", "detail": "No coffee here."}')
    assert (unknown.value.code, unknown.value.status_code, str(unknown.value)) == (
        "teapot",
        418,
        "No coffee here.",
    )


async def test_a_server_that_is_not_there_is_told_of_in_one_sentence() -> None:
    async with AsyncNoesisClient("http://127.0.0.1:1", "nse_x_y") as client:
        with pytest.raises(Unreachable, match="does not answer"):
            await client.stats()
    with NoesisClient("http://127.0.0.1:1", "nse_x_y") as plain, pytest.raises(Unreachable):
        plain.stats()
    for url, token in (("localhost", "x"), ("http://localhost", "x\ny")):
        with pytest.raises(SettingsError):
            NoesisClient(url, token)


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        named = inspect.getmembers(kind, inspect.isfunction)
        public_ones = ((name.removeprefix("a"), each) for name, each in named if not name.startswith("_"))
        return {
            name.removesuffix("close") or "close": list(inspect.signature(each).parameters)
            for name, each in public_ones
        }

    assert methods(AsyncNoesisClient) == methods(NoesisClient)


def test_every_public_name_is_there() -> None:
    assert [name for name in public.__all__ if not hasattr(public, name)] == []


def test_the_plain_client_sends_the_token_and_the_agent() -> None:
    seen: list[Request] = []

    async def answer(request: Request) -> Reply:
        seen.append(request)
        return Reply(body=b'{"memories": []}')

    server = HttpServer(answer)
    server.start()
    try:
        with NoesisClient(f"http://127.0.0.1:{server.port}", "nse_a_b", agent="alpha") as client:
            assert client.recall(session_id="s1") == []
    finally:
        server.stop()
    assert seen[0].headers["authorization"] == "Bearer nse_a_b"
    assert seen[0].headers["x-noesis-agent"] == "alpha"
    assert seen[0].body == b'{"session_id":"s1","limit":20}'
