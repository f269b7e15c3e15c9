"""The page of the system: is it well, what makes the vectors, how is it set, what may be sent to who helps."""

from __future__ import annotations

import asyncio

import msgspec
from litestar import Response, get, post

from noesis.api.access import PAGE, Wired
from noesis.backup.checking import LIVE as LIVE_STORE
from noesis.dashboard.backups_page import last_restore
from noesis.dashboard.job_rows import JobRow, job_row
from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.recognising import said
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.source_rows import PlaceRow, place_row, summary
from noesis.dashboard.stats_page import size
from noesis.dashboard.translation import _, ngettext, number
from noesis.dashboard.words import embedding_words
from noesis.embedding.base import EmbedderIdentity
from noesis.errors import EmbedderError
from noesis.health import Part, State
from noesis.ledger import LIVE, JobArgs, JobFilter
from noesis.memory import Scope
from noesis.reembedding.operation import MADE_BY
from noesis.runtime import Noesis
from noesis.shown_settings import shown_settings
from noesis.stats import Disk
from noesis.support_bundle import SupportBundle
from noesis.versions import versions

HERE = "system"
TONES: dict[State, str] = {"ok": "good", "degraded": "warn", "down": "bad"}

_NAMES = ("upkeep", "verify", "reembed", "prepare_model", "embed_pending")
_JOBS = 50
_IDENTITY_S = 2.0


class Check(msgspec.Struct, frozen=True):
    """One part of the system, since when it is like this, and its tone: good, warn or bad."""

    part: Part
    tone: str
    since: Moment | None


class Verdict(msgspec.Struct, frozen=True):
    """What the last verification of the live store found, and when."""

    words: str
    tone: str
    at: Moment


@get("/system", opt=PAGE, include_in_schema=False)
async def show_system(request: PageRequest, noesis: Wired) -> Response[str]:
    """Everything about the system."""
    now = noesis.now_ms()
    # Side by side: the page is there as soon as the slowest answers, which may be a sick embedder.
    report, (embedder, trouble), (places, freshness), (disk, states) = await asyncio.gather(
        noesis.health.report(),
        _embedder(noesis),
        _places(noesis, request.auth, now),
        _stored(noesis, request.auth),
    )
    standing, jobs, verdict = await asyncio.gather(
        noesis.reembedding.standing(), _jobs(noesis, now), _verdict(noesis, now)
    )
    settings = shown_settings(noesis.settings)
    restored = last_restore(noesis)
    return page(
        request,
        "system.html",
        here=HERE,
        checks=[_check(part, now) for part in report.parts],
        places=places,
        freshness=freshness,
        embedder=embedder,
        embedder_trouble=trouble,
        stored=noesis.store.embedder,
        standing=standing,
        rolls_back=restored is not None and restored[0] == MADE_BY,
        states=states,
        disk_words=disk,
        jobs=jobs,
        verdict=verdict,
        changed=[shown for shown in settings if not shown.is_default],
        unchanged=[shown for shown in settings if shown.is_default],
        versions=versions().items(),
    )


@post("/system/upkeep", opt=PAGE, include_in_schema=False, status_code=200)
async def start_upkeep(request: PageRequest, noesis: Wired) -> Response[str]:
    """Compact and index the store now."""
    await noesis.audit.record(request.auth.actor, "job started", "upkeep")
    await noesis.jobs.enqueue("upkeep", key="upkeep", args={"force": True})
    return see("/system?said=started#work")


@post("/system/verify", opt=PAGE, include_in_schema=False, status_code=200)
async def verify_store(request: PageRequest, noesis: Wired) -> Response[str]:
    """Look at all of the live store now."""
    await noesis.audit.record(request.auth.actor, "job started", "verify")
    await noesis.jobs.enqueue("verify", key="verify")
    return see("/system?said=started#work")


@post("/system/reembed", opt=PAGE, include_in_schema=False, status_code=200)
async def start_reembedding(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start the switch to the embedder of the settings.  Raises Conflict when there is none to make."""
    await noesis.reembedding.check(force=False)
    await noesis.audit.record(request.auth.actor, "re-embedding started")
    args: JobArgs = {"force": False, "actor": request.auth.actor}
    await noesis.jobs.enqueue("reembed", key="reembed", args=args)
    return see("/system?said=started#work")


@get("/system/support.zip", opt=PAGE, include_in_schema=False)
async def fetch_bundle(request: PageRequest, noesis: Wired) -> Response[bytes]:
    """The bundle for who helps."""
    bundle = SupportBundle(
        noesis.health, noesis.statistics, noesis.jobs, noesis.store, noesis.settings, noesis.now_ms
    )
    packed = await bundle.pack()
    await noesis.audit.record(request.auth.actor, "support bundle fetched")
    headers = {"Content-Disposition": 'attachment; filename="noesis-support.zip"'}
    return Response(packed, media_type="application/zip", headers=headers)


def _check(part: Part, now_ms: int) -> Check:
    since = None if part.since is None else moment(round(part.since.timestamp() * 1000), now_ms)
    return Check(part, TONES[part.state], since)


async def _embedder(noesis: Noesis) -> tuple[EmbedderIdentity | None, str]:
    """Who makes vectors now, or why that cannot be told."""
    try:
        async with asyncio.timeout(_IDENTITY_S):
            return await noesis.embedder.identity(), ""
    except EmbedderError as error:
        return None, error.message
    except TimeoutError:
        return None, noesis.embedder.model_status.sentence


async def _places(noesis: Noesis, scope: Scope, now_ms: int) -> tuple[list[PlaceRow], str | None]:
    """What is followed, and how much of it is in memory."""
    followed = {root.key for root in await noesis.inflow.following.followed()}
    fresh = await noesis.inflow.scanning.freshness(scope)
    return [place_row(each, followed, now_ms) for each in fresh], summary(fresh)


async def _stored(noesis: Noesis, scope: Scope) -> tuple[str | None, list[str]]:
    """What the memories take on the disk, and how many wait for their vectors, in words."""
    disk = await noesis.statistics.disk(scope)
    counts = await noesis.statistics.embedding_states(scope)
    states = [
        _("%(count)s %(state)s", count=number(count), state=embedding_words(name))
        for name, count in counts.items()
        if count
    ]
    return None if disk is None else _disk_words(disk), states


def _disk_words(disk: Disk) -> str:
    rows = ngettext("%(count)s row", "%(count)s rows", disk.rows, count=number(disk.rows))
    pieces = ngettext("%(count)s piece", "%(count)s pieces", disk.fragments, count=number(disk.fragments))
    told = {"size": size(disk.bytes), "rows": rows, "pieces": pieces}
    if not disk.vector_index:
        return _("%(size)s for %(rows)s in %(pieces)s; search is exact, without an index", **told)
    vectors = number(disk.indexed_vectors)
    return _("%(size)s for %(rows)s in %(pieces)s; vector index over %(vectors)s", **told, vectors=vectors)


async def _jobs(noesis: Noesis, now_ms: int) -> dict[str, list[JobRow]]:
    found = (await noesis.jobs.list(JobFilter(states=LIVE, names=_NAMES), limit=_JOBS)).jobs
    return {
        state: [job_row(job, now_ms) for job in found if job.state == state]
        for state in ("running", "queued")
    }


async def _verdict(noesis: Noesis, now_ms: int) -> Verdict | None:
    ended = await noesis.jobs.list(JobFilter(states=("succeeded",), names=("verify",)), limit=_JOBS)
    for job in ended.jobs:
        result = job.result or {}
        if result.get("name") == LIVE_STORE:
            problems = " ".join(result.get("problems", ()))
            at = moment(job.finished_ms or job.created_ms, now_ms)
            rows, files = number(result.get("rows", 0)), number(result.get("files", 0))
            fine = _("All %(rows)s rows and %(files)s files are as they should be.", rows=rows, files=files)
            return Verdict(problems, "bad", at) if problems else Verdict(said(fine), "good", at)
    return None


HANDLERS = [show_system, start_upkeep, verify_store, start_reembedding, fetch_bundle]
