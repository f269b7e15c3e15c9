"""Tokens, agents, the audit log, jobs, stats and health over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from noesis.embedding import EmbeddingFailure
from noesis.errors import StoreError
from noesis.store import Table
from tests.operations.expire import archive
from tests.operations.samples import MEMORIES, index, search
from tests.support import Clock, Product, WordEmbedder

TOKENS = "/api/v1/tokens"


async def test_a_token_is_shown_once_and_works(admin: httpx.AsyncClient, product: Product) -> None:
    made = await admin.post(TOKENS, json={"role": "agent", "name": " my laptop ", "agents": ["Alpha"]})
    assert made.status_code == 201
    token = made.json()
    assert (token["name"], token["role"], token["agents"]) == ("my laptop", "agent", ["alpha"])
    assert token["token"].startswith(f"nse_{token['id']}_")
    assert token["last_used_at"] is None
    assert (await index(product.client(token["token"]), "written with it"))["status"] == 201
    listed = await admin.get(TOKENS)
    assert token["token"].split("_", 2)[2] not in listed.text
    (seen,) = [entry for entry in listed.json()["tokens"] if entry["id"] == token["id"]]
    assert seen["last_used_at"] is not None
    assert {name: seen[name] for name in ("name", "role", "agents")} == {
        name: token[name] for name in ("name", "role", "agents")
    }


async def test_a_revoked_token_is_not_listed_and_cannot_be_revoked_twice(admin: httpx.AsyncClient) -> None:
    token = (await admin.post(TOKENS, json={"role": "admin", "name": "second"})).json()
    reply = await admin.delete(f"{TOKENS}/{token['id']}")
    assert (reply.status_code, reply.content) == (204, b"")
    assert token["id"] not in {entry["id"] for entry in (await admin.get(TOKENS)).json()["tokens"]}
    assert (await admin.delete(f"{TOKENS}/{token['id']}")).status_code == 404
    assert (await admin.delete(f"{TOKENS}/nothing")).status_code == 404


NO_SENSE: list[tuple[dict[str, Any], str]] = [
    ({"role": "agent", "name": "x"}, "agents"),
    ({"role": "agent", "name": "x", "agents": ["a", "b"]}, "agents"),
    ({"role": "agent", "name": "x", "agents": ["*"]}, "agents"),
    ({"role": "agent", "name": "x", "agents": ["../x"]}, "agent"),
    ({"role": "gateway", "name": "x"}, "agents"),
    ({"role": "gateway", "name": " ", "agents": ["*"]}, "name"),
    ({"role": "gateway", "name": "x" * 129, "agents": ["*"]}, "name"),
    ({"role": "root", "name": "x"}, "role"),
    ({"name": "x", "agents": ["a"]}, "role"),
    ({"role": "agent", "agents": ["a"]}, "name"),
]


async def test_a_token_that_makes_no_sense_is_not_made(admin: httpx.AsyncClient) -> None:
    for body, field in NO_SENSE:
        before = (await admin.get(TOKENS)).json()
        reply = await admin.post(TOKENS, json=body)
        assert (reply.status_code, reply.json()["field"]) == (400, field)
        assert len((await admin.get(TOKENS)).json()["tokens"]) == len(before["tokens"])


async def test_an_agent_is_listed_with_what_it_has_and_may(
    admin: httpx.AsyncClient, alpha: httpx.AsyncClient, beta: httpx.AsyncClient, product: Product
) -> None:
    await index(alpha, "one")
    await archive(product, (await index(alpha, "two"))["id"])
    await index(beta, "three")
    reply = await admin.patch("/api/v1/agents/Gamma", json={"may_read_across": True})
    rest: dict[str, object] = {
        "redaction": None,
        "ttl_days": {},
        "max_memories": None,
        "writes_per_minute": None,
    }
    policy = {"agent": "gamma", "may_read_across": True, **rest}
    assert (reply.status_code, reply.json()) == (200, policy)
    reply = await admin.patch("/api/v1/agents/gamma", json={"redaction": "block"})
    assert reply.json() == policy | {"redaction": "block"}
    agents = (await admin.get("/api/v1/agents")).json()["agents"]
    found = {"refused": 0, "may_read_across": False, **rest}
    assert agents == [
        {"agent": "alpha", "memories": 1, "archived": 1, **found},
        {"agent": "beta", "memories": 1, "archived": 0, **found},
        {"agent": "gamma", "memories": 0, "archived": 0, "refused": 0, **policy, "redaction": "block"},
    ]


async def test_the_audit_log_tells_who_did_what_newest_first(
    admin: httpx.AsyncClient, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    token = (await admin.post(TOKENS, json={"role": "admin", "name": "second"})).json()
    clock.advance(seconds=5)
    await admin.patch("/api/v1/agents/alpha", json={"may_read_across": True})
    await alpha.get(TOKENS)
    await admin.delete(f"{TOKENS}/{token['id']}")
    entries = (await admin.get("/api/v1/audit")).json()["entries"]
    assert [(entry["action"], entry["target"], entry["outcome"]) for entry in entries] == [
        ("token revoked", token["id"], "done"),
        ("refused", TOKENS, "refused"),
        ("policy set", "alpha", "done"),
        ("token created", token["id"], "done"),
    ]
    assert entries[0]["at"] > entries[3]["at"]
    assert {entry["actor"].partition(" ")[0] for entry in entries} == {"token"}
    assert entries[1]["actor"] != entries[0]["actor"]
    assert len((await admin.get("/api/v1/audit?limit=1")).json()["entries"]) == 1


async def test_a_job_is_started_once_and_can_be_looked_at_cancelled_and_run_again(
    admin: httpx.AsyncClient,
) -> None:
    started = [(await admin.post("/api/v1/optimize")) for _ in range(2)]
    assert [reply.status_code for reply in started] == [202, 202]
    job_id = started[0].json()["job_id"]
    assert started[1].json()["job_id"] == job_id
    job = (await admin.get(f"/api/v1/jobs/{job_id}")).json()
    assert (job["name"], job["state"], job["progress"]) == ("upkeep", "queued", {"done": 0, "total": None})
    assert (await admin.post(f"/api/v1/jobs/{job_id}/retry")).status_code == 409
    assert (await admin.post(f"/api/v1/jobs/{job_id}/cancel")).json()["state"] == "cancelled"
    assert (await admin.post(f"/api/v1/jobs/{job_id}/cancel")).status_code == 409
    assert (await admin.post(f"/api/v1/jobs/{job_id}/retry")).json()["state"] == "queued"
    for method, path in (("GET", ""), ("POST", "/cancel"), ("POST", "/retry")):
        assert (await admin.request(method, f"/api/v1/jobs/nothing{path}")).status_code == 404


async def test_jobs_are_listed_newest_first_in_pages(
    admin: httpx.AsyncClient, product: Product, clock: Clock
) -> None:
    for number in range(7):
        clock.advance(seconds=1)
        await product.noesis.jobs.enqueue("upkeep", key=f"key {number}")
    found: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": "3"} | ({} if cursor is None else {"cursor": cursor})
        page = (await admin.get("/api/v1/jobs", params=params)).json()
        found += [job["created_at"] for job in page["jobs"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert len(found) == 7
    assert found == sorted(found, reverse=True)
    reply = await admin.get("/api/v1/jobs", params={"cursor": "nonsense"})
    assert reply.status_code == 400


async def test_stats_count_memories_and_not_chunks(
    alpha: httpx.AsyncClient, admin: httpx.AsyncClient, beta: httpx.AsyncClient, product: Product
) -> None:
    await index(alpha, " ".join(f"w{n}" for n in range(1200)), memory_type="decision")
    await index(alpha, "short", priority=10)
    await index(beta, "other")
    await archive(product, (await index(alpha, "old"))["id"])
    stats = (await alpha.get("/api/v1/stats")).json()
    assert stats["active"]["memories"] == 2
    assert stats["active"]["by_agent"] == {"alpha": 2}
    assert stats["active"]["by_type"] == {
        "decision": 1,
        "fact": 1,
        "preference": 0,
        "context": 0,
        "session": 0,
    }
    assert stats["active"]["by_priority"] == {"0-24": 1, "75-100": 1}
    assert stats["archive"]["memories"] == 1
    everything = (await admin.get("/api/v1/stats")).json()
    assert everything["active"]["by_agent"] == {"alpha": 2, "beta": 1}
    assert everything["disk"]["rows"] > 4
    assert everything["disk"]["bytes"] > 0
    assert everything["embedder"]["model"] == "words"


async def part(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    report = (await client.get("/health")).json()
    (found,) = [part for part in report["parts"] if part["name"] == name]
    return {**found, "overall": report["state"]}


async def test_health_says_what_is_wrong_since_when_and_what_still_works(
    alpha: httpx.AsyncClient, embedder: WordEmbedder, clock: Clock
) -> None:
    await index(alpha, "heron")
    well = await part(alpha, "embedder")
    assert (well["state"], well["summary"]) == ("ok", "words answers.")
    embedder.down = True
    clock.advance(seconds=60)
    await index(alpha, "badger")
    ill = await part(alpha, "embedder")
    assert (ill["state"], ill["overall"]) == ("degraded", "degraded")
    assert ill["summary"].startswith("The embedder does not answer.")
    assert "1 text waits for its vector." in ill["summary"]
    assert ill["still_works"]
    assert ill["what_to_do"]
    assert ill["since"] > well["since"]
    clock.advance(seconds=60)
    assert (await part(alpha, "embedder"))["since"] == ill["since"]


async def test_health_without_a_queue_is_degraded_and_the_probes_are_fine(alpha: httpx.AsyncClient) -> None:
    queue = await part(alpha, "queue")
    assert queue["state"] == "degraded"
    assert queue["still_works"]
    assert (await alpha.get("/health/live")).json() == {"status": "alive"}
    assert (await alpha.get("/health/ready")).json() == {"status": "ready"}


async def test_a_store_that_cannot_be_read_is_not_ready(
    alpha: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> int:
        raise StoreError("The store could not be read: broken")

    monkeypatch.setattr(Table, "count", fail)
    reply = await alpha.get("/health/ready")
    assert (reply.status_code, reply.json()) == (503, {"status": "not ready"})
    assert (await alpha.get("/health/live")).status_code == 200


async def test_the_public_probes_tell_a_stranger_one_word(product: Product) -> None:
    stranger = product.client()
    for path in ("/health/live", "/health/ready"):
        assert set((await stranger.get(path)).json()) == {"status"}
    assert (await stranger.get("/health")).status_code == 401


async def test_failed_vectors_are_counted(alpha: httpx.AsyncClient, embedder: WordEmbedder) -> None:
    embedder.broken["poison"] = EmbeddingFailure("Never.", permanent=True)
    await index(alpha, "poison")
    await index(alpha, "fine")
    states = (await alpha.get("/api/v1/stats")).json()["active"]["by_embedding_state"]
    assert states == {"pending": 0, "ready": 1, "failed": 1}


async def test_the_administrator_acts_as_the_agent_it_names(
    admin: httpx.AsyncClient, alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    """Without a name it sees all; by id it reaches all."""
    first = await index(alpha, "alpha's heron")
    await index(beta, "beta's heron")
    as_beta = {"x-noesis-agent": "beta"}
    reply = await admin.post("/api/v1/search", json={"query": "heron"}, headers=as_beta)
    assert [hit["agent_id"] for hit in reply.json()["hits"]] == ["beta"]
    assert (await admin.get(f"{MEMORIES}/{first['id']}", headers=as_beta)).status_code == 404
    assert {hit["agent_id"] for hit in (await search(admin, "heron"))["hits"]} == {"alpha", "beta"}
    assert (await admin.get(f"{MEMORIES}/{first['id']}")).status_code == 200
    reply = await admin.post("/api/v1/search", json={"query": "heron", "agent_id": "alpha"})
    assert [hit["agent_id"] for hit in reply.json()["hits"]] == ["alpha"]
