"""The page of activity: jobs by how they stand, the schedule, the log, and what a person does about them."""

from __future__ import annotations

import re
from datetime import time
from typing import Any

import httpx
import pytest

from noesis.dashboard.job_rows import job_row, schedule
from noesis.ledger import Job, JobFilter
from noesis.runtime import Noesis
from noesis.worker.crons import Cron
from noesis.worker.tasks import HANDLERS, crons
from tests.support import Clock

HOUR_MS = 3_600_000


async def shown(admin: httpx.AsyncClient, address: str = "/activity") -> str:
    """A page without its tags, blanks run together."""
    main = (await admin.get(address)).text.split("<main", 1)[1].split("</main>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", main).split())


async def claim(noesis: Noesis, name: str) -> Job:
    """Take a job as a worker does."""
    job = await noesis.jobs.ledger.claim({name: 1}, noesis.now_ms())
    assert job is not None
    return job


async def failed(noesis: Noesis, name: str, error: str) -> Job:
    """A job that failed for good."""
    await noesis.jobs.enqueue(name)
    job = await claim(noesis, name)
    await noesis.jobs.ledger.fail(job, error, noesis.now_ms())
    return job


async def test_the_empty_page_says_so(admin: httpx.AsyncClient) -> None:
    page = await shown(admin)
    assert "Nothing is running." in page
    assert "Nothing was noted yet." in page
    assert "Failed" not in page


async def test_jobs_stand_under_how_they_are(admin: httpx.AsyncClient, noesis: Noesis, clock: Clock) -> None:
    await noesis.jobs.enqueue("upkeep")
    running = await claim(noesis, "upkeep")
    clock.advance(seconds=60)
    await noesis.jobs.ledger.beat({running.id: _beat(running, 300, 1200)}, noesis.now_ms())
    await noesis.jobs.enqueue("scan_all")
    await failed(noesis, "import", "The file holds nothing that can be imported.")
    page = await shown(admin)
    assert "Failed Import memories failed just now The file holds nothing that can be imported." in page
    assert "Running Compact and index the store began 1 minute ago 300 of 1,200, about 3 minutes left" in page
    assert "Waiting Look at every followed place due just now" in page
    assert 'hx-trigger="every 3s"' in (await admin.get("/activity")).text


async def test_polling_ends_when_nothing_is_under_way(admin: httpx.AsyncClient) -> None:
    text = (await admin.get("/activity")).text
    assert "hx-trigger" not in text
    assert "http-equiv" not in text


async def test_a_failure_is_counted_in_the_bar_until_it_was_seen(
    admin: httpx.AsyncClient, noesis: Noesis
) -> None:
    job = await failed(noesis, "backup", "There is no room left on the disk.")
    assert re.search(r'class="count">1<span class="unseen"> failed', (await admin.get("/")).text)
    answer = await admin.post(f"/activity/jobs/{job.id}/seen")
    assert answer.headers["location"] == "/activity?said=seen"
    assert 'class="count"' not in (await admin.get("/")).text
    page = await shown(admin)
    assert page.startswith('id="main"') or "The last 1 that ended Make a backup failed" in page
    again = await admin.post(f"/activity/jobs/{job.id}/seen")
    assert again.status_code == 303


async def test_a_failed_job_is_tried_again(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    job = await failed(noesis, "import", "Redis went away.")
    answer = await admin.post(f"/activity/jobs/{job.id}/retry")
    assert answer.headers["location"] == "/activity?said=again"
    assert (await noesis.jobs.get(job.id)).state == "queued"
    answer = await admin.post(f"/activity/jobs/{job.id}/retry")
    assert answer.headers["location"] == "/activity?said=runs-already"


async def test_a_job_is_stopped(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    queued = await noesis.jobs.enqueue("import")
    answer = await admin.post(f"/activity/jobs/{queued.id}/cancel")
    assert answer.headers["location"] == "/activity?said=stopped"
    assert (await noesis.jobs.get(queued.id)).state == "cancelled"
    await noesis.jobs.enqueue("scan_all")
    running = await claim(noesis, "scan_all")
    answer = await admin.post(f"/activity/jobs/{running.id}/cancel")
    assert answer.headers["location"] == "/activity?said=stopping"
    assert "is being stopped" in await shown(admin)
    answer = await admin.post(f"/activity/jobs/{queued.id}/cancel")
    assert answer.headers["location"] == "/activity?said=ended-before"
    assert (await admin.post("/activity/jobs/none/cancel")).status_code == 404


async def test_a_recurring_job_is_started_by_hand_once(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    for _ in range(2):
        answer = await admin.post("/activity/run/upkeep_nightly")
        assert answer.headers["location"] == "/activity?said=started"
    jobs = (await noesis.jobs.list(JobFilter(names=("upkeep",)))).jobs
    assert [(job.key, job.args) for job in jobs] == [("upkeep", {"force": True})]
    assert (await noesis.audit.newest(1))[0].action == "job started"
    assert (await admin.post("/activity/run/nothing")).status_code == 404


async def test_the_log_is_filtered_and_pages(admin: httpx.AsyncClient, noesis: Noesis) -> None:
    for number in range(60):
        await noesis.activity.record("watcher", f"Noted {number}.", agent="planner")
    await noesis.activity.record("recovery", "<b>Two versions</b> were set aside.", level="warning")
    page = await shown(admin)
    assert "&lt;b&gt;Two versions" in (await admin.get("/activity")).text
    assert ("Noted 59. planner" in page, "Noted 5. " in page) == (True, False)
    older = re.search(r'href="(/activity\?cursor=[^"]+)"', (await admin.get("/activity")).text)
    assert older is not None
    assert "Noted 5. planner" in await shown(admin, older.group(1))
    page = await shown(admin, "/activity?level=warning&kind=recovery")
    assert ("Two versions" in page, "Noted" in page) == (True, False)
    assert "No event fits." in await shown(admin, "/activity?agent=nobody")
    assert (await admin.get("/activity?cursor=bad")).status_code == 400


async def test_it_takes_a_log_in(visitor: httpx.AsyncClient) -> None:
    assert (await visitor.get("/activity")).headers["location"].startswith("/login")
    assert (await visitor.post("/activity/run/upkeep")).status_code in (303, 401)


def test_the_schedule_shows_what_matters_next_first() -> None:
    now = 10 * HOUR_MS
    told = schedule(
        [
            Cron(name="night", job="backup", daily_at=time(3)),
            Cron(name="pulse", job="embed_pending", every_ms=10_000),
            Cron(name="look", job="scan_all", every_ms=HOUR_MS),
        ],
        {"scan_all": 9 * HOUR_MS},
        now,
    )
    assert [(row.name, row.often, row.next.words) for row in told] == [
        ("look", "every 1 hour", "in 1 hour"),
        ("night", "daily at 03:00 UTC", "in 17 hours"),
    ]
    assert (told[0].last is not None and told[0].last.words, told[1].last) == ("1 hour ago", None)


def test_every_job_of_the_worker_has_words(noesis: Noesis) -> None:
    from noesis.dashboard.job_rows import WORDS

    names = {*HANDLERS, *(cron.job for cron in crons(noesis.settings))}
    assert names <= WORDS.keys()


@pytest.mark.parametrize(
    ("result", "figures"),
    [
        ({"files": 1200, "failed": 0, "whole": True}, (("files", "1,200"),)),
        ({"waiting": 3, "reason": "Ollama is away."}, (("waiting", "3"), ("reason", "Ollama is away."))),
        (None, ()),
    ],
)
def test_a_result_is_told_by_what_is_in_it(result: dict[str, Any] | None, figures: object) -> None:
    assert job_row(_job(result), 5000).figures == figures


def _beat(job: Job, done: int, total: int) -> Any:
    from noesis.ledger import Beat

    return Beat(job.claims, done, total)


def _job(result: dict[str, Any] | None) -> Job:
    return Job(
        id="j",
        name="import",
        key=None,
        args={},
        state="succeeded",
        done=0,
        total=None,
        result=result,
        error=None,
        attempts=1,
        max_attempts=1,
        claims=1,
        created_ms=0,
        started_ms=1,
        finished_ms=2,
        heartbeat_ms=2,
        not_before_ms=0,
        acknowledged=False,
        cancel_requested=False,
    )
