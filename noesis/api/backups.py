"""Routes of backups: make, list, fetch, verify, restore, undo."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath, FromQuery, JSONBody
from litestar.response import File

from noesis.api.access import ADMIN, GATEWAY, Wired
from noesis.api.described import also
from noesis.api.jobs import JobStarted, started
from noesis.api.memories import ApiRequest
from noesis.api.views import named_agent
from noesis.backup import looks
from noesis.backup.copies import HERE
from noesis.backup.part import MOST_IDS
from noesis.backup.shelf import check_name
from noesis.backup.values import Backup, Beside, Preview, Wanted
from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.ledger import Job, JobArgs
from noesis.memory import to_datetime
from noesis.runtime import Noesis


class BackupView(msgspec.Struct, frozen=True, kw_only=True):
    """A backup; `verified_at` and `proven_at` say when it was last compared and last restored in a drill.

    `places` says where it lies: `here`, and its `s3://` address for a copy that was read back and compared.
    """

    name: str
    created_at: datetime
    size: int
    kind: str
    rows: int | None
    memories: int | None
    product_version: str | None
    encrypted: bool
    verified_at: datetime | None
    proven_at: datetime | None
    places: list[str]


class BackupsView(msgspec.Struct, frozen=True):
    """All backups, newest first; `undo` is whether the last restore can be undone.

    `bucket` is where they are copied to, and `copy_error` why the last try failed.
    """

    backups: list[BackupView]
    undo: bool
    bucket: str | None
    copy_error: str | None


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The name of a backup that lies in the bucket, or its `s3://` address."""

    name: str


class RestoreRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`confirm` is the backup's name, typed again; `preview` asks what would be done.

    `agent_id`, `source` and `ids` name a part, which is put back memory by memory.
    """

    confirm: str | None = None
    preview: bool = False
    safety_backup: bool = True
    foreign: bool = False
    agent_id: str | None = None
    source: str | None = None
    ids: list[str] | None = None


class PreviewAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore would do: `preview` of the whole, `memories` of a part; `job_id` while it is looked at."""

    job_id: str | None = None
    preview: Preview | None = None
    memories: list[Beside] | None = None


def view(backup: Backup, places: Sequence[str] = (HERE,)) -> BackupView:
    """The API's form of a backup that lies in these places."""
    return BackupView(
        name=backup.name,
        created_at=to_datetime(backup.created_at),
        size=backup.size,
        kind=backup.kind,
        rows=backup.rows,
        memories=backup.memories,
        product_version=backup.product_version,
        encrypted=backup.name.endswith(".age"),
        verified_at=_time(backup.verified_at),
        proven_at=_time(backup.proven_at),
        places=list(places),
    )


def _time(ms: int | None) -> datetime | None:
    return None if ms is None else to_datetime(ms)


@get("/backups", opt=GATEWAY, tags=["backups"], summary="All backups")
async def list_backups(noesis: Wired) -> BackupsView:
    """The backups, newest first; those in the bucket as it was when it was last spoken to."""
    state = await noesis.backups.copies.state()
    return BackupsView(
        [view(each.backup, each.places) for each in await noesis.backups.everywhere()],
        noesis.store.previous is not None,
        bucket=noesis.backups.copies.address,
        copy_error=state.error,
    )


@get("/backups/bucket", opt=ADMIN, tags=["backups"], summary="The backups in the bucket")
async def list_bucket(noesis: Wired) -> BackupsView:
    """What lies in the bucket now, of other instances too; the bucket is asked."""
    copies = noesis.backups.copies
    held = [view(backup, (copies.address_of(backup.name),)) for backup in await copies.held()]
    return BackupsView(held, noesis.store.previous is not None, bucket=copies.address, copy_error=None)


@post(
    "/backups/fetch", opt=ADMIN, status_code=202, tags=["backups"], summary="Fetch a backup from the bucket"
)
async def fetch_from_bucket(request: ApiRequest, noesis: Wired, data: JSONBody[FetchRequest]) -> JobStarted:
    """Start fetching a backup; it is compared and looked at before it is listed."""
    return started(await start_fetch(noesis, request.auth.actor, data.name))


async def start_fetch(noesis: Noesis, actor: str, given: str) -> Job:
    """Start fetching a backup of this name or address.  Raises Conflict without a bucket, InvalidInput, NotFound."""
    name = noesis.backups.copies.name_of(given)
    await noesis.audit.record(actor, "backup fetched from the bucket", name)
    return await noesis.jobs.enqueue("fetch_backup", key=f"fetch:{name}", args={"name": name})


@post("/backups", opt=GATEWAY, status_code=202, tags=["backups"], summary="Make a backup")
async def make_backup(request: ApiRequest, noesis: Wired) -> JobStarted:
    """Start a backup; one that is being made is the answer to a second request."""
    await noesis.audit.record(request.auth.actor, "backup started")
    return started(await noesis.jobs.enqueue("backup", key="backup"))


@get("/backups/{name:str}", opt=ADMIN, tags=["backups"], summary="Fetch a backup")
async def fetch_backup(request: ApiRequest, noesis: Wired, name: FromPath[str]) -> File:
    """The archive itself."""
    path: Path = noesis.backups.shelf.path(name)
    await noesis.audit.record(request.auth.actor, "backup fetched", name)
    return File(path=path, filename=name, media_type="application/octet-stream")


@post("/backups/{name:str}/verify", opt=GATEWAY, status_code=202, tags=["backups"], summary="Verify a backup")
async def verify_backup(noesis: Wired, name: FromPath[str]) -> JobStarted:
    """Start a verification of a backup: every hash, every row, and a search of each kind."""
    noesis.backups.shelf.path(name)
    return started(await noesis.jobs.enqueue("verify", key=f"verify:{name}", args={"name": name}))


@post("/verify", opt=GATEWAY, status_code=202, tags=["backups"], summary="Verify the live store")
async def verify_store(noesis: Wired) -> JobStarted:
    """Start a verification of the live store."""
    return started(await noesis.jobs.enqueue("verify", key="verify"))


@post(
    "/backups/{name:str}/restore",
    opt=ADMIN,
    status_code=202,
    tags=["backups"],
    summary="Restore a backup",
)
async def restore_backup(
    request: ApiRequest, noesis: Wired, name: FromPath[str], data: JSONBody[RestoreRequest]
) -> JobStarted:
    """Start a restore, or the look that says what it would do (GET /api/v1/backups/previews/{job_id})."""
    noesis.backups.shelf.path(name)
    wanted = Wanted(agent=named_agent(data.agent_id), source=data.source, ids=tuple(data.ids or ()))
    if len(wanted.ids) > MOST_IDS:
        raise InvalidInput(f"At most {MOST_IDS:,} memories can be named.", field="ids")
    if data.preview:
        return started(await start_look(noesis, name, wanted))
    if data.confirm != name:
        raise InvalidInput("Type the backup's name again in confirm, or ask for a preview.", field="confirm")
    await noesis.audit.record(request.auth.actor, "restore started", name)
    args: JobArgs = {
        "name": name,
        "safety_backup": data.safety_backup,
        "foreign": data.foreign,
        "actor": request.auth.actor,
        "agent": wanted.agent,
        "source": wanted.source,
        "ids": list(wanted.ids) or None,
    }
    return await _restore(noesis, args)


async def start_look(noesis: Noesis, name: str, wanted: Wanted) -> Job:
    """Start a look at a backup; the same look that is under way is the answer to a second request."""
    args = looks.arguments(name, wanted)
    what = hashlib.sha256(msgspec.json.encode(args, order="sorted")).hexdigest()[:32]
    return await noesis.jobs.enqueue(looks.JOB, key=f"{looks.JOB}:{what}", args=args)


@get(
    "/backups/previews/{job_id:str}",
    opt=ADMIN,
    tags=["backups"],
    summary="What a restore would do",
    responses={202: also(PreviewAnswer, "The look is still under way.")},
)
async def show_look(noesis: Wired, job_id: FromPath[str]) -> Response[PreviewAnswer]:
    """What the job of a preview saw: 202 until it has ended, then for an hour the answer."""
    job = await noesis.jobs.get(job_id)
    if job.name != looks.JOB:
        raise NotFound("There is no preview of this id.")
    looked = await asyncio.to_thread(noesis.backups.looks.of, job)
    if looked is None:
        return Response(PreviewAnswer(job_id=job.id), status_code=202)
    return Response(PreviewAnswer(preview=looked.preview, memories=looked.memories), status_code=200)


@post("/restore/undo", opt=ADMIN, status_code=202, tags=["backups"], summary="Undo the last restore")
async def undo_restore(request: ApiRequest, noesis: Wired) -> JobStarted:
    """Start going back to before the last restore; what was written since comes along."""
    if noesis.store.previous is None:
        raise Conflict("There is no restore and no re-embedding that could be undone.")
    await noesis.audit.record(request.auth.actor, "undo started")
    return await _restore(noesis, {"undo": True, "actor": request.auth.actor})


async def _restore(noesis: Noesis, args: JobArgs) -> JobStarted:
    """Start it, unless another restore or undo is not over yet.  Raises Conflict."""
    job = await noesis.jobs.enqueue("restore", key="restore", args=args)
    if job.args != dict(args):
        raise Conflict("Another restore is under way; wait for its end.")
    return started(job)


@post(
    "/backups/upload",
    opt=ADMIN,
    status_code=201,
    tags=["backups"],
    summary="Bring in a backup",
    description="The body is the archive itself; it is verified before it is listed.",
    request_max_body_size=None,
)
async def upload_backup(request: ApiRequest, noesis: Wired, name: FromQuery[str]) -> BackupView:
    """Take in an archive that was made elsewhere, or fetched before."""
    received = await noesis.backups.receive(check_name(name), _pieces(request))
    await noesis.audit.record(request.auth.actor, "backup uploaded", name)
    return view(received)


async def _pieces(request: ApiRequest) -> AsyncIterator[bytes]:
    async for piece in request.stream():
        yield piece


HANDLERS = [
    list_backups,
    make_backup,
    list_bucket,
    fetch_from_bucket,
    fetch_backup,
    verify_backup,
    verify_store,
    restore_backup,
    show_look,
    undo_restore,
    upload_backup,
]
