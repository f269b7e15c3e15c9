"""The history of a memory: each change once, by whom and from what, and never what it says."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from noesis.control import Control
from noesis.memory import Role, Scope
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, index
from tests.servers import quiet_environment
from tests.store.changes import Count, Refuse
from tests.store.rows import make_row
from tests.support import Clock, Product, WordEmbedder, running


async def history(client: httpx.AsyncClient, memory_id: str, **params: Any) -> list[dict[str, Any]]:
    """A memory's events, newest first."""
    reply = await client.get(f"{MEMORIES}/{memory_id}/history", params=params)
    assert reply.status_code == 200, reply.text
    events: list[dict[str, Any]] = reply.json()["events"]
    return events


async def kinds(client: httpx.AsyncClient, memory_id: str) -> list[str]:
    """What happened to a memory, the first thing first."""
    return [event["kind"] for event in reversed(await history(client, memory_id))]


async def test_every_kind_of_change_is_told_with_who_and_what(
    product: Product, alpha: httpx.AsyncClient, admin: httpx.AsyncClient, clock: Clock
) -> None:
    memory_id = (await index(alpha, "the gate code is 4411", tags=["a"], session_id="s"))["id"]
    path = f"{MEMORIES}/{memory_id}"
    clock.advance(seconds=60)
    await alpha.patch(path, json={"priority": 80, "tags": ["b"], "memory_type": "decision"})
    await admin.patch(path, json={"text": "the gate code is 4412"})
    await alpha.patch(path, json={"ttl_days": 0})
    await alpha.delete(path)
    await alpha.post(f"{path}/undelete")
    await archive(product, memory_id)
    await index(alpha, "the gate code is 4412", session_id="s")
    events = list(reversed(await history(alpha, memory_id)))
    told = [(event["kind"], [each["field"] for each in event["changed"]]) for event in events]
    assert told == [
        ("created", []),
        ("updated", ["memory_type", "priority", "tags"]),
        ("updated", ["text"]),
        ("updated", ["expires_at"]),
        ("deleted", []),
        ("undeleted", []),
        ("archived", []),
        ("restored", ["expires_at"]),
    ]
    changed = {each["field"]: (each["old"], each["new"]) for each in events[1]["changed"]}
    assert changed == {"memory_type": ("fact", "decision"), "priority": (30, 80), "tags": (["a"], ["b"])}
    assert events[2]["changed"] == [{"field": "text", "old": None, "new": None}]
    assert events[3]["changed"][0]["new"] is None
    assert (events[0]["at"], events[1]["at"]) == ("2026-05-28T20:26:40Z", "2026-05-28T20:27:40Z")
    assert events[6]["because"] == "expired"
    tokens = {token.name: f"token {token.id}" for token in await product.noesis.tokens.list()}
    assert [event["actor"] for event in events[:3]] == [
        tokens["test alpha"],
        tokens["test alpha"],
        tokens["test admin"],
    ]
    assert {event["agent_id"] for event in events} == {"alpha"}


async def test_no_text_is_in_the_history(product: Product, alpha: httpx.AsyncClient) -> None:
    memory_id = (await index(alpha, "canaryword one"))["id"]
    await alpha.patch(f"{MEMORIES}/{memory_id}", json={"text": "canaryword two"})
    rows = await product.noesis.control.read(
        lambda connection: connection.execute(sa.text("SELECT * FROM memory_history")).all()
    )
    assert len(rows) == 2
    assert "canaryword" not in repr(rows)


async def test_a_vector_that_comes_later_is_no_event(
    product: Product, alpha: httpx.AsyncClient, embedder: WordEmbedder
) -> None:
    embedder.down = True
    memory_id = (await index(alpha, "waits for its vector"))["id"]
    embedder.down = False
    filled = await product.noesis.filling.fill(lambda done, total: None)
    assert filled.embedded == 1
    await index(alpha, "waits for its vector")
    assert await kinds(alpha, memory_id) == ["created"]


async def test_changes_of_one_commit_are_told_one_by_one_and_a_refused_one_is_not(product: Product) -> None:
    store = product.noesis.store
    row = make_row(1)
    before = store.writer.commits
    submitted = [*(store.submit(Count(row)) for _ in range(3)), store.submit(Refuse(row.id))]
    await asyncio.gather(*submitted, return_exceptions=True)
    assert store.writer.commits == before + 1
    page = await product.noesis.oversight.history.of(Scope(None, Role.ADMIN), row.id)
    values = [each.new for event in reversed(page.events) for each in event.changed]
    assert ([event.kind for event in reversed(page.events)], values) == (
        ["created", "updated", "updated"],
        [1, 2],
    )


async def test_anothers_history_is_as_if_there_were_no_memory(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory_id = (await index(alpha, "alpha's"))["id"]
    headers = {"x-request-id": "same"}
    unknown = f"{MEMORIES}/00000000-0000-5000-8000-000000000000/history"
    expected = await beta.get(unknown, headers=headers)
    for _ in ("active", "deleted"):
        reply = await beta.get(f"{MEMORIES}/{memory_id}/history", headers=headers)
        assert (reply.status_code, reply.content) == (404, expected.content)
        await alpha.delete(f"{MEMORIES}/{memory_id}")
    assert await kinds(alpha, memory_id) == ["created", "deleted"]
    assert await kinds(admin, memory_id) == ["created", "deleted"]


async def test_what_is_gone_for_good_has_a_history_for_administrators_without_its_values(
    alpha: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    memory_id = (await index(alpha, "poison", session_id="s", tags=["secret-tag"]))["id"]
    await alpha.patch(f"{MEMORIES}/{memory_id}", json={"tags": ["other"]})
    assert (
        await alpha.post("/api/v1/forget", json={"session_id": "s", "confirm_count": 1})
    ).status_code == 200
    assert (await alpha.get(f"{MEMORIES}/{memory_id}/history")).status_code == 404
    events = await history(admin, memory_id)
    assert [event["kind"] for event in events] == ["purged", "updated", "created"]
    assert (events[0]["because"], events[1]["changed"]) == ("session forgotten", [])


async def test_it_comes_in_pages_and_is_kept_for_so_long(tmp_path: Path, clock: Clock) -> None:
    async with running(tmp_path, clock=clock, environ={"NOESIS_HISTORY_DAYS": "30"}) as product:
        alpha = await product.agent("alpha")
        memory_id = (await index(alpha, "changes often", ttl_days=0))["id"]
        for priority in range(5):
            await alpha.patch(f"{MEMORIES}/{memory_id}", json={"priority": priority})
        path = f"{MEMORIES}/{memory_id}/history"
        first = (await alpha.get(path, params={"limit": 4})).json()
        rest = (await alpha.get(path, params={"limit": 4, "cursor": first["cursor"]})).json()
        assert (len(first["events"]), len(rest["events"]), rest["cursor"]) == (4, 2, None)
        assert rest["events"][-1]["kind"] == "created"
        for wrong in ({"cursor": "x"}, {"limit": 0}):
            assert (await alpha.get(path, params=wrong)).status_code == 400
        clock.advance(days=31)
        await alpha.patch(f"{MEMORIES}/{memory_id}", json={"priority": 99})
        assert await product.noesis.oversight.history.prune() == 6
        assert await kinds(alpha, memory_id) == ["updated"]
        assert await product.noesis.oversight.history.prune() == 0


async def test_a_control_database_that_fails_costs_no_write_and_is_caught_up_with(
    product: Product, alpha: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Control.run

    async def fail(self: Control, work: Callable[[sa.Connection], Any], *, synced: bool = True) -> Any:
        if not synced:
            raise sa.exc.OperationalError("INSERT", {}, Exception("database is locked"))
        return await run(self, work)

    with monkeypatch.context() as broken:
        broken.setattr(Control, "run", fail)
        memory_id = (await index(alpha, "stored all the same"))["id"]
        assert (await alpha.get(f"{MEMORIES}/{memory_id}")).status_code == 200
        assert await history(alpha, memory_id) == []
    await alpha.patch(f"{MEMORIES}/{memory_id}", json={"priority": 1})
    assert await kinds(alpha, memory_id) == ["created", "updated"]


async def test_a_kill_between_commit_and_history_leaves_a_history_that_can_be_read(tmp_path: Path) -> None:
    environment = quiet_environment(tmp_path, NOESIS_CRASH_AT="write: synced")
    command = [sys.executable, "-m", "noesis", "index", "stored just so", "--agent", "alpha"]
    killed = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    async with running(tmp_path) as product:
        alpha = await product.agent("alpha")
        (memory,) = (await alpha.get(MEMORIES)).json()["memories"]
        assert await history(alpha, memory["id"]) == []
        await alpha.patch(f"{MEMORIES}/{memory['id']}", json={"priority": 1})
        assert await kinds(alpha, memory["id"]) == ["updated"]
