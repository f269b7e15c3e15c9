"""Routes of imports: what would come of one, and the job that does it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Literal

import msgspec
from litestar import Response, delete, get, post
from litestar.params import FromPath, FromQuery, JSONBody

from noesis.api.access import GATEWAY, Wired
from noesis.api.described import also
from noesis.api.jobs import JobView, job_view
from noesis.api.memories import ApiRequest
from noesis.api.views import named_agent
from noesis.errors import Forbidden, InvalidInput, NoesisError, NotFound, TooLarge
from noesis.importing.operation import to_args
from noesis.importing.places import upload_name
from noesis.importing.values import ANY_AGENT, Plan, Recipients, What
from noesis.ledger import Job
from noesis.memory import Role
from noesis.sources.foreign import Format

JOB = "import"

LOOKED_AT = 20_000
"""A plan looks at about so many entries: whoever asks for it waits for the answer."""

AsGiven = Literal["as given"]


class ImportRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to import: a file or folder on the server, or OpenClaw's places, of one agent or (true) all.

    `agents` "as given" lets each entry go to the agent that it names; all others go to `agent_id`.
    """

    path: str | None = None
    openclaw: bool | str = False
    format: Format | None = None
    agent_id: str | None = None
    agents: AsGiven | None = None
    apply: bool = False


class ImportAnswer(msgspec.Struct, frozen=True):
    """What would be done, or with `apply` the job that does it; `upload` is the file that was kept for it."""

    plan: Plan | None = None
    job_id: str | None = None
    upload: str | None = None


@post(
    "/imports",
    opt=GATEWAY,
    status_code=200,
    tags=["imports"],
    summary="Plan or start an import",
    responses={202: also(ImportAnswer, "The job that was started.")},
)
async def start_import(
    request: ApiRequest, noesis: Wired, data: JSONBody[ImportRequest]
) -> Response[ImportAnswer]:
    """Say what an import from the server's disk would do, or start it: 202 with the job's id."""
    if (data.path is None) == (data.openclaw is False):
        raise InvalidInput("Give either path or openclaw.", field="path")
    of_openclaw = data.openclaw if isinstance(data.openclaw, str) else None
    if data.openclaw is not False and (data.format is not None or data.agents is not None):
        raise InvalidInput("format and agents go with path only.", field="openclaw")
    to = await _recipients(request, noesis, of_openclaw or data.agent_id, data.agents)
    if data.openclaw is True and data.agent_id is None:
        to = msgspec.structs.replace(to, agent=None)
    what = What(path=data.path, openclaw=data.openclaw is not False, format=data.format)
    if not data.apply:
        return await _planned(noesis, what, to)
    # A job that is bound to fail would tell nobody why in time.
    await noesis.inflow.importing.check(what, to)
    await noesis.audit.record(request.auth.actor, "import started", to.agent or ANY_AGENT)
    return await _started(noesis, what, to)


@post(
    "/imports/upload",
    status_code=200,
    tags=["imports"],
    summary="Import the file that is sent",
    description="The body is the file itself: an export, a transcript, a note, a .gz of one, or a .zip or"
    " .tar.gz of notes and exports. With `apply` the answer is 202 and the job's id, else what would be done;"
    " with `keep` the file waits for a day, and the answer's `upload` names it, so that it is sent but once.",
    request_max_body_size=None,
)
async def upload_import(
    request: ApiRequest,
    noesis: Wired,
    name: FromQuery[str | None] = None,
    format: FromQuery[Format | None] = None,  # noqa: A002 - the name of the parameter
    agent_id: FromQuery[str | None] = None,
    agents: FromQuery[AsGiven | None] = None,
    apply: FromQuery[bool] = False,
    keep: FromQuery[bool] = False,
) -> Response[ImportAnswer]:
    """Take a file, which is never held whole, and plan or start its import."""
    to = await _recipients(request, noesis, agent_id, agents)
    if not to.as_given:
        to.one()
    most = noesis.settings.import_max_mb << 20
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise TooLarge(f"An upload may have at most {noesis.settings.import_max_mb:,} MB.")
    upload = await noesis.inflow.uploads.receive(_pieces(request))
    what = What(upload=upload, name=upload_name(name), format=format)
    if apply:
        await noesis.audit.record(request.auth.actor, "import started", to.agent or ANY_AGENT)
        return await _started(noesis, what, to)
    try:
        answer = await _planned(noesis, what, to)
    except NoesisError:
        keep = False
        raise
    finally:
        if not keep:
            await asyncio.to_thread(noesis.inflow.uploads.discard, upload)
    if keep:
        answer.content = msgspec.structs.replace(answer.content, upload=upload)
    return answer


@post(
    "/imports/upload/{upload:str}",
    status_code=202,
    tags=["imports"],
    summary="Import a file that was kept",
    description="The file is one that was sent with `keep`; its id is a secret of whoever sent it.",
)
async def apply_upload(
    request: ApiRequest,
    noesis: Wired,
    upload: FromPath[str],
    name: FromQuery[str | None] = None,
    format: FromQuery[Format | None] = None,  # noqa: A002 - the name of the parameter
    agent_id: FromQuery[str | None] = None,
    agents: FromQuery[AsGiven | None] = None,
) -> Response[ImportAnswer]:
    """Start the import of a file that was planned before."""
    to = await _recipients(request, noesis, agent_id, agents)
    what = What(upload=upload, name=upload_name(name), format=format)
    await noesis.inflow.importing.check(what, to)
    await noesis.audit.record(request.auth.actor, "import started", to.agent or ANY_AGENT)
    return await _started(noesis, what, to)


@delete("/imports/upload/{upload:str}", tags=["imports"], summary="Throw away a file that was kept")
async def discard_upload(noesis: Wired, upload: FromPath[str]) -> None:
    """Throw away what was sent to be planned; that it is there is not told."""
    await asyncio.to_thread(noesis.inflow.uploads.discard, upload)


@get("/imports/{job_id:str}", tags=["imports"], summary="How an import goes")
async def get_import(request: ApiRequest, noesis: Wired, job_id: FromPath[str]) -> JobView:
    """The job of an import with its progress and result; an agent sees those into its own memories."""
    job = await noesis.jobs.get(job_id)
    if job.name != JOB or not _may_see(request, job):
        raise NotFound("There is no job with this id.")
    return job_view(job)


def _may_see(request: ApiRequest, job: Job) -> bool:
    if request.auth.role is not Role.AGENT:
        return True
    return job.args.get("agent") == request.auth.agent and not job.args.get("as_given")


async def _recipients(
    request: ApiRequest, noesis: Wired, named: str | None, agents: AsGiven | None
) -> Recipients:
    """Whose memories they become.  Raises Forbidden when the token is not for them."""
    scope = request.auth
    agent = named_agent(named) or scope.agent
    if scope.role is Role.AGENT:
        if agents is not None:
            raise Forbidden("An agent imports into its own memories only.", field="agents")
        return Recipients(agent=scope.owner(agent), admitted=(scope.owner(),))
    token = await noesis.tokens.authenticate(request.headers["authorization"].partition(" ")[2].strip())
    if agent is not None and not token.admits(agent):
        raise Forbidden("This token may not act as that agent.")
    return Recipients(agent=agent, as_given=agents is not None, admitted=token.agents)


async def _planned(noesis: Wired, what: What, to: Recipients) -> Response[ImportAnswer]:
    plan = await noesis.inflow.importing.plan(what, to, most=LOOKED_AT)
    return Response(ImportAnswer(plan=plan), status_code=200)


async def _started(noesis: Wired, what: What, to: Recipients) -> Response[ImportAnswer]:
    """Start the job; one that imports the same thing and has not ended is the answer to a second request."""
    args = to_args(what, to)
    key = hashlib.sha256(msgspec.json.encode(args, order="deterministic")).hexdigest()
    job = await noesis.jobs.enqueue(JOB, key=f"{JOB}:{key}", args=args)
    return Response(ImportAnswer(job_id=job.id), status_code=202)


async def _pieces(request: ApiRequest) -> AsyncIterator[bytes]:
    async for piece in request.stream():
        yield piece


HANDLERS = [start_import, upload_import, apply_upload, discard_upload, get_import]
