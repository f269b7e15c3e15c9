"""Acts on many memories: counted first, never without a filter, never beyond what was meant."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, get, index
from tests.support import Clock, Product


async def bulk_delete(client: httpx.AsyncClient, **params: Any) -> httpx.Response:
    return await client.delete(MEMORIES, params=params)


async def bulk_edit(
    client: httpx.AsyncClient, wanted: dict[str, Any], changes: dict[str, Any], confirm: int | None = None
) -> httpx.Response:
    body = {"filter": wanted, "changes": changes, "confirm_count": confirm}
    return await client.patch(MEMORIES, json=body)


async def ids_of(client: httpx.AsyncClient, **params: Any) -> set[str]:
    reply = await client.get(MEMORIES, params={"limit": 200, **params})
    return {memory["id"] for memory in reply.json()["memories"]}


async def test_a_bulk_delete_needs_a_filter_and_touches_nothing_else(
    product: Product, alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    for number in range(3):
        await index(alpha, f"alpha's memory {number}")
    kept = {(await index(beta, f"beta's memory {number}"))["id"] for number in range(2)}
    handle = product.noesis.store.active.handle
    indexes = {(each.name, each.index_type) for each in await handle.list_indices()}
    for params in ({}, {"agent_id": ""}, {"confirm_count": 5}, {"agent_id": "", "confirm_count": 5}):
        for client in (admin, alpha):
            reply = await bulk_delete(client, **params)
            assert 400 <= reply.status_code < 500, reply.text
            assert (len(await ids_of(alpha)), await ids_of(beta)) == (3, kept)
    preview = (await bulk_delete(admin, agent_id="alpha")).json()
    assert (preview["count"], preview["applied"]) == (3, False)
    assert set(preview["sample"]) == await ids_of(alpha)
    done = (await bulk_delete(admin, agent_id="alpha", confirm_count=3)).json()
    assert (done["count"], done["applied"], done["left_out"]) == (3, True, 0)
    assert (await ids_of(alpha), await ids_of(beta)) == (set(), kept)
    assert {(each.name, each.index_type) for each in await handle.list_indices()} == indexes


WRONG_FILTERS: list[dict[str, Any]] = [
    {"agentId": "alpha"},
    {"session": "s"},
    {"session_id": ""},
    {"source": " "},
    {"tag": ""},
    {"min_age_days": "nan"},
    {"max_age_days": -1},
    {"archived": True},
    {"session_id": "s", "sauce": "x"},
]


async def test_a_filter_that_is_empty_or_misspelt_is_refused(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "a boat", session_id="s")
    for params in WRONG_FILTERS:
        for more in ({}, {"confirm_count": 1}):
            reply = await bulk_delete(alpha, **params, **more)
            assert (params, reply.status_code) == (params, 400)
    assert len(await ids_of(alpha)) == 1


async def test_another_count_than_fits_now_changes_nothing_and_says_the_right_one(
    alpha: httpx.AsyncClient,
) -> None:
    for number in range(3):
        await index(alpha, f"boat {number}", session_id="s")
    for count in (0, 2, 4):
        reply = await bulk_delete(alpha, session_id="s", confirm_count=count)
        assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
        assert "3 memories fit now" in reply.json()["detail"]
        reply = await bulk_edit(alpha, {"session_id": "s"}, {"priority": 1}, count)
        assert (reply.status_code, "3 memories fit now" in reply.text) == (409, True)
    assert len(await ids_of(alpha)) == 3


async def test_every_filter_narrows(alpha: httpx.AsyncClient, clock: Clock) -> None:
    old = (await index(alpha, "old boat", session_id="s", source="a.md", tags=["x"]))["id"]
    clock.advance(days=10)
    new = (await index(alpha, "new boat", session_id="t", tags=["x", "y"], memory_type="decision"))["id"]
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"tag": "x"}, {old, new}),
        ({"tag": "y"}, {new}),
        ({"session_id": "s"}, {old}),
        ({"source": "a.md"}, {old}),
        ({"memory_type": "decision"}, {new}),
        ({"min_age_days": 10}, {old}),
        ({"min_age_days": 10.1}, set()),
        ({"min_age_days": 0}, {old, new}),
        ({"max_age_days": 9}, {new}),
        ({"max_age_days": 30, "session_id": "s"}, {old}),
        ({"agent_id": "alpha"}, {old, new}),
        ({"after": "2026-06-01T00:00:00Z"}, {new}),
    ]
    for params, meant in cases:
        preview = (await bulk_delete(alpha, **params)).json()
        assert (params, set(preview["sample"]), preview["count"]) == (params, meant, len(meant))


async def test_an_agent_reaches_no_other_agents_memories(
    product: Product, alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    await index(alpha, "alpha's boat", session_id="shared", tags=["shared"])
    await index(beta, "beta's boat", session_id="shared")
    for agent in ("alpha", "ALPHA"):
        assert (await bulk_delete(beta, agent_id=agent, confirm_count=1)).status_code == 403
        assert (await bulk_edit(beta, {"agent_id": agent}, {"priority": 1}, 1)).status_code == 403
    assert (await bulk_delete(beta, tag="shared")).json()["count"] == 0
    assert (await bulk_delete(beta, session_id="shared", confirm_count=1)).json()["count"] == 1
    assert (len(await ids_of(alpha)), len(await ids_of(beta))) == (1, 0)


async def test_many_are_changed_and_only_in_what_is_named(alpha: httpx.AsyncClient, clock: Clock) -> None:
    ids = [
        (await index(alpha, f"boat {number}", tags=["x", "z"], session_id="s", ttl_days=number))["id"]
        for number in (1, 2)
    ]
    other = (await index(alpha, "another boat"))["id"]
    untouched = await get(alpha, other)
    before = await get(alpha, ids[0])
    clock.advance(seconds=60)
    changes = {"priority": 77, "add_tags": ["x", "y"], "remove_tags": ["z"]}
    preview = (await bulk_edit(alpha, {"session_id": "s"}, changes)).json()
    assert (preview["count"], preview["applied"], await get(alpha, ids[0])) == (2, False, before)
    done = (await bulk_edit(alpha, {"session_id": "s"}, changes, 2)).json()
    assert (done["count"], set(done["sample"])) == (2, set(ids))
    after = await get(alpha, ids[0])
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"priority", "priority_set_by", "tags", "updated_at"}
    assert (after["priority"], after["tags"]) == (77, ["x", "y"])
    assert await get(alpha, other) == untouched
    await bulk_edit(alpha, {"session_id": "s"}, {"memory_type": "decision", "priority": None}, 2)
    assert (await get(alpha, ids[1]))["priority"] == 85
    await bulk_edit(alpha, {"session_id": "s"}, {"pinned": True}, 2)
    assert [(await get(alpha, each))["expires_at"] for each in ids] == [None, None]
    await bulk_edit(alpha, {"session_id": "s"}, {"ttl_days": 1}, 2)
    assert len({(await get(alpha, each))["expires_at"] for each in ids}) == 1


WRONG_CHANGES: list[dict[str, Any]] = [
    {},
    {"priority": 101},
    {"ttl_days": -1},
    {"add_tags": [""]},
    {"text": "x"},
    {"pinned": True, "ttl_days": 1},
]


async def test_changes_that_cannot_be_are_refused(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "a boat", session_id="s")
    for changes in WRONG_CHANGES:
        for confirm in (None, 1):
            reply = await bulk_edit(alpha, {"session_id": "s"}, changes, confirm)
            assert (changes, reply.status_code) == (changes, 400)


async def test_a_memory_that_cannot_take_the_change_stops_no_other(alpha: httpx.AsyncClient) -> None:
    await index(alpha, "full of tags", tags=[f"t{n}" for n in range(32)], session_id="s")
    good = (await index(alpha, "a boat", session_id="s"))["id"]
    done = (await bulk_edit(alpha, {"session_id": "s"}, {"add_tags": ["one more"]}, 2)).json()
    assert (done["count"], done["left_out"], done["sample"]) == (1, 1, [good])


async def test_what_is_deleted_at_once_comes_back_one_by_one(alpha: httpx.AsyncClient) -> None:
    memory_id = (await index(alpha, "a boat", session_id="s"))["id"]
    await bulk_delete(alpha, session_id="s", confirm_count=1)
    assert (await get(alpha, memory_id))["archive_reason"] == "deleted"
    assert (await alpha.post(f"{MEMORIES}/{memory_id}/undelete")).status_code == 200
    assert await ids_of(alpha) == {memory_id}


async def test_the_archive_is_meant_only_when_it_is_named(product: Product, alpha: httpx.AsyncClient) -> None:
    old = (await index(alpha, "an old boat", session_id="s"))["id"]
    await archive(product, old)
    await index(alpha, "a new boat", session_id="s")
    assert (await bulk_delete(alpha, session_id="s")).json()["count"] == 1
    preview = (await bulk_delete(alpha, session_id="s", archived=True)).json()
    assert preview["sample"] == [old]
    await bulk_delete(alpha, session_id="s", archived=True, confirm_count=1)
    assert (await bulk_delete(alpha, session_id="s", archived=True)).json()["count"] == 0
    assert len(await ids_of(alpha)) == 1


async def test_it_goes_in_bounded_pages_and_leaves_one_line_in_the_audit_log(
    product: Product, alpha: httpx.AsyncClient
) -> None:
    memories = [{"text": f"boat number {number}", "session_id": "many"} for number in range(600)]
    lines = b"\n".join(msgspec.json.encode(memory) for memory in memories)
    reply = await alpha.post(
        f"{MEMORIES}/bulk", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    assert reply.status_code == 200
    writer = product.noesis.store.writer
    before = writer.commits
    done = (await bulk_delete(alpha, session_id="many", confirm_count=600)).json()
    assert (done["count"], len(done["sample"])) == (600, 20)
    assert writer.commits - before >= 3
    (line, *_) = await product.noesis.audit.newest(1)
    assert (line.action, line.target) == ("memories deleted", "600 with agent=alpha session=many")
