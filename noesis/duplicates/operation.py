"""Duplicates as an operation: look for them, show what was found, carry out what is decided."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from noesis.browsing import check_limit, live_condition, load_memories
from noesis.duplicates.book import FindingBook
from noesis.duplicates.changes import DropChange, MergeChange
from noesis.duplicates.finding import Looking, Progress, Stop, Stopped
from noesis.duplicates.values import (
    ALLOWED,
    OUTCOME,
    Decision,
    Finding,
    Kind,
    Report,
    Shown,
    ShownMember,
    State,
    Wanted,
    check_threshold,
)
from noesis.errors import Conflict, InvalidInput
from noesis.memory import Memory, Scope
from noesis.store import Column, Store
from noesis.store.filters import equals
from noesis.superseding import Superseding
from noesis.text.said import said
from noesis.text.sameness import compare
from noesis.uses import Uses

MOST_SHOWN = 200
MOST_STORED = 2000
"""Findings of one agent that are kept for decisions; a report says how many there were."""


class Done(msgspec.Struct, frozen=True):
    """What a look through the memories of one agent or several found; `whole` unless it was stopped.

    After a dry run `findings` holds the first of them, which are kept nowhere else.
    """

    reports: tuple[Report, ...]
    findings: tuple[Finding, ...] = ()
    whole: bool = True


class Findings(msgspec.Struct, frozen=True):
    """Part of what waits for decisions; `cursor` asks for the next part and is None at the end."""

    reports: tuple[Report, ...]
    findings: tuple[Shown, ...]
    cursor: str | None


class Decided(msgspec.Struct, frozen=True):
    """What became of a finding: which memory was kept, and what happened to the others."""

    id: str
    state: State
    kept: str
    others: tuple[str, ...]


class Duplicates:
    """Finds and settles duplicates; nothing is changed but by a decision."""

    def __init__(
        self, store: Store, book: FindingBook, superseding: Superseding, uses: Uses, now_ms: Callable[[], int]
    ) -> None:
        self._store = store
        self._book = book
        self._superseding = superseding
        self._uses = uses
        self._now_ms = now_ms

    async def look(self, agent: str | None, wanted: Wanted, progress: Progress, stop: Stop) -> Done:
        """Look through the active memories of an agent, or of each agent by itself.

        Progress counts memories of the agent at hand.  Raises InvalidInput or a StoreError.
        """
        check_threshold(wanted.threshold)
        reports: list[Report] = []
        shown: list[Finding] = []
        for each in [agent] if agent is not None else await self._agents():
            try:
                report, found = await self._look_at(each, wanted, progress, stop)
            except Stopped:
                return Done(tuple(reports), tuple(shown), whole=False)
            reports.append(report)
            shown += found[: MOST_SHOWN - len(shown)] if wanted.dry_run else ()
        return Done(tuple(reports), tuple(shown))

    async def findings(
        self, scope: Scope, *, kind: Kind | None = None, limit: int = 50, cursor: str | None = None
    ) -> Findings:
        """What waits for a decision, with the memories as they are now.

        A finding of which fewer than two memories still say what was compared is left out, and let go of,
        so that the count of those that wait comes true.  Raises InvalidInput for a limit or a cursor that
        cannot be.
        """
        check_limit(limit)
        agent = scope.whose
        found = await self._book.open(agent, kind, limit + 1, None if cursor is None else _place(cursor))
        page = found[:limit]
        shown = await self._shown([finding for _, finding in page])
        if overtaken := {finding.id for _, finding in page} - {finding.id for finding in shown}:
            await self._book.let_go(overtaken)
        more = encoded(page[-1][0]) if len(found) > limit else None
        return Findings(tuple(await self._book.reports(agent)), tuple(shown), more)

    async def count(self, scope: Scope) -> int:
        """How many wait for a decision, by one look into the list of the last looks.

        Those that a change of their memories overtook count until somebody asks for the list.
        """
        return await self._book.count(scope.whose)

    async def decide(
        self, scope: Scope, finding_id: str, decision: Decision, keep: str | None = None
    ) -> Decided:
        """Carry out a decision; `keep` names another memory to keep than the one proposed.

        Raises NotFound, also for another agent's, InvalidInput when it does not fit the finding, and
        Conflict when it was decided before or a memory has changed since.
        """
        finding = await self._book.get(finding_id, scope.whose)
        if finding.state is State.OVERTAKEN:
            raise Conflict("One of these memories has changed since; look for duplicates again.")
        if finding.state is not State.OPEN:
            raise Conflict("This was decided before.")
        if decision not in ALLOWED[finding.kind]:
            fitting = ", ".join(ALLOWED[finding.kind])
            raise InvalidInput(f"This can be decided as {fitting}.", field="decision")
        kept = finding.members[0].id if keep is None else keep
        others = tuple(member.id for member in finding.members if member.id != kept)
        if len(others) == len(finding.members):
            raise InvalidInput("keep must be one of the finding's memories.", field="keep")
        await self._carry_out(scope, finding, decision, kept, others)
        state = OUTCOME[decision]
        await self._book.decide(finding, state, scope.actor)
        return Decided(finding.id, state, kept, others)

    async def _carry_out(
        self, scope: Scope, finding: Finding, decision: Decision, kept: str, others: Sequence[str]
    ) -> None:
        hashes = {member.id: member.content_hash for member in finding.members}
        match decision:
            case Decision.MERGE:
                await self._store.submit(MergeChange(kept, hashes, scope.actor, self._now_ms()))
                await self._superseding.merge(others, kept)
                await self._uses.merge(others, kept)
            case Decision.DELETE:
                await self._store.submit(DropChange(kept, hashes, scope.actor, self._now_ms()))
            case Decision.SUPERSEDE:
                for old in others:
                    await self._superseding.link(scope, old, kept)
            case Decision.KEEP_BOTH:
                await self._book.keep_apart(finding.agent, [kept, *others], scope.actor)

    async def _agents(self) -> list[str]:
        living = live_condition(self._now_ms()) & equals(Column.CHUNK, 0)
        return sorted(agent for agent, _ in await self._store.active.tally([Column.AGENT_ID], living))

    async def _look_at(
        self, agent: str, wanted: Wanted, progress: Progress, stop: Stop
    ) -> tuple[Report, Sequence[Finding]]:
        now = self._now_ms()
        looking = Looking(self._store, agent, wanted, now)
        apart, linked = await self._book.apart(agent), await self._superseding.superseded(agent)
        found = await looking.find(apart, linked, progress, stop)
        kinds = Counter(finding.kind for finding in found.findings)
        stored = found.findings[:MOST_STORED]
        report = Report(
            agent=agent,
            at=now,
            checked=found.checked,
            threshold=wanted.threshold,
            without_vector=found.without_vector,
            left_out=found.left_out,
            exact=kinds[Kind.EXACT],
            near=kinds[Kind.NEAR],
            newer=kinds[Kind.NEWER],
            stored=0 if wanted.dry_run else len(stored),
        )
        if not wanted.dry_run:
            await self._book.store(report, stored)
        return report, stored

    async def _shown(self, findings: Sequence[Finding]) -> list[Shown]:
        ids = {member.id for finding in findings for member in finding.members}
        living = {
            memory.id: memory
            for memory in await load_memories(self._store.active, sorted(ids))
            if memory.expires_at > self._now_ms()
        }
        shown = (_shown(finding, living) for finding in findings)
        return [each for each in shown if len(each.members) > 1]


def _shown(finding: Finding, living: dict[str, Memory]) -> Shown:
    """A finding with those of its memories that still say what was compared."""
    members: list[ShownMember] = []
    for member in finding.members:
        memory = living.get(member.id)
        if memory is None or memory.content_hash != member.content_hash:
            continue
        first = members[0].memory if members else memory
        verdict = compare(said(first.text), said(memory.text))
        reason, words = ("", ()) if memory is first else (verdict.reason, verdict.words)
        members.append(ShownMember(memory, member.similarity, memory is first, reason, words))
    return Shown(
        id=finding.id,
        agent=finding.agent,
        kind=finding.kind,
        state=finding.state,
        similarity=finding.similarity,
        members=tuple(members),
        decisions=ALLOWED[finding.kind],
    )


def encoded(place: tuple[str, int]) -> str:
    """A place in the list as a text that asks for what comes after it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def _place(cursor: str) -> tuple[str, int]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.urlsafe_b64decode(padded), type=tuple[str, int])
    except (ValueError, msgspec.DecodeError) as error:
        raise InvalidInput("cursor is not one that this list gave out.", field="cursor") from error
