"""The ledger's rules, with times passed in."""

from __future__ import annotations

import pytest

from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.ledger import Beat, Job, JobFilter, Ledger, NewJob

ALL = {"backup": 3, "cleanup": 3}


async def add(ledger: Ledger, job_id: str, at: int = 1000, key: str | None = None, **more: int) -> Job:
    new = NewJob(id=job_id, name="backup", key=key, args={}, not_before_ms=more.get("not_before_ms", 0))
    return (await ledger.create(new, at))[0]


async def claimed(ledger: Ledger, at: int = 2000) -> Job:
    job = await ledger.claim(ALL, at)
    assert job is not None
    return job


async def test_a_live_job_with_the_same_key_is_given_back(ledger: Ledger) -> None:
    first, new = await ledger.create(NewJob(id="a", name="backup", key="k", args={"n": 1}), 1)
    again, new_again = await ledger.create(NewJob(id="b", name="backup", key="k", args={"n": 2}), 2)
    assert (new, new_again) == (True, False)
    assert again == first
    running = await claimed(ledger)
    assert (await ledger.create(NewJob(id="c", name="backup", key="k", args={}), 3))[0].id == "a"
    await ledger.finish(running, None, 4)
    assert (await ledger.create(NewJob(id="d", name="backup", key="k", args={}), 5))[1]


async def test_jobs_without_a_key_are_never_the_same(ledger: Ledger) -> None:
    assert [(await add(ledger, name)).id for name in "ab"] == ["a", "b"]


@pytest.mark.parametrize("value", [{"a": 1}, b"x", "x" * 5000, [["x"]]])
async def test_arguments_are_plain_values_and_short(ledger: Ledger, value: object) -> None:
    with pytest.raises(InvalidInput):
        await ledger.create(NewJob(id="a", name="backup", key=None, args={"x": value}), 1)  # type: ignore[dict-item]


async def test_the_oldest_due_job_of_a_known_name_is_claimed(ledger: Ledger) -> None:
    await add(ledger, "late", at=1, not_before_ms=5000)
    await add(ledger, "second", at=3)
    await add(ledger, "first", at=2)
    assert await ledger.claim({"cleanup": 1}, 4000) is None
    assert [(await claimed(ledger, 4000)).id for _ in range(2)] == ["first", "second"]
    assert await ledger.claim(ALL, 4999) is None
    assert (await claimed(ledger, 5000)).id == "late"


async def test_only_the_newest_claim_may_speak_about_a_job(ledger: Ledger) -> None:
    await add(ledger, "a")
    old = await claimed(ledger)
    assert await ledger.release(old, 3000)
    new = await claimed(ledger, 4000)
    assert not await ledger.finish(old, None, 5000)
    assert await ledger.beat({"a": Beat(old.claims, 9, None)}, 5000) == {"a": "lost"}
    assert await ledger.beat({"a": Beat(new.claims, 1, 2)}, 5000) == {"a": "kept"}
    assert await ledger.finish(new, {"rows": 3}, 6000)
    job = await ledger.get("a")
    assert (job.state, job.result, job.attempts, job.finished_ms) == ("succeeded", {"rows": 3}, 2, 6000)


async def test_a_job_that_showed_life_is_not_released(ledger: Ledger) -> None:
    await add(ledger, "a")
    job = await claimed(ledger)
    await ledger.beat({"a": Beat(job.claims, 1, None)}, 2500)
    assert not await ledger.release(job, 3000)


async def test_a_job_whose_worker_dies_too_often_is_a_dead_letter(ledger: Ledger) -> None:
    await add(ledger, "a")
    for _ in range(3):
        assert await ledger.release(await claimed(ledger), 3000)
    job = await ledger.get("a")
    assert job.state == "failed"
    assert job.error is not None
    assert job.error.startswith("The worker stopped while it ran this job")
    assert await ledger.unseen_failures() == 1
    await ledger.acknowledge("a")
    assert await ledger.unseen_failures() == 0


async def test_handing_back_does_not_count_as_an_attempt(ledger: Ledger) -> None:
    await add(ledger, "a")
    await ledger.put_back(await claimed(ledger), 1, counted=False)
    assert (await ledger.get("a")).attempts == 0
    await ledger.put_back(await claimed(ledger), 1, not_before_ms=9000, error="No answer.")
    job = await ledger.get("a")
    assert (job.state, job.attempts, job.not_before_ms, job.error) == ("queued", 1, 9000, "No answer.")


async def test_cancel_ends_a_queued_job_and_asks_a_running_one(ledger: Ledger) -> None:
    await add(ledger, "a", at=1)
    await add(ledger, "b", at=2)
    running = await claimed(ledger)
    assert (await ledger.cancel("a", 3000)).state == "running"
    assert await ledger.beat({"a": Beat(running.claims, 0, None)}, 3000) == {"a": "cancel"}
    assert (await ledger.cancel("b", 3000)).state == "cancelled"
    await ledger.put_back(running, 4000)
    assert (await ledger.get("a")).state == "cancelled"
    with pytest.raises(Conflict):
        await ledger.cancel("b", 5000)
    with pytest.raises(NotFound):
        await ledger.cancel("c", 5000)


async def test_retry_gives_all_attempts_again_and_respects_the_key(ledger: Ledger) -> None:
    await add(ledger, "a", key="k")
    await ledger.fail(await claimed(ledger), "It failed.", 3000)
    await add(ledger, "b", key="k")
    with pytest.raises(Conflict):
        await ledger.retry("a")
    await ledger.cancel("b", 4000)
    job = await ledger.retry("a")
    assert (job.state, job.attempts, job.error, job.finished_ms) == ("queued", 0, None, None)
    with pytest.raises(Conflict):
        await ledger.retry("a")


async def test_pages_are_newest_first_and_do_not_repeat(ledger: Ledger) -> None:
    for number in range(7):
        await add(ledger, f"j{number}", at=1000 + number // 2)
    seen, cursor = [], None
    while True:
        page = await ledger.page(JobFilter(), cursor, 3)
        seen += [job.id for job in page.jobs]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ["j6", "j5", "j4", "j3", "j2", "j1", "j0"]
    assert (await ledger.counts())["queued"] == 7
    assert (await ledger.page(JobFilter(states=("failed",)))).jobs == []
    for bad in ("", "x", "1", "1.", "-1.a", "9" * 30 + ".a"):
        with pytest.raises(InvalidInput):
            await ledger.page(JobFilter(), bad)


async def test_prune_goes_by_age_and_number_and_keeps_live_jobs(ledger: Ledger) -> None:
    for number in range(6):
        await add(ledger, f"j{number}", at=number)
        job = await claimed(ledger, number)
        if number == 0:
            await ledger.fail(job, "It failed.", number)
        else:
            await ledger.finish(job, None, number)
    await add(ledger, "live", at=0)
    assert await ledger.prune(3, keep=10) == 2
    assert {job.id for job in (await ledger.page(JobFilter())).jobs} == {"j0", "j3", "j4", "j5", "live"}
    assert await ledger.prune(0, keep=2) == 2
    assert {job.id for job in (await ledger.page(JobFilter())).jobs} == {"j4", "j5", "live"}


async def test_the_last_job_of_a_name_that_ended_well_is_told_and_outlives_the_pruning(
    ledger: Ledger,
) -> None:
    for at, name, well in (
        (1, "drill", True),
        (5, "backup", True),
        (6, "backup", True),
        (9, "backup", False),
    ):
        await ledger.create(NewJob(id=f"{name}{at}", name=name, key=None, args={}), at)
        job = await ledger.claim({name: 1}, at)
        assert job is not None
        await (ledger.finish(job, None, at) if well else ledger.fail(job, "It failed.", at))
    assert await ledger.last_ends() == {"drill": 1, "backup": 6}
    await ledger.prune(8, keep=1)
    assert await ledger.last_ends() == {"drill": 1, "backup": 6}
    assert {job.id for job in (await ledger.page(JobFilter())).jobs} == {"drill1", "backup6", "backup9"}


async def test_a_cron_slot_is_taken_once_and_missed_ones_together(ledger: Ledger) -> None:
    async def take(slot: int) -> bool:
        new = NewJob(id=f"s{slot}-{len(taken)}", name="cleanup", key=None, args={})
        taken.append(slot)
        job = await ledger.take_slot(
            "c",
            new,
            slot_of=lambda now: now // 100_000 * 100_000,
            period_ms=100_000,
            now_ms=lambda: slot * 100_000 + 5,
        )
        return job is not None

    taken: list[int] = []
    assert not await take(10), "the first slot is only remembered"
    assert await take(11)
    assert not await take(11)
    assert await take(19), "eight slots later: one run"
    assert not await take(18), "a clock a little behind runs nothing twice"
    assert not await take(19)
    assert not await take(5), "a clock set back far: remembered anew"
    assert await take(6)
