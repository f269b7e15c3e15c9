"""Cleanup moves exactly what is over, loses nothing, and asks when what it would do looks wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.cleaning import Cleaned, Plan
from noesis.clock_guard import ClockGuard, Uptime
from noesis.editing import Edit
from noesis.errors import StoreError, StoreFull
from noesis.memory import EXPIRED, Indexed, NewMemory, Role, Scope
from noesis.store import Row, Table
from noesis.store.filters import EVERYTHING
from tests.operations.samples import get, index, search, texts, words
from tests.support import Clock, Product, running

ALPHA, BETA = Scope("alpha"), Scope("beta")
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


async def fill(product: Product, scope: Scope, count: int, ttl_days: float, word: str = "heron") -> list[str]:
    """Store so many memories of this life; their ids."""
    news = [NewMemory(text=f"{word} number {number}", ttl_days=ttl_days) for number in range(count)]
    answers = await product.noesis.indexing.index_many(scope, news)
    return [answer.id for answer in answers if isinstance(answer, Indexed)]


async def clean(product: Product, agent: str | None = None, **wanted: Any) -> Cleaned:
    return await product.noesis.retention.cleaning.run(agent, **wanted)


async def plan(product: Product, agent: str | None = None) -> Plan:
    return await product.noesis.retention.cleaning.plan(agent)


async def ids_in(table: Table) -> set[str]:
    return {row.parent_id for row in await table.rows(EVERYTHING)}


async def test_what_is_over_is_archived_with_reason_and_time_and_the_rest_stays(
    product: Product, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    over, lives = (
        (await index(alpha, "heron lives a day", ttl_days=1))["id"],
        (await index(alpha, "stays"))["id"],
    )
    clock.advance(days=2)
    assert await clean(product) == Cleaned(state="done", archived=1)
    moved = await get(alpha, over)
    assert (moved["archived"], moved["archive_reason"]) == (True, EXPIRED)
    assert moved["archived_at"] == "2026-05-30T20:26:40Z"
    assert moved["expires_at"] == "2026-05-29T20:26:40Z"
    store = product.noesis.store
    assert (await ids_in(store.active), await ids_in(store.archive)) == ({lives}, {over})
    assert texts(await search(alpha, "heron", archive="only")) == ["heron lives a day"]
    assert await clean(product) == Cleaned(state="done")


async def test_a_memory_that_is_over_at_this_very_instant_is_moved(product: Product, clock: Clock) -> None:
    await fill(product, ALPHA, 1, 1)
    clock.advance(days=1, seconds=-0.001)
    assert (await clean(product)).archived == 0
    clock.advance(seconds=0.001)
    assert (await clean(product)).archived == 1


async def test_all_chunks_of_a_long_memory_move_together(
    product: Product, alpha: httpx.AsyncClient, clock: Clock
) -> None:
    text = words(1500)
    stored = await index(alpha, text, ttl_days=1)
    clock.advance(days=1)
    assert (await clean(product)).archived == 1
    assert len(await product.noesis.store.archive.rows(EVERYTHING)) == stored["chunks"] > 1
    assert await product.noesis.store.active.rows(EVERYTHING) == []
    assert (await get(alpha, stored["id"]))["text"] == text


async def test_of_one_agent_only_its_own_memories_are_moved(product: Product, clock: Clock) -> None:
    mine, others = await fill(product, ALPHA, 3, 1), await fill(product, BETA, 2, 1)
    clock.advance(days=1)
    assert (await plan(product, "alpha")).by_agent == {"alpha": 3}
    assert (await clean(product, "alpha")).archived == 3
    store = product.noesis.store
    assert (await ids_in(store.archive), await ids_in(store.active)) == (set(mine), set(others))


async def test_the_plan_counts_and_changes_nothing(product: Product, clock: Clock) -> None:
    await fill(product, ALPHA, 3, 1)
    await fill(product, ALPHA, 2, 0, word="badger")
    clock.advance(days=1)
    expected = Plan(memories=5, expired=3, by_agent={"alpha": 3}, by_type={"fact": 3}, purge=0)
    assert await plan(product) == await plan(product) == expected
    assert len(await ids_in(product.noesis.store.active)) == 5


async def test_more_than_a_page_is_moved_with_progress(product: Product, clock: Clock) -> None:
    await fill(product, ALPHA, 600, 1)
    await fill(product, ALPHA, 600, 0, word="badger")
    clock.advance(days=1)
    told: list[tuple[int, int | None]] = []
    done = await clean(product, tell=lambda done, total: told.append((done, total)))
    assert done.archived == 600
    assert told == sorted(told)
    assert len(told) > 2
    assert told[-1] == (600, 600)


async def test_it_stops_after_a_page_when_told_to_and_the_next_one_goes_on(
    product: Product, clock: Clock
) -> None:
    await fill(product, ALPHA, 600, 1)
    await fill(product, ALPHA, 600, 0, word="badger")
    clock.advance(days=1)
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return len(asked) > 1

    first = await clean(product, stop=stop)
    assert first.state == "stopped"
    assert 0 < first.archived < 600
    second = await clean(product)
    assert (second.state, first.archived + second.archived) == ("done", 600)


async def test_a_memory_that_is_renewed_meanwhile_survives(
    product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is read, then the memories are renewed, pinned or deleted, then the page is moved."""
    renewed, pinned, deleted, over = await fill(product, ALPHA, 4, 1)
    clock.advance(days=1)
    editing = product.noesis.editing
    values = Table.values

    async def then_renew(table: Table, *asked: Any) -> Any:
        found = await values(table, *asked)
        monkeypatch.setattr(Table, "values", values)
        await editing.edit(ALPHA, renewed, Edit(ttl_days=1))
        await editing.edit(ALPHA, pinned, Edit(pinned=True))
        await editing.delete(ALPHA, deleted)
        return found

    monkeypatch.setattr(Table, "values", then_renew)
    assert await clean(product) == Cleaned(state="done", archived=1, renewed=3)
    store = product.noesis.store
    assert await ids_in(store.active) == {renewed, pinned}
    reasons = {row.parent_id: row.archive_reason for row in await store.archive.rows(EVERYTHING)}
    assert reasons == {deleted: "deleted", over: EXPIRED}


async def test_two_cleanups_at_once_are_harmless(product: Product, clock: Clock) -> None:
    ids = await fill(product, ALPHA, 300, 1)
    await fill(product, ALPHA, 300, 0, word="badger")
    clock.advance(days=1)
    done = await asyncio.gather(clean(product), clean(product), clean(product, "alpha"))
    assert sum(each.archived for each in done) == 300
    assert [each.failed for each in done] == [0, 0, 0]
    rows = await product.noesis.store.archive.rows(EVERYTHING)
    assert sorted(row.id for row in rows) == sorted(ids)
    assert len(await ids_in(product.noesis.store.active)) == 300


async def test_two_processes_that_clean_at_once_are_harmless(product: Product, clock: Clock) -> None:
    ids = await fill(product, ALPHA, 300, 1)
    await fill(product, ALPHA, 300, 0, word="badger")
    clock.advance(days=1)
    async with running(product.noesis.settings.data_dir, clock=clock) as other:
        done = await asyncio.gather(clean(product), clean(other))
    assert sum(each.archived for each in done) == 300
    assert sorted(row.id for row in await product.noesis.store.archive.rows(EVERYTHING)) == sorted(ids)


async def test_what_a_file_holds_without_a_ttl_never_expires(tmp_path: Path, clock: Clock) -> None:
    """A file that is followed says itself how long its memories live."""
    notes = tmp_path / "notes"
    notes.mkdir()
    boats = "# Boats\n\nThe heron lies in the north harbour until the spring comes.\n"
    (notes / "note.md").write_text(boats)
    environ = {"NOESIS_DEFAULT_TTL_DAYS": "1", "NOESIS_TTL_DAYS_BY_TYPE": "fact=1,context=1"}
    async with running(tmp_path / "data", clock=clock, environ=environ) as product:
        inflow = product.noesis.inflow
        root = await inflow.following.add("alpha", str(notes))
        await inflow.scanning.scan(root.key, lambda done, total: None, lambda: False)
        clock.advance(days=20_000)
        assert await clean(product, confirm=True) == Cleaned(state="done")
        assert len(await ids_in(product.noesis.store.active)) == 1


async def test_a_memory_whose_write_fails_stays_and_is_moved_by_the_next_cleanup(
    product: Product, alpha: httpx.AsyncClient, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = (await index(alpha, "The staging database is called heron-2", ttl_days=1))["id"]
    clock.advance(days=1)

    async def broken(_table: Table, _rows: Sequence[Row]) -> None:
        raise StoreError("The store could not be written: broken.")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Table, "upsert", broken)
        assert await clean(product) == Cleaned(state="done", failed=1)
    store = product.noesis.store
    assert (await ids_in(store.active), await ids_in(store.archive)) == ({stored}, set())
    assert await clean(product) == Cleaned(state="done", archived=1)
    assert (await ids_in(store.active), await ids_in(store.archive)) == (set(), {stored})
    assert texts(await search(alpha, "staging database")) == ["The staging database is called heron-2"]


async def test_one_memory_that_cannot_be_written_does_not_hold_up_the_others(
    product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, *others = await fill(product, ALPHA, 5, 1)
    clock.advance(days=1)
    upsert = Table.upsert

    async def choosy(table: Table, rows: Sequence[Row]) -> None:
        if bad in {row.id for row in rows}:
            raise StoreError("The store could not be written: this row.")
        await upsert(table, rows)

    monkeypatch.setattr(Table, "upsert", choosy)
    assert await clean(product) == Cleaned(state="done", archived=4, failed=1)
    store = product.noesis.store
    assert (await ids_in(store.active), await ids_in(store.archive)) == ({bad}, set(others))


async def test_a_full_disk_ends_it_with_its_error_and_loses_nothing(
    product: Product, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await fill(product, ALPHA, 5, 1)
    clock.advance(days=1)

    async def full(_table: Table, _rows: Sequence[Row]) -> None:
        raise StoreFull("There is no room left on the disk.")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Table, "upsert", full)
        with pytest.raises(StoreFull):
            await clean(product)
    assert await ids_in(product.noesis.store.active) == set(ids)
    assert (await clean(product)).archived == 5


async def test_a_large_share_of_an_agents_memories_waits_for_a_word_and_the_others_do_not(
    product: Product, clock: Clock
) -> None:
    held, moved = await fill(product, ALPHA, 40, 1), await fill(product, BETA, 3, 1)
    await fill(product, ALPHA, 39, 0, word="badger")
    clock.advance(days=1)
    looked = await plan(product)
    assert (looked.expired, looked.held, looked.needs_confirmation) == (43, 40, True)
    assert "40 memories" in looked.reasons[0]
    done = await clean(product)
    assert (done.state, done.archived, done.held) == ("needs confirmation", 3, 40)
    store = product.noesis.store
    assert await ids_in(store.archive) == set(moved)
    assert await clean(product, confirm=True) == Cleaned(state="done", archived=40)
    assert await ids_in(store.archive) == {*held, *moved}


async def test_half_of_the_memories_and_a_handful_are_moved_unasked(product: Product, clock: Clock) -> None:
    await fill(product, ALPHA, 40, 1)
    await fill(product, ALPHA, 40, 0, word="badger")
    await fill(product, BETA, 19, 1)
    clock.advance(days=1)
    assert await clean(product) == Cleaned(state="done", archived=59)


async def test_the_share_is_a_setting(tmp_path: Path, clock: Clock) -> None:
    for share, archived in (("0.1", 0), ("1", 20)):
        directory = tmp_path / share
        async with running(directory, clock=clock, environ={"NOESIS_CLEANUP_MAX_SHARE": share}) as product:
            await fill(product, ALPHA, 20, 1)
            clock.advance(days=1)
            assert (await clean(product)).archived == archived


@pytest.mark.parametrize("step_days", [3652, -1, 31])
async def test_a_clock_that_jumped_is_not_believed_until_somebody_says_so(
    product: Product, clock: Clock, step_days: float
) -> None:
    await clean(product)
    await fill(product, ALPHA, 2, 0.25)
    clock.advance(days=0.5)
    believed = clock()
    clock.advance(days=step_days)
    done = await clean(product)
    assert (done.state, done.archived) == ("needs confirmation", 0)
    assert "clock" in done.reasons[0]
    assert (await plan(product)).needs_confirmation
    clock.now = believed
    assert await clean(product) == Cleaned(state="done", archived=2)


async def test_a_jump_that_is_confirmed_is_believed_from_then_on(product: Product, clock: Clock) -> None:
    await clean(product)
    await fill(product, ALPHA, 2, 1)
    clock.advance(days=400)
    assert await clean(product, confirm=True) == Cleaned(state="done", archived=2)
    clock.advance(days=1)
    assert await clean(product) == Cleaned(state="done")


async def test_time_that_passes_as_it_should_needs_no_word(product: Product, clock: Clock) -> None:
    for _ in range(5):
        clock.advance(days=29)
        assert (await clean(product)).state == "done"


class Machine:
    """A machine's uptime, which passes only when told to."""

    def __init__(self) -> None:
        self.uptime = Uptime("first", HOUR_MS)

    def __call__(self) -> Uptime:
        return self.uptime

    def run(self, ms: int) -> None:
        self.uptime = Uptime(self.uptime.boot, self.uptime.ms + ms)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def guard(product: Product, clock: Clock, machine: Machine) -> ClockGuard:
    return ClockGuard(product.noesis.control, clock, machine)


async def test_a_step_of_more_than_a_day_while_the_machine_runs_on_is_a_doubt(
    guard: ClockGuard, clock: Clock, machine: Machine
) -> None:
    assert await guard.look() is None
    machine.run(6 * HOUR_MS)
    clock.now += 6 * HOUR_MS + DAY_MS
    assert await guard.look() is None
    machine.run(6 * HOUR_MS)
    clock.now += 6 * HOUR_MS + DAY_MS + 1
    assert await guard.look() is not None


async def test_a_machine_that_ran_for_months_without_a_look_is_asked_about(
    guard: ClockGuard, clock: Clock, machine: Machine
) -> None:
    """What fakes the clock may fake the uptime as well."""
    await guard.look()
    machine.run(31 * DAY_MS)
    clock.now += 31 * DAY_MS
    assert await guard.look() is not None


async def test_after_a_new_start_of_the_machine_only_the_time_counts(
    guard: ClockGuard, clock: Clock, machine: Machine
) -> None:
    await guard.look()
    machine.uptime = Uptime("second", 0)
    clock.now += 20 * DAY_MS
    assert await guard.look() is None
    machine.uptime = Uptime("third", 0)
    clock.now -= 2 * HOUR_MS
    assert await guard.look() is not None


async def test_a_doubt_does_not_become_the_time_that_is_believed(guard: ClockGuard, clock: Clock) -> None:
    await guard.look()
    clock.now += 40 * DAY_MS
    assert await guard.look() is not None
    assert await guard.look() is not None
    clock.now -= 40 * DAY_MS
    assert await guard.look() is None


async def test_over_http_a_gateway_cleans_its_agent_and_the_administrator_everybody(
    product: Product, admin: httpx.AsyncClient, clock: Clock
) -> None:
    await fill(product, ALPHA, 2, 1)
    await fill(product, BETA, 1, 1)
    clock.advance(days=1)
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, ["*"], "test gateway")
    gateway, nobody = product.client(secret, "alpha"), product.client(secret)
    answer = await gateway.post("/api/v1/cleanup?plan=true")
    assert (answer.status_code, answer.json()["plan"]["by_agent"]) == (200, {"alpha": 2})
    everybody = (await admin.post("/api/v1/cleanup?plan=true")).json()["plan"]["by_agent"]
    assert everybody == {"alpha": 2, "beta": 1}
    assert (await nobody.post("/api/v1/cleanup")).status_code == 400
    started = await gateway.post("/api/v1/cleanup")
    assert started.status_code == 202
    job = await product.noesis.jobs.get(started.json()["job_id"])
    assert (job.name, job.args) == ("cleanup", {"agent": "alpha", "confirm": False})
    again = await gateway.post("/api/v1/cleanup")
    assert again.json()["job_id"] == job.id
    confirmed = await gateway.post("/api/v1/cleanup?confirm=true")
    assert confirmed.json()["job_id"] != job.id


async def test_health_says_when_a_cleanup_waits_for_a_word(product: Product, clock: Clock) -> None:
    async def part() -> tuple[str, str]:
        found = next(p for p in (await product.noesis.health.report()).parts if p.name == "cleanup")
        return found.state, found.summary

    assert (await part())[0] == "ok"
    await fill(product, ALPHA, 20, 1)
    clock.advance(days=1)
    await clean(product)
    state, summary = await part()
    assert state == "degraded"
    assert "20 memories" in summary
    await clean(product, confirm=True)
    assert await part() == ("ok", "The last cleanup archived 20 memories and purged 0.")
