"""The second page of the inbox: memories that say the same, one by one or many at once."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlencode

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from markupsafe import escape

from noesis.api.access import PAGE, Wired
from noesis.dashboard import duplicate_cards
from noesis.dashboard.duplicate_cards import KINDS
from noesis.dashboard.forms import read_fields, read_form
from noesis.dashboard.job_rows import job_row
from noesis.dashboard.recognising import said, told
from noesis.dashboard.rendering import PageRequest, page, see
from noesis.dashboard.translation import _, gettext_noop, raw_text
from noesis.duplicates.values import DEFAULT_THRESHOLD, Decision, Kind
from noesis.errors import Conflict, InvalidInput, NoesisError, NotFound
from noesis.ledger import LIVE, JobArgs, JobFilter
from noesis.runtime import Noesis

HERE = "inbox"
JOB = "dedup"
NOT_DECIDED = gettext_noop("%(count)s not: %(reason)s")

_ON_A_PAGE = 20
_LONGEST = 200


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which findings the address asks for."""

    kind: str = ""
    cursor: str = ""

    def address(self, **changes: str) -> str:
        """The page with these fields changed."""
        fields = {**msgspec.structs.asdict(self), **changes}
        told = urlencode({name: value for name, value in fields.items() if value})
        return f"/inbox/duplicates?{told}" if told else "/inbox/duplicates"


@get("/inbox/duplicates", opt=PAGE, include_in_schema=False)
async def show_duplicates(request: PageRequest, noesis: Wired) -> Response[str]:
    """What waits for a decision, most certain first."""
    return await _page(request, noesis, _wanted(dict(request.query_params)), None)


@post("/inbox/duplicates/look", opt=PAGE, include_in_schema=False, status_code=200)
async def look_now(request: PageRequest, noesis: Wired) -> Response[str]:
    """Start a look through each agent's memories, under the key that the API uses for the same."""
    args: JobArgs = {"agent": None, "threshold": DEFAULT_THRESHOLD, "memory_type": None, "dry_run": False}
    key = ":".join([JOB, "*", *(str(value) for name, value in args.items() if name != "agent")])
    await noesis.jobs.enqueue(JOB, key=key, args=args)
    await noesis.audit.record(request.auth.actor, "dedup started", "all agents")
    return see("/inbox/duplicates?said=looking-for-duplicates")


@post("/inbox/duplicates/many", opt=PAGE, include_in_schema=False, status_code=200)
async def decide_many(request: PageRequest, noesis: Wired) -> Response[str]:
    """Decide on the chosen findings alike; in each, the memory proposed to be kept is kept."""
    fields = await read_fields(request)
    wanted = _wanted(dict(fields))
    ids = [value for name, value in fields if name == "id"]
    try:
        decision = _decision(dict(fields).get("decision", ""))
        if not ids:
            raise InvalidInput(gettext_noop("Choose the findings to decide on."), field="id")
    except InvalidInput as error:
        return await _page(request, noesis, wanted, error)
    refused: Counter[str] = Counter()
    for finding_id in ids:
        try:
            await _decide(request, noesis, finding_id, decision, None)
        except (Conflict, InvalidInput, NotFound) as error:
            refused[error.message] += 1
    if not refused:
        return see(wanted.address(said="decided", cursor=""))
    done = len(ids) - refused.total()
    told_of = [said(_("%(count)s decided.", count=done))]
    told_of += [
        escape(raw_text(NOT_DECIDED)) % {"count": count, "reason": told(message)}
        for message, count in refused.items()
    ]
    return await _page(request, noesis, wanted, Conflict(escape(" ").join(told_of)))


@post("/inbox/duplicates/{finding_id:str}", opt=PAGE, include_in_schema=False, status_code=200)
async def decide(request: PageRequest, noesis: Wired, finding_id: FromPath[str]) -> Response[str]:
    """Decide on one finding; `keep` may name another memory than the one proposed."""
    fields = await read_form(request)
    wanted = _wanted(fields)
    try:
        await _decide(request, noesis, finding_id, _decision(fields.get("decision", "")), fields.get("keep"))
    except (Conflict, InvalidInput) as error:
        return await _page(request, noesis, wanted, error)
    return see(wanted.address(said="decided", cursor=""))


async def _decide(
    request: PageRequest, noesis: Noesis, finding_id: str, decision: Decision, keep: str | None
) -> None:
    done = await noesis.duplicates.decide(request.auth, finding_id, decision, keep or None)
    await noesis.audit.record(request.auth.actor, f"duplicates {done.state}", done.id)


async def _page(
    request: PageRequest, noesis: Noesis, wanted: Wanted, error: NoesisError | None
) -> Response[str]:
    now = noesis.now_ms()
    kind = Kind(wanted.kind) if wanted.kind in set(Kind) else None
    found = await noesis.duplicates.findings(
        request.auth, kind=kind, limit=_ON_A_PAGE, cursor=wanted.cursor or None
    )
    live = (await noesis.jobs.list(JobFilter(states=LIVE, names=(JOB,)))).jobs
    return page(
        request,
        "duplicates.html",
        here=HERE,
        status=200 if error is None else error.status_code,
        cards=[duplicate_cards.card(finding, now) for finding in found.findings],
        reports=[duplicate_cards.line(report, now) for report in found.reports],
        running=[job_row(job, now) for job in live if job.state == "running"],
        queued=[job_row(job, now) for job in live if job.state == "queued"],
        kinds=[(name.value, _(words)) for name, words in KINDS.items()],
        decisions=duplicate_cards.choices(),
        wanted=wanted,
        more=wanted.address(cursor=found.cursor) if found.cursor else None,
        error=error,
    )


def _wanted(parameters: dict[str, str]) -> Wanted:
    return Wanted(**{name: (parameters.get(name) or "")[:_LONGEST] for name in Wanted.__struct_fields__})


def _decision(raw: str) -> Decision:
    try:
        return Decision(raw)
    except ValueError as error:
        raise InvalidInput(gettext_noop("Choose what is to be done."), field="decision") from error


HANDLERS = [show_duplicates, look_now, decide_many, decide]
