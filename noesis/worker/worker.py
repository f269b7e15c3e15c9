"""The worker: loops that claim jobs, keep them alive, sweep after the dead, and watch the clock."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from noesis.jobs import Jobs
from noesis.ledger import NewJob
from noesis.tasks import end_tasks
from noesis.worker.crons import Cron, slot_ms
from noesis.worker.handlers import Handler
from noesis.worker.listener import Listener
from noesis.worker.outcome import places
from noesis.worker.runner import Finished, Runner

log = logging.getLogger(__name__)

PAUSE_AFTER_FAULT_S = 1.0


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works; times in seconds.

    `capacity`: jobs side by side.  `poll_s` and `poll_alone_s`: how often the ledger is looked at
    for due jobs while Redis answers and while it does not.  `grace_s`: how long jobs may go on after
    a stop; together with what follows it stays below the 10 s that containers are given.
    """

    capacity: int = 4
    poll_s: float = 2.0
    poll_alone_s: float = 0.5
    beat_s: float = 2.0
    sweep_s: float = 10.0
    cron_s: float = 1.0
    grace_s: float = 6.0
    cancel_grace_s: float = 10.0
    end_within_s: float = 9.5


DEFAULTS = WorkerOptions()


async def run_worker(
    handlers: Mapping[str, Handler],
    jobs: Jobs,
    crons: Sequence[Cron] = (),
    *,
    runtime: Any = None,
    stop: asyncio.Event | None = None,
    signals: bool = False,
    options: WorkerOptions = DEFAULTS,
    on_finished: Finished | None = None,
) -> None:
    """Work until `stop` is set or this is cancelled; then jobs in hand end or are handed back.

    `signals` is for a process of its own: SIGTERM and SIGINT set `stop`, and the process is ended
    after `end_within_s` even if a thread of a handler still runs.  Without it no signal handler is
    touched.  `on_finished` is called with each job that succeeded, failed for good or was cancelled.
    """
    stop = stop or asyncio.Event()
    runner = Runner(
        jobs,
        handlers,
        runtime=runtime,
        capacity=options.capacity,
        cancel_grace_s=options.cancel_grace_s,
        on_finished=on_finished,
    )
    heart = asyncio.create_task(_forever(runner.beat, options.beat_s))
    loops = [asyncio.create_task(loop) for loop in _loops(runner, jobs, crons, options, runtime)]
    with _stop_on_signals(stop, options.end_within_s) if signals else contextlib.nullcontext():
        try:
            await stop.wait()
        finally:
            await end_tasks(loops)
            await runner.drain(options.grace_s)
            await end_tasks([heart])


def _loops(
    runner: Runner, jobs: Jobs, crons: Sequence[Cron], options: WorkerOptions, runtime: Any
) -> list[Coroutine[Any, Any, None]]:
    listener = None
    if jobs.messages.url is not None:
        listener = Listener(jobs.messages.url, jobs.messages.queue, jobs.bell.set)
    loops = [
        _forever(lambda: _serve(runner, jobs, listener, options), 0.0),
        _forever(lambda: _sweep(jobs), options.sweep_s),
    ]
    if crons:
        taken: dict[str, int] = {}
        loops.append(_forever(lambda: _run_crons(jobs, crons, taken, runtime), options.cron_s))
    if listener is not None:
        loops.append(_forever(listener.listen, 0.0))
    return loops


async def _forever(step: Callable[[], Awaitable[None]], pause_s: float) -> None:
    while True:
        try:
            await step()
        except Exception as error:  # noqa: BLE001 - an outermost loop; the worker outlives any fault
            log.error("the worker goes on after %s at %s", type(error).__name__, places(error))
            await asyncio.sleep(PAUSE_AFTER_FAULT_S)
        await asyncio.sleep(pause_s)


async def _serve(runner: Runner, jobs: Jobs, listener: Listener | None, options: WorkerOptions) -> None:
    jobs.bell.clear()
    await runner.fill()
    if listener is not None:
        listener.take_messages(runner.has_room)
    hears = listener is not None and listener.hearing
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(options.poll_s if hears else options.poll_alone_s):
            await jobs.bell.wait()


async def _sweep(jobs: Jobs) -> None:
    done = await jobs.reconcile()
    for job in done.released:
        log.warning("job %s %s was left by a worker that is gone; it is %s", job.name, job.id, job.state)


async def _run_crons(jobs: Jobs, crons: Sequence[Cron], taken: dict[str, int], runtime: Any) -> None:
    for cron in crons:
        slot = slot_ms(cron, jobs.now_ms())
        if taken.get(cron.name) == slot:
            continue
        if cron.wanted is not None and not await cron.wanted(runtime):
            taken[cron.name] = slot
            continue
        job = await jobs.ledger.take_slot(
            cron.name,
            NewJob(id=jobs.new_id(), name=cron.job, key=cron.job_key, args=cron.args),
            slot_of=partial(slot_ms, cron),
            period_ms=cron.period_ms,
            now_ms=jobs.now_ms,
        )
        taken[cron.name] = slot
        if job is not None and job.state == "queued":
            await jobs.announce(job)


@contextlib.contextmanager
def _stop_on_signals(stop: asyncio.Event, end_within_s: float) -> Iterator[None]:
    def on_signal() -> None:
        stop.set()
        # A handler's thread cannot be stopped, and Python waits for it at exit: its job is handed
        # back by then, and it must not go on beside the next run.
        watchdog = threading.Timer(end_within_s, os._exit, (0,))
        watchdog.daemon = True
        watchdog.start()

    loop = asyncio.get_running_loop()
    wanted = (signal.SIGTERM, signal.SIGINT)
    for number in wanted:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in wanted:
            loop.remove_signal_handler(number)
