"""The pages of backups: how they stand, make, verify, fetch and bring in, restore and undo."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import File

from noesis.api.access import PAGE, Wired
from noesis.api.backups import start_fetch
from noesis.backup.copies import HERE as LIES_HERE
from noesis.backup.health import last_proven
from noesis.backup.shelf import check_name
from noesis.backup.values import Wanted
from noesis.dashboard import backup_rows
from noesis.dashboard.backup_look import begun, look_of, under_way
from noesis.dashboard.coming import next_of
from noesis.dashboard.forms import read_form
from noesis.dashboard.job_rows import job_row
from noesis.dashboard.presenters import moment
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.sent_file import read_out, sent_file
from noesis.dashboard.snapshots_part import snapshots_part
from noesis.dashboard.translation import _, gettext_noop
from noesis.errors import Conflict, InvalidInput, NoesisError
from noesis.ledger import LIVE, JobArgs, JobFilter
from noesis.runtime import Noesis

HERE = "backups"
NOTHING_TO_UNDO = gettext_noop("There is no restore that could be undone.")
UNDOABLE = ("restore", "undo", "re-embedding")
NAMES = ("backup", "fetch_backup", "verify", "restore", "drill", "snapshot", "fetch_snapshot")

_JOBS = 100
_ROOM_FOR = 3
"""A backup that is brought in is laid down, unpacked to be looked at, and copied to the others."""


@get("/backups", opt=PAGE, include_in_schema=False)
async def show_backups(request: PageRequest, noesis: Wired) -> Response[str]:
    """All backups and snapshots."""
    return await backups_page(request, noesis, None)


@post("/backups/make", opt=PAGE, include_in_schema=False, status_code=200)
async def make_backup(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start a backup."""
    await noesis.audit.record(request.auth.actor, "backup started")
    await noesis.jobs.enqueue("backup", key="backup")
    return see("/backups?said=backup-started")


@post("/backups/prove", opt=PAGE, include_in_schema=False, status_code=200)
async def prove_newest(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start a drill: the newest backup is restored beside and compared."""
    await noesis.audit.record(request.auth.actor, "drill started")
    await noesis.jobs.enqueue("drill", key="drill")
    return see("/backups?said=drill-started")


@post("/backups/upload", opt=PAGE, include_in_schema=False, status_code=200, request_max_body_size=None)
async def upload_backup(request: PageRequest, noesis: Wired) -> Response[str]:
    """Take in an archive; it is listed once it was looked at, and a mistake brings the page back."""
    try:
        sent = await sent_file(request, "file", most_bytes=await asyncio.to_thread(_room, noesis))
        received = await noesis.backups.receive(check_name(_last_part(sent.name)), sent.pieces)
    except NoesisError as error:
        await read_out(request)
        return await backups_page(request, noesis, error)
    await noesis.audit.record(request.auth.actor, "backup uploaded", received.name)
    return see("/backups?said=brought-in")


@get("/backups/undo", opt=PAGE, include_in_schema=False)
async def ask_undo(request: PageRequest, noesis: Wired) -> Response[str]:
    """Ask before the last restore is undone."""
    restored = last_restore(noesis)
    if restored is None:
        raise Conflict(NOTHING_TO_UNDO)
    at = moment(restored[1], noesis.now_ms())
    return page(request, "backup_undo.html", here=HERE, made_by=restored[0], at=at)


@post("/backups/undo", opt=PAGE, include_in_schema=False, status_code=200)
async def undo_restore(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start going back to before the last restore."""
    if last_restore(noesis) is None:
        raise Conflict(NOTHING_TO_UNDO)
    await noesis.audit.record(request.auth.actor, "undo started")
    await start_restore(noesis, {"undo": True, "actor": request.auth.actor})
    return see("/backups?said=undo-started")


@get("/backups/{name:str}/download", opt=PAGE, include_in_schema=False)
async def download_backup(request: PageRequest, noesis: Wired, name: FromPath[str]) -> File:
    """The archive itself."""
    path: Path = noesis.backups.shelf.path(name)
    await noesis.audit.record(request.auth.actor, "backup fetched", name)
    return File(path=path, filename=name, media_type="application/octet-stream")


@post("/backups/{name:str}/fetch", opt=PAGE, include_in_schema=False, status_code=200)
async def fetch_backup(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """Start fetching a backup from the bucket."""
    await start_fetch(noesis, request.auth.actor, name)
    return see("/backups?said=fetch-started")


@post("/backups/{name:str}/verify", opt=PAGE, include_in_schema=False, status_code=200)
async def verify_backup(noesis: Wired, name: FromPath[str]) -> Response[str]:
    """Start a verification: every hash, every row, and a search of each kind."""
    noesis.backups.shelf.path(name)
    await noesis.jobs.enqueue("verify", key=f"verify:{name}", args={"name": name})
    return see("/backups?said=verify-started")


@get("/backups/{name:str}/restore", opt=PAGE, include_in_schema=False)
async def ask_restore(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """What a restore would do, by a look at all of the backup."""
    return await _restore_page(request, noesis, name, request.query_params.get("look"), None)


@post("/backups/{name:str}/restore", opt=PAGE, include_in_schema=False, status_code=200)
async def restore_backup(request: PageRequest, noesis: Wired, name: FromPath[str]) -> Response[str]:
    """Start a restore once the name was typed; a mistake brings the page back."""
    fields = await read_form(request)
    noesis.backups.shelf.path(name)
    args: JobArgs = {
        "name": name,
        "safety_backup": fields.get("safety") == "yes",
        "foreign": fields.get("foreign") == "yes",
        "actor": request.auth.actor,
    }
    try:
        if fields.get("confirm", "").strip() != name:
            raise InvalidInput(gettext_noop("This is not the backup's name."), field="confirm")
        await start_restore(noesis, args)
    except (InvalidInput, Conflict) as error:
        return await _restore_page(request, noesis, name, fields.get("look"), error)
    await noesis.audit.record(request.auth.actor, "restore started", name)
    return see("/backups?said=restore-started")


async def backups_page(
    request: PageRequest, noesis: Noesis, error: NoesisError | None, *, of_snapshots: bool = False
) -> Response[str]:
    """The page, with a mistake of the upload's or of the snapshots' where it was made."""
    now, settings, copies = noesis.now_ms(), noesis.settings, noesis.backups.copies
    listed = await noesis.backups.everywhere()
    backups = [each.backup for each in listed if LIES_HERE in each.places]
    verified = await noesis.jobs.list(JobFilter(states=("succeeded",), names=("verify",)), limit=_JOBS)
    failed = await noesis.jobs.list(JobFilter(states=("failed",), names=("backup",)), limit=_JOBS)
    problems = backup_rows.problems_found(verified.jobs)
    strip = backup_rows.tick_strip(backups, failed.jobs, problems)
    proven = last_proven(backups)
    restored = last_restore(noesis)
    return page(
        request,
        "backups.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        rows=[backup_rows.backup_row(each, problems, now) for each in listed],
        copies=backup_rows.copies_part(copies.address, await copies.state(), now),
        strip=strip,
        strip_words=backup_rows.strip_words(strip),
        jobs=await _jobs(noesis, now),
        next_backup=next_of("backup", settings, now),
        next_drill=next_of("drill", settings, now),
        proven=None if proven is None else (proven.name, moment(proven.proven_at or 0, now)),
        restored=None if restored is None else (restored[0], moment(restored[1], now)),
        directory=str(noesis.backups.shelf.directory),
        is_encrypted=settings.backup_key_file is not None,
        keeps=_keeps(noesis),
        snapshots=await snapshots_part(noesis, now),
        error=None if of_snapshots else error,
        snapshot_error=error if of_snapshots else None,
    )


async def _jobs(noesis: Noesis, now_ms: int) -> dict[str, object]:
    live = (await noesis.jobs.list(JobFilter(states=LIVE, names=NAMES), limit=_JOBS)).jobs
    failed = (await noesis.jobs.list(JobFilter(names=NAMES, unseen=True), limit=_JOBS)).jobs
    return {
        "running": [job_row(job, now_ms) for job in live if job.state == "running"],
        "queued": [job_row(job, now_ms) for job in live if job.state == "queued"],
        "failed": [job_row(job, now_ms) for job in failed],
    }


async def _restore_page(
    request: PageRequest, noesis: Noesis, name: str, look: str | None, error: NoesisError | None
) -> Response[str]:
    noesis.backups.shelf.path(name)
    job = await look_of(noesis, name, Wanted(), look)
    if job is None and error is None:
        return await begun(noesis, name, Wanted(), f"/backups/{name}/restore")
    effect, refusal = None, None
    try:
        looked = None if job is None else await asyncio.to_thread(noesis.backups.looks.of, job)
        if job is not None and looked is None:
            return under_way(request, noesis, HERE, name, job)
        if looked is not None and looked.preview is not None:
            effect = backup_rows.effect(looked.preview, noesis.now_ms())
    except NoesisError as found:
        refusal = found
    shown = error or refusal
    return page(
        request,
        "backup_restore.html",
        here=HERE,
        status=200 if shown is None else shown.status_code,
        name=name,
        look=look,
        effect=effect,
        refusal=refusal,
        error=error,
    )


async def start_restore(noesis: Noesis, args: JobArgs) -> None:
    """Start it, unless another restore or undo is not over yet.  Raises Conflict."""
    job = await noesis.jobs.enqueue("restore", key="restore", args=args)
    if job.args != dict(args):
        raise Conflict(gettext_noop("Another restore is under way; wait for its end."))


def last_restore(noesis: Noesis) -> tuple[str, int] | None:
    """What made the store of now, if it can be undone (restore, undo, re-embedding), and when (ms)."""
    info = noesis.store.info
    if noesis.store.previous is None or info.made_by not in UNDOABLE:
        return None
    return info.made_by, info.created_at


def _keeps(noesis: Noesis) -> str:
    settings = noesis.settings
    return _(
        "the last %(last)s, and one each of %(days)s days, %(weeks)s weeks and %(months)s months",
        last=settings.backup_keep_last,
        days=settings.backup_keep_daily,
        weeks=settings.backup_keep_weekly,
        months=settings.backup_keep_monthly,
    )


def _room(noesis: Noesis) -> int:
    """The largest archive that can be brought in, in bytes."""
    return shutil.disk_usage(noesis.settings.data_dir).free // _ROOM_FOR


def _last_part(name: str) -> str:
    """A file's name without the folders that some browsers send along."""
    return name.replace("\\", "/").rpartition("/")[2]


HANDLERS = [
    show_backups,
    make_backup,
    prove_newest,
    upload_backup,
    ask_undo,
    undo_restore,
    download_backup,
    fetch_backup,
    verify_backup,
    ask_restore,
    restore_backup,
]
