"""A superseded memory stays, ranks below what replaces it, and names it; nobody else's can be linked."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import pytest

from noesis.memory import Role, Scope
from noesis.ranking.succession import below_successors
from noesis.superseding import Superseding
from tests.operations.samples import MEMORIES, get, index, search, texts
from tests.support import Clock, Product, WordEmbedder, running

OLD = "we decided to deploy on Fridays at noon"
NEW = "we decided to deploy on Tuesdays"
LAST = "deploy never happens by hand"


async def supersede(client: httpx.AsyncClient, old: str, new: str) -> httpx.Response:
    return await client.post(f"{MEMORIES}/{old}/supersede", json={"by": new})


async def ids_of(client: httpx.AsyncClient, *several: str) -> list[str]:
    return [(await index(client, text))["id"] for text in several]


async def test_it_ranks_below_its_replacement_and_names_it(alpha: httpx.AsyncClient) -> None:
    old, new = await ids_of(alpha, OLD, NEW)
    before = await search(alpha, "deploy on Fridays at noon")
    assert texts(before) == [OLD, NEW]
    assert [hit["superseded_by"] for hit in before["hits"]] == [None, None]
    reply = await supersede(alpha, old, new)
    assert (reply.status_code, reply.json()["id"], reply.json()["superseded_by"]) == (200, old, new)
    after = await search(alpha, "deploy on Fridays at noon")
    assert [(hit["text"], hit["superseded_by"]) for hit in after["hits"]] == [(NEW, None), (OLD, new)]
    assert (await get(alpha, old))["superseded_by"] == new
    assert (await get(alpha, new))["superseded_by"] is None
    assert (await get(alpha, old))["text"] == OLD


async def test_it_stands_again_when_that_is_taken_back(alpha: httpx.AsyncClient) -> None:
    old, new = await ids_of(alpha, OLD, NEW)
    await supersede(alpha, old, new)
    reply = await alpha.delete(f"{MEMORIES}/{old}/supersede")
    assert (reply.status_code, reply.json()["superseded_by"]) == (200, new)
    assert texts(await search(alpha, "deploy on Fridays at noon")) == [OLD, NEW]
    assert (await get(alpha, old))["superseded_by"] is None
    assert (await alpha.delete(f"{MEMORIES}/{old}/supersede")).status_code == 404


async def test_one_that_ranks_below_anyway_keeps_its_place(alpha: httpx.AsyncClient) -> None:
    old, new, between = await ids_of(alpha, "tea at Tuesdays", NEW, "deploy on")
    order = texts(await search(alpha, "deploy on Tuesdays"))
    assert order.index(NEW) < order.index("tea at Tuesdays")
    await supersede(alpha, old, new)
    assert texts(await search(alpha, "deploy on Tuesdays")) == order
    assert between


async def test_in_a_chain_each_stands_below_the_next(alpha: httpx.AsyncClient) -> None:
    old, new, last = await ids_of(alpha, OLD, NEW, LAST)
    await supersede(alpha, old, new)
    await supersede(alpha, new, last)
    hits = (await search(alpha, "deploy on Fridays at noon"))["hits"]
    assert [hit["text"] for hit in hits] == [LAST, NEW, OLD]
    assert [hit["superseded_by"] for hit in hits] == [None, last, new]


async def test_a_ring_is_refused(alpha: httpx.AsyncClient) -> None:
    old, new, last = await ids_of(alpha, OLD, NEW, LAST)
    assert (await supersede(alpha, old, old)).status_code == 400
    await supersede(alpha, old, new)
    assert (await supersede(alpha, new, old)).status_code == 409
    await supersede(alpha, new, last)
    assert (await supersede(alpha, last, old)).status_code == 409
    assert (await get(alpha, last))["superseded_by"] is None


async def test_saying_it_twice_is_one_link_and_another_replacement_is_a_conflict(
    alpha: httpx.AsyncClient, clock: Clock
) -> None:
    old, new, last = await ids_of(alpha, OLD, NEW, LAST)
    first = await supersede(alpha, old, new)
    clock.advance(days=1)
    assert (await supersede(alpha, old, new)).json() == first.json()
    assert (await supersede(alpha, old, last)).status_code == 409


async def test_other_agents_memories_are_not_found_on_either_side(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    (old, new), (theirs,) = await ids_of(alpha, OLD, NEW), await ids_of(beta, "a memory of beta's")
    assert (await supersede(beta, old, theirs)).status_code == 404
    assert (await supersede(beta, theirs, old)).status_code == 404
    assert (await supersede(alpha, old, new)).status_code == 200
    assert (await beta.delete(f"{MEMORIES}/{old}/supersede")).status_code == 404
    assert (await get(alpha, old))["superseded_by"] == new
    assert (await supersede(admin, theirs, new)).status_code == 400


async def test_what_is_not_there_or_deleted_cannot_be_linked(alpha: httpx.AsyncClient) -> None:
    old, new = await ids_of(alpha, OLD, NEW)
    assert (await supersede(alpha, old, "no-such-id")).status_code == 404
    assert (await supersede(alpha, "x' OR '1'='1", new)).status_code == 404
    await alpha.delete(f"{MEMORIES}/{new}")
    assert (await supersede(alpha, old, new)).status_code == 404


async def test_a_deleted_replacement_does_not_count(alpha: httpx.AsyncClient) -> None:
    """What it replaced stands again, or is replaced by what replaced the deleted one."""
    old, new, last = await ids_of(alpha, OLD, NEW, LAST)
    await supersede(alpha, old, new)
    await alpha.delete(f"{MEMORIES}/{new}")
    assert (await get(alpha, old))["superseded_by"] is None
    await alpha.post(f"{MEMORIES}/{new}/undelete")
    assert (await get(alpha, old))["superseded_by"] == new
    await supersede(alpha, new, last)
    await alpha.delete(f"{MEMORIES}/{new}")
    assert (await get(alpha, old))["superseded_by"] == last


async def test_what_is_gone_for_good_is_left_out_of_the_chain(
    alpha: httpx.AsyncClient, product: Product
) -> None:
    old, new, last = await ids_of(alpha, OLD, NEW, LAST)
    superseding = product.noesis.superseding
    await supersede(alpha, old, new)
    await supersede(alpha, new, last)
    await superseding.drop([new])
    assert await superseding.replaced_by([old, new]) == {old: last}
    assert await superseding.replaces(last) == (old,)
    await superseding.drop([last])
    assert await superseding.replaced_by([old, new, last]) == {}


async def test_another_process_sees_a_link_within_a_second(
    tmp_path: Path, clock: Clock, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = 0.0
    real = time.monotonic
    monkeypatch.setattr("noesis.superseding.time.monotonic", lambda: real() + passed)
    async with running(tmp_path, embedder=embedder, clock=clock) as product:
        alpha = await product.agent("alpha")
        old, new = await ids_of(alpha, OLD, NEW)
        there = Superseding(product.noesis.control, product.noesis.store, clock)
        assert await there.replaced_by([old]) == {}
        await supersede(alpha, old, new)
        passed = 1.01
        assert await there.replaced_by([old]) == {old: new}
        scope = Scope(agent="alpha", role=Role.AGENT, actor="elsewhere")
        await there.unlink(scope, old)
        passed = 2.02
        assert (await get(alpha, old))["superseded_by"] is None


@pytest.mark.parametrize(
    ("ids", "successors", "expected"),
    [
        ("abc", {}, "abc"),
        ("abc", {"a": "b"}, "bac"),
        ("abc", {"a": "c"}, "bca"),
        ("abc", {"a": "x"}, "abc"),
        ("abc", {"a": "xc"}, "bca"),
        ("abcd", {"a": "d", "b": "d"}, "cdab"),
        ("abcd", {"a": "bd", "b": "d"}, "cdba"),
        ("abc", {"c": "a"}, "abc"),
        ("abc", {"a": "b", "b": "a"}, "cab"),
    ],
)
def test_the_order(ids: str, successors: dict[str, str], expected: str) -> None:
    """Down to below the nearest replacement that is there, and nothing is lost, even in a ring."""
    assert "".join(ids[place] for place in below_successors(ids, successors)) == expected


async def test_the_history_of_the_old_memory_tells_of_it(alpha: httpx.AsyncClient) -> None:
    old, new = await ids_of(alpha, OLD, NEW)
    await supersede(alpha, old, new)
    await supersede(alpha, old, new)
    await alpha.delete(f"{MEMORIES}/{old}/supersede")
    events = (await alpha.get(f"{MEMORIES}/{old}/history")).json()["events"]
    assert [(each["kind"], each["changed"]) for each in events[:2]] == [
        ("updated", [{"field": "superseded_by", "old": new, "new": None}]),
        ("superseded", [{"field": "superseded_by", "old": None, "new": new}]),
    ]
    assert [each["kind"] for each in events[2:]] == ["created"]
