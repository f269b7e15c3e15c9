"""One agent never sees, changes or learns of another's memories, whatever it sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noesis.memory import Role
from noesis.store.filters import EVERYTHING
from noesis.store.packing import row_hash
from tests.store.changes import Put
from tests.support import Product, running

SECRET = "locker4411"
ARCHIVED = "locker3300"
UNKNOWN = "00000000-0000-5000-8000-000000000000"


class Neighbours(msgspec.Struct):
    """Alpha with three memories (one archived, one deleted), beta with one; and beta's client."""

    product: Product
    beta: httpx.AsyncClient
    ids: list[str]


async def fill(product: Product) -> Neighbours:
    alpha = await product.agent("alpha")
    ids = []
    for text in (f"alpha's locker code is {SECRET}", f"old {ARCHIVED}", f"deleted {SECRET}"):
        body = {"text": text, "memory_type": "decision", "session_id": "alpha-session", "tags": ["alpha-tag"]}
        ids.append((await alpha.post("/api/v1/memories", json=body)).json()["id"])
    await archive(product, ids[1])
    assert (await alpha.delete(f"/api/v1/memories/{ids[2]}")).status_code == 200
    beta = await product.agent("beta")
    assert (await beta.post("/api/v1/memories", json={"text": "beta likes locker tea"})).status_code == 201
    return Neighbours(product, beta, ids)


async def archive(product: Product, memory_id: str) -> None:
    """Move a memory to the archive as expired."""
    store = product.noesis.store
    rows = [row for row in await store.active.rows(EVERYTHING) if row.parent_id == memory_id]
    values = {"archived_at": product.noesis.now_ms(), "archive_reason": "expired"}
    await store.submit(Put(*(msgspec.structs.replace(row, **values) for row in rows), archived=True))


@pytest.fixture
async def both(product: Product) -> Neighbours:
    return await fill(product)


async def rows_of(product: Product, agent: str) -> dict[str, str]:
    """The hash of each of an agent's rows in both tables."""
    store = product.noesis.store
    tables = [await table.rows(EVERYTHING) for table in (store.active, store.archive)]
    return {row.id: row_hash(row) for rows in tables for row in rows if row.agent_id == agent}


def leaks(reply: httpx.Response, ids: list[str]) -> list[str]:
    """What of alpha's an answer to beta gives away."""
    shown = f"{reply.text} {dict(reply.headers)}"
    words = [SECRET, ARCHIVED, "alpha-session", "alpha-tag", *ids]
    return [word for word in words if word in shown]


CALLS: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "/api/v1/search", {"query": "locker code"}),
    ("POST", "/api/v1/search", {"query": SECRET, "mode": "keyword", "archive": "always", "explain": True}),
    ("POST", "/api/v1/search", {"query": SECRET, "mode": "vector", "archive": "only"}),
    ("POST", "/api/v1/search", {"query": SECRET, "session_id": "alpha-session"}),
    ("POST", "/api/v1/search", {"query": SECRET, "tags": ["alpha-tag"]}),
    ("POST", "/api/v1/archive/search", {"query": ARCHIVED}),
    ("POST", "/api/v1/recall", {}),
    ("POST", "/api/v1/recall", {"session_id": "alpha-session", "limit": 200}),
    ("GET", "/api/v1/memories?limit=200", None),
    ("GET", "/api/v1/memories?session_id=alpha-session", None),
    ("GET", "/api/v1/memories?tag=alpha-tag", None),
    ("GET", "/api/v1/stats", None),
]


async def test_no_question_brings_another_agents_memory(both: Neighbours) -> None:
    for method, path, body in CALLS:
        reply = await both.beta.request(method, path, json=body)
        assert reply.status_code == 200, (path, reply.text)
        assert leaks(reply, both.ids) == [], (path, body)
        found = reply.json().get("hits") or reply.json().get("memories") or []
        assert {memory["agent_id"] for memory in found if isinstance(memory, dict)} <= {"beta"}
    stats = (await both.beta.get("/api/v1/stats")).json()
    assert stats["active"]["by_agent"] == {"beta": 1}
    assert (stats["archive"]["memories"], stats["disk"]) == (0, None)


async def test_a_call_by_id_answers_as_if_there_were_no_such_memory(both: Neighbours) -> None:
    """Byte for byte, apart from the request's id: active, archived and deleted ones."""
    before = await rows_of(both.product, "alpha")
    calls: list[tuple[str, str, dict[str, Any] | None]] = [
        ("GET", "/api/v1/memories/{}", None),
        ("PATCH", "/api/v1/memories/{}", {"priority": 1}),
        ("PATCH", "/api/v1/memories/{}", {"text": "mine now"}),
        ("DELETE", "/api/v1/memories/{}", None),
        ("POST", "/api/v1/memories/{}/undelete", None),
        ("POST", "/api/v1/memories/{}/embed", None),
        ("GET", "/api/v1/memories/{}/history", None),
    ]
    headers = {"x-request-id": "same"}
    for method, path, body in calls:
        expected = await both.beta.request(method, path.format(UNKNOWN), json=body, headers=headers)
        assert expected.status_code == 404
        for memory_id in both.ids:
            reply = await both.beta.request(method, path.format(memory_id), json=body, headers=headers)
            assert (reply.status_code, reply.content) == (404, expected.content), (method, path)
            assert dict(reply.headers) == dict(expected.headers)
    assert await rows_of(both.product, "alpha") == before


async def test_naming_another_agent_is_refused_wherever_it_is_named(both: Neighbours) -> None:
    before = await rows_of(both.product, "alpha")
    tries: list[tuple[str, str, dict[str, Any] | None, dict[str, str]]] = [
        ("POST", "/api/v1/search", {"query": SECRET, "agent_id": "alpha"}, {}),
        ("POST", "/api/v1/search", {"query": SECRET, "agent_id": "ALPHA"}, {}),
        ("POST", "/api/v1/search", {"query": SECRET, "agent_id": "alpha", "cross_agent": True}, {}),
        ("POST", "/api/v1/search", {"query": SECRET, "cross_agent": True}, {}),
        ("POST", "/api/v1/archive/search", {"query": SECRET, "agent_id": "alpha"}, {}),
        ("POST", "/api/v1/recall", {"agent_id": "alpha"}, {}),
        ("POST", "/api/v1/recall", {"cross_agent": True}, {}),
        ("GET", "/api/v1/memories?agent_id=alpha", None, {}),
        ("GET", "/api/v1/memories?cross_agent=true", None, {}),
        ("POST", "/api/v1/memories", {"text": "planted", "agent_id": "alpha"}, {}),
        *(
            (method, path, body, {"x-noesis-agent": name})
            for method, path, body in [*CALLS, ("POST", "/api/v1/memories", {"text": "planted"})]
            for name in ("alpha", "Alpha", "nobody")
        ),
    ]
    for method, path, body, headers in tries:
        reply = await both.beta.request(method, path, json=body, headers=headers)
        assert (path, body, headers, reply.status_code) == (path, body, headers, 403)
        assert leaks(reply, both.ids) == []
    assert await rows_of(both.product, "alpha") == before


async def test_a_bulk_line_cannot_name_another_agent(both: Neighbours) -> None:
    before = await rows_of(both.product, "alpha")
    lines = [{"text": "one"}, {"text": "planted", "agent_id": "alpha"}, {"text": "two", "agent_id": "beta"}]
    reply = await both.beta.post("/api/v1/memories/bulk", content="\n".join(map(json.dumps, lines)))
    answers = [json.loads(line) for line in reply.text.splitlines()]
    assert [answer.get("field") for answer in answers] == [None, "agent_id", "agent_id"]
    assert await rows_of(both.product, "alpha") == before
    assert len(await rows_of(both.product, "beta")) == 2


async def test_reading_across_is_for_the_administrator_to_allow_and_stays_reading(both: Neighbours) -> None:
    admin = await both.product.admin()
    before = await rows_of(both.product, "alpha")
    assert (await admin.patch("/api/v1/agents/beta", json={"may_read_across": True})).status_code == 200
    reply = await both.beta.post("/api/v1/search", json={"query": "locker", "cross_agent": True})
    assert {hit["agent_id"] for hit in reply.json()["hits"]} == {"alpha", "beta"}
    wanted = {"query": "locker", "cross_agent": True, "agent_id": "alpha", "archive": "always"}
    reply = await both.beta.post("/api/v1/search", json=wanted)
    assert {hit["id"] for hit in reply.json()["hits"]} == set(both.ids[:2])
    # Without asking for it, a question stays with one's own.
    reply = await both.beta.post("/api/v1/search", json={"query": "locker"})
    assert {hit["agent_id"] for hit in reply.json()["hits"]} == {"beta"}
    assert (await both.beta.post("/api/v1/recall", json={"agent_id": "alpha"})).status_code == 403
    for method, path, body in (
        ("GET", "", None),
        ("DELETE", "", None),
        ("PATCH", "", {"priority": 1}),
        ("POST", "/undelete", None),
        ("POST", "/embed", None),
    ):
        for memory_id in both.ids:
            reply = await both.beta.request(method, f"/api/v1/memories/{memory_id}{path}", json=body)
            assert reply.status_code == 404
    planted = {"text": "planted", "agent_id": "alpha"}
    assert (await both.beta.post("/api/v1/memories", json=planted)).status_code == 403
    assert await rows_of(both.product, "alpha") == before
    assert (await admin.patch("/api/v1/agents/beta", json={"may_read_across": False})).status_code == 200
    reply = await both.beta.post("/api/v1/search", json={"query": "locker", "cross_agent": True})
    assert reply.status_code == 403


async def test_without_an_agent_nothing_is_written(both: Neighbours) -> None:
    """A gateway or an administrator that names nobody writes for nobody, not for all."""
    _, gateway = await both.product.noesis.tokens.create(Role.GATEWAY, ["*"], "gateway")
    before = len(await rows_of(both.product, "alpha")), len(await rows_of(both.product, "beta"))
    for client in (both.product.client(gateway), await both.product.admin()):
        for path, content in (("", '{"text": "whose?"}'), ("/bulk", '{"text": "whose?"}\n')):
            reply = await client.post(f"/api/v1/memories{path}", content=content)
            assert (reply.status_code, reply.json()["field"]) == (400, "X-Noesis-Agent")
    assert before == (len(await rows_of(both.product, "alpha")), len(await rows_of(both.product, "beta")))


async def test_a_gateway_that_names_no_agent_is_refused_everything_about_memories(both: Neighbours) -> None:
    """Missing identity is refused and never means all: only an administrator may look at everybody."""
    for agents in (["*"], ["beta"]):
        _, secret = await both.product.noesis.tokens.create(Role.GATEWAY, agents, "gateway")
        gateway = both.product.client(secret)
        for method, path, body in CALLS:
            reply = await gateway.request(method, path, json=body)
            assert (path, reply.status_code) == (path, 400)
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/undelete"), ("POST", "/embed")):
            reply = await gateway.request(method, f"/api/v1/memories/{both.ids[0]}{path}")
            assert reply.status_code == 400
        reply = await gateway.patch(f"/api/v1/memories/{both.ids[0]}", json={"priority": 1})
        assert reply.status_code == 400


NAMES = st.sampled_from(
    ["alpha", "ALPHA", "beta", "alpha' OR '1'='1", "alpha:beta", "*", "", " alpha", "%", "_lpha", "alpha\x00"]
)
TEXTS = st.sampled_from([SECRET, "locker code", "alpha", "' OR 1=1 --", "*", "agent_id:alpha", 'a" OR "b'])
BODIES = st.fixed_dictionaries(
    {"query": TEXTS},
    optional={
        "agent_id": NAMES,
        "session_id": st.sampled_from(["alpha-session", "x' OR agent_id='alpha", "%"]),
        "tags": st.lists(st.sampled_from(["alpha-tag", "']) OR true OR array_has_all(tags, ['"]), max_size=2),
        "archive": st.sampled_from(["auto", "never", "only", "always"]),
        "mode": st.sampled_from(["hybrid", "vector", "keyword"]),
        "cross_agent": st.booleans(),
        "explain": st.booleans(),
        "limit": st.integers(1, 200),
    },
)
PATHS = st.sampled_from(["/api/v1/search", "/api/v1/archive/search", "/api/v1/recall", "/api/v1/memories"])
HEADERS = st.one_of(st.just({}), st.builds(lambda name: {"x-noesis-agent": name}, NAMES))


Kept = tuple[asyncio.AbstractEventLoop, Neighbours, dict[str, str]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """One product for all examples, on a loop of its own: hypothesis calls its tests without one."""
    loop = asyncio.new_event_loop()
    opened = running(tmp_path_factory.mktemp("isolation"))
    both = loop.run_until_complete(fill(loop.run_until_complete(opened.__aenter__())))
    yield loop, both, loop.run_until_complete(rows_of(both.product, "alpha"))
    loop.run_until_complete(opened.__aexit__(None, None, None))
    loop.close()


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_request_that_can_be_made_up_reaches_alphas_memories(data: st.DataObject, kept: Kept) -> None:
    """Any mixture of filters, names in any place, ids and headers, on one product that is kept."""
    path, headers = data.draw(PATHS), data.draw(HEADERS)
    body: dict[str, Any] = dict(data.draw(BODIES))
    loop, both, before = kept
    if path.endswith("recall"):
        body = {name: value for name, value in body.items() if name in ("session_id", "limit", "cross_agent")}
    where = data.draw(st.sampled_from(["search", "id"]))

    async def ask() -> httpx.Response:
        if where == "id":
            method = data.draw(st.sampled_from(["GET", "PATCH", "DELETE"]))
            by_id = f"/api/v1/memories/{data.draw(st.sampled_from(both.ids))}"
            return await both.beta.request(method, by_id, json={"priority": 1}, headers=headers, params=body)
        if path == "/api/v1/memories":
            return await both.beta.get(path, params=body, headers=headers)
        return await both.beta.post(path, json=body, headers=headers)

    reply = loop.run_until_complete(ask())
    assert reply.status_code in (200, 400, 403, 404)
    assert leaks(reply, both.ids) == []
    assert loop.run_until_complete(rows_of(both.product, "alpha")) == before
