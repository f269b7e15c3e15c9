"""Routes of duplicates: look for them, see what was found, decide."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import get, post
from litestar.params import FromPath, FromQuery, JSONBody

from noesis.api.access import GATEWAY, Wired
from noesis.api.jobs import JobStarted, started
from noesis.api.memories import ApiRequest
from noesis.api.views import MemoryView, memory_view, named_agent
from noesis.duplicates.values import (
    DEFAULT_THRESHOLD,
    Decision,
    Kind,
    Report,
    Shown,
    ShownMember,
    State,
    check_threshold,
)
from noesis.memory import MemoryType, to_datetime

JOB = "dedup"


class DedupRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for: `threshold` is the least cosine of two vectors whose words are compared.

    With `dry_run` the report of the last look stays as it is, and the job's result names what was found.
    """

    threshold: float = DEFAULT_THRESHOLD
    memory_type: MemoryType | None = None
    dry_run: bool = False
    agent_id: str | None = None


class DecisionRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do; `keep` is the id of the memory to keep, when not the one proposed."""

    decision: Decision
    keep: str | None = None


class ReportView(msgspec.Struct, frozen=True, kw_only=True):
    """What one look through an agent's memories found; `stored` of it wait for decisions."""

    agent_id: str
    at: datetime
    checked: int
    threshold: float
    without_vector: int
    left_out: int
    exact: int
    near: int
    newer: int
    stored: int


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory of a finding.

    `similarity` is the cosine to the one to keep, `reason` how its words stand to that one's, `words` what
    only one of the two has: first that one, then this.
    """

    memory: MemoryView
    similarity: float
    keep: bool
    reason: str
    words: tuple[str, ...]


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """Memories that say the same (exact, near), or a newer statement and the older one (newer).

    `decisions` are those that can be made.
    """

    id: str
    agent_id: str
    kind: Kind
    similarity: float
    members: list[MemberView]
    decisions: tuple[Decision, ...]


class FindingsView(msgspec.Struct, frozen=True):
    """What waits for a decision; ask for the rest with `cursor`, which is null at the end."""

    reports: list[ReportView]
    findings: list[FindingView]
    cursor: str | None


class DecidedView(msgspec.Struct, frozen=True):
    """What became of a finding: the memory that was kept, and the others."""

    id: str
    state: State
    kept: str
    others: tuple[str, ...]


@post("/dedup", opt=GATEWAY, status_code=202, tags=["duplicates"], summary="Look for duplicates")
async def look(request: ApiRequest, noesis: Wired, data: JSONBody[DedupRequest]) -> JobStarted:
    """Start a look through the agent's memories, or each agent's for an administrator who names none."""
    agent = request.auth.readable(agent=named_agent(data.agent_id))
    wanted = {
        "threshold": check_threshold(data.threshold),
        "memory_type": None if data.memory_type is None else data.memory_type.value,
        "dry_run": data.dry_run,
    }
    key = ":".join([JOB, agent or "*", *map(str, wanted.values())])
    job = await noesis.jobs.enqueue(JOB, key=key, args={"agent": agent, **wanted})
    await noesis.audit.record(request.auth.actor, "dedup started", agent or "all agents")
    return started(job)


@get("/dedup", opt=GATEWAY, tags=["duplicates"], summary="What was found")
async def list_findings(
    request: ApiRequest,
    noesis: Wired,
    kind: FromQuery[Kind | None] = None,
    limit: FromQuery[int] = 50,
    cursor: FromQuery[str | None] = None,
) -> FindingsView:
    """The findings that wait for a decision, most certain first, with their memories as they are now."""
    page = await noesis.duplicates.findings(request.auth, kind=kind, limit=limit, cursor=cursor)
    return FindingsView(
        [report_view(report) for report in page.reports],
        [finding_view(finding) for finding in page.findings],
        page.cursor,
    )


@post(
    "/dedup/{finding_id:str}",
    opt=GATEWAY,
    status_code=200,
    tags=["duplicates"],
    summary="Decide on a finding",
)
async def decide(
    request: ApiRequest, noesis: Wired, finding_id: FromPath[str], data: JSONBody[DecisionRequest]
) -> DecidedView:
    """Merge, keep both, delete the others, or let the one that is kept supersede them."""
    done = await noesis.duplicates.decide(request.auth, finding_id, data.decision, data.keep)
    await noesis.audit.record(request.auth.actor, f"duplicates {done.state}", done.id)
    return DecidedView(done.id, done.state, done.kept, done.others)


def report_view(report: Report) -> ReportView:
    """The API's form of a report."""
    values = {name: getattr(report, name) for name in Report.__struct_fields__ if name not in ("agent", "at")}
    return ReportView(agent_id=report.agent, at=to_datetime(report.at), **values)


def finding_view(finding: Shown) -> FindingView:
    """The API's form of a finding."""
    return FindingView(
        id=finding.id,
        agent_id=finding.agent,
        kind=finding.kind,
        similarity=finding.similarity,
        members=[_member(member) for member in finding.members],
        decisions=finding.decisions,
    )


def _member(member: ShownMember) -> MemberView:
    return MemberView(
        memory=memory_view(member.memory),
        similarity=member.similarity,
        keep=member.keep,
        reason=member.reason,
        words=member.words,
    )


HANDLERS = [look, list_findings, decide]
