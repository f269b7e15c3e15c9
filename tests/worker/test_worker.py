"""One worker in this event loop: how handlers are run and how their ends are recorded."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from noesis.errors import EmbedderUnavailable, StoreFull
from noesis.jobs import Jobs
from noesis.ledger import Job
from noesis.worker import Handler, JobContext
from noesis.worker.outcome import BACKOFF_CAP_MS, backoff_ms
from tests.worker.conftest import Clock, ended, until, working

SECRET = "the cat is called Schroedinger"


async def test_a_job_runs_with_its_arguments_and_the_runtime(polled: Jobs) -> None:
    seen: list[Job] = []

    async def count(context: JobContext, source: str, limit: int) -> dict[str, Any]:
        context.progress(limit, 10)
        return {"source": source, "runtime": context.runtime}

    async def finished(job: Job) -> None:
        seen.append(job)

    async with working(polled, {"count": Handler(run=count)}, runtime="r", on_finished=finished):
        job = await ended(polled, await polled.enqueue("count", args={"source": "s", "limit": 7}))
    assert job.state == "succeeded"
    assert job.result == {"source": "s", "runtime": "r"}
    assert (job.done, job.total, job.attempts) == (7, 10, 1)
    assert seen == [job]


async def test_progress_is_seen_while_the_job_runs(polled: Jobs) -> None:
    go = asyncio.Event()

    async def work(context: JobContext) -> None:
        context.progress(3, 4)
        await go.wait()

    async with working(polled, {"work": Handler(run=work)}):
        job = await polled.enqueue("work")

        async def three_of_four() -> bool:
            now = await polled.get(job.id)
            return (now.state, now.done, now.total) == ("running", 3, 4)

        await until(three_of_four)
        go.set()
        await ended(polled, job)


async def test_a_retryable_error_is_tried_again_later(polled: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noesis.worker.outcome.BACKOFF_BASE_MS", 200)
    tries = []

    async def embed(context: JobContext) -> dict[str, Any]:
        tries.append(polled.now_ms())
        if len(tries) < 3:
            raise EmbedderUnavailable("The embedder does not answer.")
        return {"tries": len(tries)}

    async with working(polled, {"embed": Handler(run=embed)}):
        job = await ended(polled, await polled.enqueue("embed"))
    assert (job.state, job.attempts, job.result, job.error) == ("succeeded", 3, {"tries": 3}, None)
    assert tries[1] - tries[0] >= 100
    assert tries[2] - tries[1] >= 200


async def test_attempts_that_are_used_up_make_a_dead_letter(
    polled: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noesis.worker.outcome.BACKOFF_BASE_MS", 10)

    async def embed(context: JobContext) -> None:
        raise EmbedderUnavailable("The embedder does not answer.")

    async with working(polled, {"embed": Handler(run=embed, max_attempts=2)}):
        job = await ended(polled, await polled.enqueue("embed"))
    assert job.state == "failed"
    assert job.error == "The embedder does not answer. Given up after 2 attempts."


def test_backoff_doubles_is_capped_and_half_random() -> None:
    assert [backoff_ms(attempt, 1.0) for attempt in (1, 2, 3)] == [2000, 4000, 8000]
    assert [backoff_ms(attempt, 0.0) for attempt in (1, 2, 3)] == [1000, 2000, 4000]
    assert backoff_ms(1000, 1.0) == BACKOFF_CAP_MS


async def test_failures_are_plain_sentences_without_the_text(
    polled: Jobs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def full(context: JobContext) -> None:
        raise StoreFull("The disk is full.")

    async def odd(context: JobContext) -> None:
        raise KeyError(SECRET)

    async def narrow(context: JobContext) -> None:
        return None

    handlers = {"full": Handler(run=full), "odd": Handler(run=odd), "narrow": Handler(run=narrow)}
    async with working(polled, handlers):
        errors = [
            (await ended(polled, await polled.enqueue(name, args=args))).error
            for name, args in [("full", {}), ("odd", {}), ("narrow", {"surplus": 1})]
        ]
    assert errors == [
        "The disk is full.",
        "It failed unexpectedly (KeyError). The log tells where.",
        "It failed unexpectedly (TypeError). The log tells where.",
    ]
    assert "test_worker.py" in caplog.text
    assert SECRET not in caplog.text


async def test_a_handler_over_its_time_is_stopped(polled: Jobs) -> None:
    async def hang(context: JobContext) -> None:
        await asyncio.sleep(60)

    async with working(polled, {"hang": Handler(run=hang, timeout_s=0.2)}):
        job = await ended(polled, await polled.enqueue("hang"))
    assert (job.state, job.error) == ("failed", "It took longer than 0.2 seconds and was stopped.")


async def test_a_handler_that_heeds_a_cancel_ends_early(polled: Jobs) -> None:
    async def step(context: JobContext) -> dict[str, Any]:
        steps = 0
        while not context.cancelled():
            steps += 1
            await asyncio.sleep(0.01)
        return {"steps": steps}

    async with working(polled, {"step": Handler(run=step)}):
        job = await polled.enqueue("step")
        await until(lambda: _is_running(polled, job))
        await polled.cancel(job.id)
        assert (await ended(polled, job)).state == "cancelled"


async def test_a_handler_that_does_not_look_is_cancelled_where_it_waits(polled: Jobs) -> None:
    async def hang(context: JobContext) -> None:
        await asyncio.sleep(60)

    async with working(polled, {"hang": Handler(run=hang)}):
        job = await polled.enqueue("hang")
        await until(lambda: _is_running(polled, job))
        await polled.cancel(job.id)
        assert (await ended(polled, job)).state == "cancelled"


async def _is_running(jobs: Jobs, job: Job) -> bool:
    return (await jobs.get(job.id)).state == "running"


@pytest.mark.parametrize("cancelled", [False, True], ids=["stopped", "cancelled"])
async def test_a_worker_that_ends_hands_its_jobs_back(polled: Jobs, cancelled: bool) -> None:
    """Both ways to end a worker inside an event loop: its stop event and task cancellation."""

    async def hang(context: JobContext) -> None:
        await asyncio.sleep(60)

    async def chunked(context: JobContext) -> dict[str, Any]:
        while not context.cancelled():  # noqa: ASYNC110 - what handlers do
            await asyncio.sleep(0.01)
        return {"half": True}

    handlers = {"hang": Handler(run=hang), "chunked": Handler(run=chunked)}
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError) if cancelled else contextlib.nullcontext():
            async with working(polled, handlers) as worker:
                made = [await polled.enqueue(name) for name in handlers]
                for job in made:
                    await until(lambda job=job: _is_running(polled, job))  # type: ignore[misc]
                if cancelled:
                    worker.cancel()
    for job in made:
        now = await polled.get(job.id)
        assert (now.state, now.attempts, now.result) == ("queued", 0, None)


async def test_one_name_does_not_take_all_the_room(polled: Jobs) -> None:
    go = asyncio.Event()
    side_by_side = 0

    async def slow(context: JobContext) -> None:
        nonlocal side_by_side
        side_by_side += 1
        await go.wait()

    async def quick(context: JobContext) -> None:
        return None

    handlers = {"slow": Handler(run=slow, concurrency=2), "quick": Handler(run=quick)}
    async with working(polled, handlers):
        slow_ones = [await polled.enqueue("slow") for _ in range(6)]
        await ended(polled, await polled.enqueue("quick"))
        assert side_by_side == 2
        go.set()
        for job in slow_ones:
            await ended(polled, job)


async def test_a_run_that_lost_its_job_is_ended_and_records_nothing(polled: Jobs) -> None:
    """As when this process slept and another worker took over."""
    ends = []

    async def hang(context: JobContext) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ends.append(context.job.attempts)

    async with working(polled, {"hang": Handler(run=hang, max_attempts=1)}):
        job = await polled.enqueue("hang")
        await until(lambda: _is_running(polled, job))
        held = (await polled.ledger.running())[0]
        await polled.ledger.fail(held, "Taken away.", 1)

        async def has_ended() -> bool:
            return bool(ends)

        await until(has_ended)
    assert (await polled.get(job.id)).error == "Taken away."


async def test_a_delayed_job_waits_for_its_time(polled: Jobs) -> None:
    clock = Clock()
    polled.now_ms = clock

    async def quick(context: JobContext) -> None:
        return None

    async with working(polled, {"quick": Handler(run=quick)}):
        later = await polled.enqueue("quick", delay_ms=60_000)
        await ended(polled, await polled.enqueue("quick"))
        await asyncio.sleep(0.3)
        assert (await polled.get(later.id)).state == "queued"
        clock.now += 60_000
        await ended(polled, later)


async def test_the_end_of_a_job_is_recorded_when_the_ledger_comes_back(polled: Jobs) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def work(context: JobContext) -> None:
        begun.set()
        await go.wait()

    async def rename(statement: str) -> None:
        await polled.ledger._run(lambda connection: connection.exec_driver_sql(statement))

    async with working(polled, {"work": Handler(run=work)}):
        job = await polled.enqueue("work")
        await begun.wait()
        await rename("ALTER TABLE jobs RENAME TO away")
        go.set()
        await asyncio.sleep(0.2)
        await rename("ALTER TABLE away RENAME TO jobs")
        job = await ended(polled, job)
    assert (job.state, job.attempts) == ("succeeded", 1)


async def test_a_fault_of_the_ledger_does_not_end_the_worker(
    polled: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control database refuses for a while, as on a full disk."""
    monkeypatch.setattr("noesis.worker.worker.PAUSE_AFTER_FAULT_S", 0.05)

    async def quick(context: JobContext) -> None:
        return None

    async def rename(statement: str) -> None:
        await polled.ledger._run(lambda connection: connection.exec_driver_sql(statement))

    async with working(polled, {"quick": Handler(run=quick)}):
        await rename("ALTER TABLE jobs RENAME TO away")
        await asyncio.sleep(0.3)
        await rename("ALTER TABLE away RENAME TO jobs")
        assert (await ended(polled, await polled.enqueue("quick"))).state == "succeeded"
