"""Figures for Prometheus: of every part, by names only, and for an administrator's token alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from noesis.errors import StoreError
from noesis.memory import Role, Scope
from noesis.metrics import Figure, Metrics, single
from tests.support import Product

CANARY = "zirconium heron canary"

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Samples:
    """Each sample's value by its name and labels; the library's own parser reads the text."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return found


def labelled(**labels: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


async def scrape(admin: httpx.AsyncClient) -> Samples:
    reply = await admin.get("/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain")
    return parsed(reply.text)


async def test_only_an_administrator_sees_them(alpha: httpx.AsyncClient, product: Product) -> None:
    assert (await alpha.get("/metrics")).status_code == 403
    assert (await product.client().get("/metrics")).status_code == 401


async def test_they_tell_of_memories_jobs_parts_and_the_disk(
    admin: httpx.AsyncClient, alpha: httpx.AsyncClient, product: Product
) -> None:
    for text in ("one", "two"):
        await alpha.post("/api/v1/memories", json={"text": text})
    await product.noesis.jobs.enqueue("upkeep", key="upkeep")
    found = await scrape(admin)
    assert found["noesis_memories", labelled(agent="alpha", table="active")] == 2
    assert found["noesis_memories_by_embedding", labelled(table="active", state="ready")] == 2
    assert found["noesis_pending_embeddings", ()] == 0
    assert found["noesis_jobs", labelled(state="queued")] == 1
    assert found["noesis_oldest_queued_job_seconds", ()] == 0
    assert found["noesis_redis_up", ()] == 0
    assert found["noesis_part_state", labelled(part="queue", state="degraded")] == 1
    assert found["noesis_part_state", labelled(part="store", state="ok")] == 1
    assert found["noesis_store_rows", ()] == 2
    assert found["noesis_store_bytes", ()] > 0
    for source in ("store", "jobs", "roots", "parts"):
        assert found["noesis_source_up", labelled(source=source)] == 1


async def test_each_place_says_how_far_memory_is_behind(
    admin: httpx.AsyncClient, product: Product, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / f"{CANARY}.md").write_text(f"# Note\n\n{CANARY}\n")
    inflow = product.noesis.inflow
    root = await inflow.following.add("alpha", str(notes), label="notes")
    await inflow.signs.write("events", None)
    place = labelled(agent="alpha", root="notes", kind="markdown")
    text = (await admin.get("/metrics")).text
    found = parsed(text)
    assert found["noesis_root_available", place] == 1
    assert (found["noesis_root_files", place], found["noesis_root_indexed_files", place]) == (1, 0)
    assert found["noesis_root_waiting_files", place] == 1
    assert found["noesis_watcher_heartbeat_age_seconds", ()] == 0
    assert CANARY not in text
    await inflow.scanning.scan(root.key, lambda _done, _total: None, lambda: False)
    (fresh,) = await inflow.scanning.freshness(Scope(None, Role.ADMIN))
    assert fresh.is_clean


async def test_answers_are_counted_by_route_and_status_and_never_by_address(
    admin: httpx.AsyncClient, alpha: httpx.AsyncClient
) -> None:
    before = await scrape(admin)

    async def grew(after: Samples, method: str, route: str, status: int) -> float:
        key = "noesis_requests_total", labelled(method=method, route=route, status=str(status))
        return after.get(key, 0) - before.get(key, 0)

    for number in range(3):
        await alpha.get(f"/api/v1/memories/{CANARY} {number}")
    await alpha.post("/api/v1/search", json={"query": CANARY})
    await alpha.get(f"/{CANARY}", params={"q": CANARY})
    await alpha.request("BREW", "/api/v1/search")
    text = (await admin.get("/metrics")).text
    after = parsed(text)
    assert await grew(after, "GET", "/api/v1/memories/{memory_id}", 404) == 3
    assert await grew(after, "POST", "/api/v1/search", 200) == 1
    assert await grew(after, "GET", "none", 404) == 1
    assert after["noesis_search_seconds_count", ()] - before.get(("noesis_search_seconds_count", ()), 0) == 1
    assert CANARY not in text
    assert "zirconium" not in text
    assert "BREW" not in text


async def test_a_part_that_fails_leaves_the_others_their_figures() -> None:
    async def good() -> Sequence[Figure]:
        return [single("herons", "Herons.", 3)]

    async def bad() -> Sequence[Figure]:
        raise StoreError("gone")

    metrics = Metrics({"good": good})
    metrics.add_source("bad", bad)
    found = parsed((await metrics.text()).decode())
    assert found["noesis_herons", ()] == 3
    assert found["noesis_source_up", labelled(source="bad")] == 0


async def test_to_look_often_does_not_gather_often() -> None:
    now, gathered = 0.0, 0

    async def slow() -> Sequence[Figure]:
        nonlocal now, gathered
        now, gathered = now + 2, gathered + 1
        return [single("turns", "How often.", gathered)]

    metrics = Metrics({"slow": slow}, clock=lambda: now)
    for _ in range(3):
        await metrics.text()
    assert gathered == 1
    now += 19
    await metrics.text()
    assert gathered == 1
    now += 2
    assert parsed((await metrics.text()).decode())["noesis_turns", ()] == 2


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb"])
async def test_a_label_cannot_break_out_of_its_line(name: str) -> None:
    async def odd() -> Sequence[Figure]:
        return [Figure(name="roots", about="Roots.", labels=("root",), values={(name,): 1})]

    found = parsed((await Metrics({"odd": odd}).text()).decode())
    assert found["noesis_roots", labelled(root=name)] == 1


async def test_scrapes_at_once_are_all_answered(admin: httpx.AsyncClient) -> None:
    replies = await asyncio.gather(*(admin.get("/metrics") for _ in range(5)))
    assert [reply.status_code for reply in replies] == [200] * 5
