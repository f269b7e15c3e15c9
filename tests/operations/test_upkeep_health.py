"""An upkeep that fails is told of until one succeeds."""

from __future__ import annotations

import asyncio

import pytest

from noesis.memory import NewMemory, Scope
from noesis.runtime import Noesis
from noesis.store import maintenance
from noesis.worker.runner import Runner
from noesis.worker.tasks import HANDLERS
from tests.store.test_upkeep import Broken
from tests.support import Clock, Product


async def run_upkeep(noesis: Noesis) -> None:
    """One job of upkeep, as the worker runs it."""
    await noesis.jobs.enqueue("upkeep", key="upkeep", args={"force": True})
    handlers = {"upkeep": HANDLERS["upkeep"]}
    runner = Runner(noesis.jobs, handlers, runtime=noesis, capacity=1, cancel_grace_s=1)
    await runner.fill()
    while runner.running:  # noqa: ASYNC110 - the runner tells nobody
        await asyncio.sleep(0.01)


async def test_a_failed_upkeep_is_seen_in_the_health_until_one_succeeds(
    product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    noesis = product.noesis

    async def part() -> tuple[str, str]:
        report = await noesis.health.report()
        found = next(part for part in report.parts if part.name == "upkeep")
        return found.state, found.summary

    await noesis.indexing.index(Scope("alpha"), NewMemory(text="The heron stands in the field."))
    assert (await part())[0] == "ok"
    with monkeypatch.context() as patched:
        patched.setattr(maintenance, "optimize", Broken(float("inf")))
        await run_upkeep(noesis)
    state, summary = await part()
    assert state == "degraded"
    assert "The last upkeep failed: The store could not be written" in summary
    clock.advance(seconds=1)
    await noesis.jobs.enqueue("upkeep", key="waiting")
    assert (await part())[0] == "degraded"
    clock.advance(seconds=1)
    await run_upkeep(noesis)
    assert (await part())[0] == "ok"
