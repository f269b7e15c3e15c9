"""Routes of sources: the places that are followed, and how far memory is behind them."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody

from noesis.api.access import ADMIN, GATEWAY, Wired
from noesis.api.jobs import JobStarted, started
from noesis.api.memories import ApiRequest
from noesis.memory import to_datetime
from noesis.scanning import Freshness
from noesis.sources.roots import Kind, Root, Vanished


class NewSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder to follow: an absolute path on the server, and the agent whose memories its files are.

    `vanished` says what becomes of memories whose file is gone.
    """

    agent_id: str
    path: str
    kind: Kind = "markdown"
    label: str | None = None
    vanished: Vanished = "archive"


class SourceChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change of a source."""

    vanished: Vanished


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A place that is followed; `found_by` is openclaw or person, `held` counts files that vanished at once
    and wait for a person's word, `note` says what is wrong with it.
    """

    key: str
    agent_id: str
    kind: Kind
    label: str
    path: str
    found_by: str
    vanished: Vanished
    available: bool
    held: int
    note: str | None
    scanned_at: datetime | None


class SourcesView(msgspec.Struct, frozen=True):
    """All places that are followed, and what of OpenClaw's could not be looked at."""

    sources: list[SourceView]
    problems: list[str]


class ProblemView(msgspec.Struct, frozen=True):
    """A file that cannot be read, and why."""

    path: str
    reason: str


class FreshnessView(msgspec.Struct, frozen=True, kw_only=True):
    """How far memory is behind a source: files on the disk, indexed as they lie there, waiting, gone, refused
    and failed; `waits_since` is when the oldest waiting one was changed.  `clean` is true only when nothing waits.
    """

    source: SourceView
    clean: bool
    on_disk: int
    indexed: int
    waiting: int
    gone: int
    refused: int
    failed: int
    waits_since: datetime | None
    problems: list[ProblemView]


class WatcherView(msgspec.Struct, frozen=True):
    """How changes are noticed: by events, by polling, or not at all; `seen_at` is its last sign of life."""

    mode: str
    reason: str | None
    seen_at: datetime | None


class FreshnessAnswer(msgspec.Struct, frozen=True):
    """The figures of each source; `clean` only when every one of them is."""

    clean: bool
    watcher: WatcherView
    sources: list[FreshnessView]


def source_view(root: Root) -> SourceView:
    """The API's form of a root."""
    return SourceView(
        key=root.key,
        agent_id=root.agent,
        kind=root.kind,
        label=root.label,
        path=root.path,
        found_by=root.found_by,
        vanished=root.vanished,
        available=root.available,
        held=root.held,
        note=root.note,
        scanned_at=None if root.scanned_at is None else to_datetime(root.scanned_at),
    )


def freshness_view(fresh: Freshness) -> FreshnessView:
    """The API's form of a root's figures."""
    return FreshnessView(
        source=source_view(fresh.root),
        clean=fresh.is_clean,
        on_disk=fresh.on_disk,
        indexed=fresh.indexed,
        waiting=fresh.waiting,
        gone=fresh.gone,
        refused=fresh.refused,
        failed=fresh.failed,
        waits_since=None if fresh.waits_since is None else to_datetime(fresh.waits_since),
        problems=[ProblemView(path, reason) for path, reason in fresh.problems],
    )


@get("/freshness", tags=["sources"], summary="How far memory is behind its files")
async def freshness(request: ApiRequest, noesis: Wired) -> FreshnessAnswer:
    """Files on the disk against what is indexed of them, by a look at the disk now."""
    found = [freshness_view(each) for each in await noesis.inflow.scanning.freshness(request.auth)]
    watch = await noesis.inflow.signs.read()
    seen = None if watch.seen_at is None else to_datetime(watch.seen_at)
    return FreshnessAnswer(
        all(each.clean for each in found), WatcherView(watch.mode, watch.reason, seen), found
    )


@get("/sources", opt=ADMIN, tags=["sources"], summary="All places that are followed")
async def list_sources(noesis: Wired) -> SourcesView:
    """OpenClaw's places, found by themselves, and the folders that were added."""
    roots = await noesis.inflow.following.followed(also_unwatched=True)
    problems = [f"{problem.path}: {problem.reason}" for problem in noesis.inflow.following.problems]
    return SourcesView([source_view(root) for root in roots], problems)


@post("/sources", opt=ADMIN, tags=["sources"], summary="Follow a folder")
async def add_source(request: ApiRequest, noesis: Wired, data: JSONBody[NewSource]) -> SourceView:
    """Follow a folder of Markdown, text or transcripts for an agent; a first scan starts at once."""
    root = await noesis.inflow.following.add(
        data.agent_id, data.path, kind=data.kind, label=data.label, vanished=data.vanished
    )
    await noesis.audit.record(request.auth.actor, "source added", root.key)
    await noesis.jobs.enqueue("scan_source", key=f"scan:{root.key}", args={"root": root.key})
    return source_view(root)


@patch("/sources/{key:str}", opt=ADMIN, tags=["sources"], summary="Change a source")
async def change_source(
    request: ApiRequest, noesis: Wired, key: FromPath[str], data: JSONBody[SourceChange]
) -> SourceView:
    """Say what becomes of memories whose file is gone."""
    await noesis.inflow.roots.get(key)
    await noesis.inflow.roots.change(key, vanished=data.vanished)
    await noesis.audit.record(request.auth.actor, "source changed", key)
    return source_view(await noesis.inflow.roots.get(key))


@delete(
    "/sources/{key:str}", opt=ADMIN, status_code=200, tags=["sources"], summary="Follow a place no longer"
)
async def forget_source(
    request: ApiRequest, noesis: Wired, key: FromPath[str], archive: FromQuery[bool] = False
) -> ForgottenSource:
    """Forget a source; its memories stay, unless `archive` moves those of its documents to the archive."""
    archived = await noesis.inflow.following.forget(key, archive=archive)
    await noesis.audit.record(request.auth.actor, "source forgotten", key)
    return ForgottenSource(archived)


class ForgottenSource(msgspec.Struct, frozen=True):
    """How many memories went to the archive with their source."""

    archived: int


@post(
    "/sources/{key:str}/scan", opt=GATEWAY, status_code=202, tags=["sources"], summary="Look at a source now"
)
async def scan_source(noesis: Wired, key: FromPath[str], confirm_gone: FromQuery[bool] = False) -> JobStarted:
    """Read what changed in a source; `confirm_gone` says that files that vanished at once are meant to be gone."""
    await noesis.inflow.roots.get(key)
    args: dict[str, str | bool] = {"root": key}
    if confirm_gone:
        args["confirmed"] = True
    job_key = f"scan:{key}:confirmed" if confirm_gone else f"scan:{key}"
    return started(await noesis.jobs.enqueue("scan_source", key=job_key, args=args))


HANDLERS = [freshness, list_sources, add_source, change_source, forget_source, scan_source]
