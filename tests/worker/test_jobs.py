"""The queue's promises when Redis works, does not, or forgets."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import msgspec

from noesis.jobs import Jobs
from noesis.ledger import Ledger
from tests.worker.conftest import Clock
from tests.worker.valkey import Valkey


async def test_a_message_holds_the_job_id_and_nothing_else(jobs: Jobs, valkey: Valkey) -> None:
    job = await jobs.enqueue("scan_source", key="scan:diary", args={"source": "diary-7"})
    assert [key.decode() for key in sorted(valkey.ask("KEYS", "*"))] == [f"arq:job:{job.id}-0", "noesis:jobs"]
    message = msgspec.msgpack.decode(valkey.ask("GET", f"arq:job:{job.id}-0"))
    assert (message["f"], message["a"], message["k"]) == ("wake", [job.id], {})
    assert b"diary" not in valkey.everything()


async def test_a_delayed_job_has_a_delayed_message(ledger: Ledger, valkey: Valkey) -> None:
    clock = Clock()
    jobs = Jobs(ledger, redis_url=valkey.url, now_ms=clock)
    job = await jobs.enqueue("cleanup", delay_ms=60_000)
    assert job.not_before_ms == clock.now + 60_000
    due = float(valkey.ask("ZSCORE", "noesis:jobs", f"{job.id}-0"))
    server_s, _ = valkey.ask("TIME")
    assert 50_000 < due - server_s * 1000 <= 61_000
    await jobs.close()


async def test_enqueueing_works_without_redis_and_the_sweep_sends_the_message(
    ledger: Ledger, valkey: Valkey
) -> None:
    clock = Clock()
    jobs = Jobs(ledger, redis_url=valkey.url, now_ms=clock)
    valkey.halt()
    job = await jobs.enqueue("cleanup")
    status = await jobs.redis_status()
    assert (status.reachable, status.since_ms) == (False, clock.now)
    assert status.warning is not None
    valkey.start()
    clock.now += 60_000
    assert (await jobs.redis_status()).reachable
    await asyncio.sleep(2.1)  # the pause in which Redis is left alone
    assert (await jobs.reconcile()).resent == 1
    assert valkey.ask("EXISTS", f"arq:job:{job.id}-0") == 1
    assert (await jobs.redis_status()).warning is None
    await jobs.close()


async def test_a_wiped_redis_gets_its_messages_again_once(ledger: Ledger, valkey: Valkey) -> None:
    clock = Clock()
    jobs = Jobs(ledger, redis_url=valkey.url, now_ms=clock)
    ids = {(await jobs.enqueue("cleanup")).id for _ in range(5)}
    valkey.ask("FLUSHALL")
    assert (await jobs.reconcile()).resent == 0, "they are young: their messages may be under way"
    clock.now += 6_000
    for _ in range(2):
        await jobs.reconcile()
        sent = {word.decode() for word in valkey.ask("ZRANGE", "noesis:jobs", "0", "-1")}
        assert sent == {f"{job_id}-0" for job_id in ids}
    await jobs.close()


async def test_redis_out_of_memory_is_a_warning_not_an_error(jobs: Jobs, valkey: Valkey) -> None:
    valkey.ask("CONFIG", "SET", "maxmemory", "1mb")
    job = await jobs.enqueue("cleanup")
    assert (await jobs.get(job.id)).state == "queued"
    assert valkey.ask("ZCARD", "noesis:jobs") == 0
    status = await jobs.redis_status()
    assert status.reachable
    assert status.warning is not None
    assert "takes no messages (OutOfMemoryError)" in status.warning


async def test_an_evicting_policy_is_warned_about(jobs: Jobs, valkey: Valkey) -> None:
    assert (await jobs.redis_status()).warning is None
    valkey.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    status = await jobs.redis_status()
    assert status.policy == "allkeys-lru"
    assert status.warning is not None
    assert "noeviction" in status.warning


async def test_a_redis_that_hangs_costs_few_requests_a_short_wait(ledger: Ledger, tmp_path: Path) -> None:
    """Twenty enqueues against a socket that accepts and never answers."""
    path = tmp_path / "mute"
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(path))
        mute.listen(64)
        jobs = Jobs(ledger, redis_url=f"unix://{path}", now_ms=Clock())
        async with asyncio.timeout(6):
            made = await asyncio.gather(*(jobs.enqueue("cleanup") for _ in range(20)))
        assert {job.state for job in made} == {"queued"}
        await jobs.close()


async def test_only_a_heartbeat_that_stands_still_is_stale(ledger: Ledger) -> None:
    """Neither a wall clock that jumps nor one long look makes a living worker look dead."""
    clock, seconds = Clock(), [0.0]
    jobs = Jobs(ledger, redis_url=None, now_ms=clock, monotonic=lambda: seconds[0], stale_after_s=30)
    job = await jobs.enqueue("cleanup")
    claimed = await ledger.claim({"cleanup": 2}, clock.now)
    assert claimed is not None
    clock.now += 10 * 365 * 86_400_000
    assert (await jobs.reconcile()).released == ()
    seconds[0] += 29.0
    assert (await jobs.reconcile()).released == ()
    seconds[0] += 1.0
    assert [released.state for released in (await jobs.reconcile()).released] == ["queued"]
    assert (await jobs.get(job.id)).attempts == 1
    await jobs.close()


async def test_list_prune_and_acknowledge_go_through_to_the_ledger(ledger: Ledger) -> None:
    clock = Clock()
    jobs = Jobs(ledger, redis_url=None, now_ms=clock)
    job = await jobs.enqueue("cleanup")
    assert (await jobs.cancel(job.id)).state == "cancelled"
    assert [listed.id for listed in (await jobs.list()).jobs] == [job.id]
    assert (await jobs.retry(job.id)).state == "queued"
    await ledger.claim({"cleanup": 1}, clock.now)
    await ledger.fail(await jobs.get(job.id), "It failed.", clock.now)
    assert (await jobs.acknowledge(job.id)).acknowledged
    clock.now += 1000
    assert await jobs.prune(max_age_ms=500, keep=10) == 1
    await jobs.close()
