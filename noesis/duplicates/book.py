"""What the control database keeps of duplicates: the last report of each agent, and what is to stay apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import combinations

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.duplicates.values import Finding, Kind, Member, Report, State
from noesis.errors import Conflict, NotFound

_STATE = 16
_AT_ONCE = 500

reports = sa.Table(
    "dedup_reports",
    metadata,
    sa.Column("agent", sa.String(64), primary_key=True),
    sa.Column("report", sa.Text, nullable=False),
)

findings = sa.Table(
    "dedup_findings",
    metadata,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("agent", sa.String(64), nullable=False, index=True),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(_STATE), nullable=False),
    sa.Column("members", sa.Text, nullable=False),
    sa.Column("state", sa.String(_STATE), nullable=False),
    sa.Column("decided_at", sa.BigInteger),
    sa.Column("decided_by", sa.String(128)),
)

apart = sa.Table(
    "dedup_apart",
    metadata,
    sa.Column("one_id", sa.String(36), primary_key=True),
    sa.Column("other_id", sa.String(36), primary_key=True),
    sa.Column("agent", sa.String(64), nullable=False, index=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
)


class FindingBook:
    """Writes and reads it.  It holds ids and hashes, never texts."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms

    async def store(self, report: Report, found: Sequence[Finding]) -> None:
        """Put a report and its findings in place of the agent's last ones."""
        rows = [_values(finding, place) for place, finding in enumerate(found)]

        def put(connection: sa.Connection) -> None:
            connection.execute(sa.delete(reports).where(reports.c.agent == report.agent))
            connection.execute(sa.delete(findings).where(findings.c.agent == report.agent))
            text = msgspec.json.encode(report).decode()
            connection.execute(sa.insert(reports).values(agent=report.agent, report=text))
            if rows:
                connection.execute(sa.insert(findings), rows)

        await self._control.run(put)

    async def reports(self, agent: str | None) -> list[Report]:
        """The last report of an agent, or of all."""
        query = sa.select(reports.c.report).order_by(reports.c.agent)
        if agent is not None:
            query = query.where(reports.c.agent == agent)
        texts = await self._control.read(lambda connection: connection.execute(query).scalars().all())
        return [msgspec.json.decode(text, type=Report) for text in texts]

    async def open(
        self, agent: str | None, kind: Kind | None, limit: int, after: tuple[str, int] | None
    ) -> list[tuple[tuple[str, int], Finding]]:
        """Findings that wait for a decision, with their places, by agent and weight; `after` such a place."""
        query = sa.select(findings).where(findings.c.state == State.OPEN.value)
        if agent is not None:
            query = query.where(findings.c.agent == agent)
        if kind is not None:
            query = query.where(findings.c.kind == kind.value)
        if after is not None:
            later = (findings.c.agent == after[0]) & (findings.c.place > after[1])
            query = query.where((findings.c.agent > after[0]) | later)
        query = query.order_by(findings.c.agent, findings.c.place).limit(limit)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return [((row.agent, row.place), _finding(row)) for row in rows]

    async def count(self, agent: str | None) -> int:
        """How many findings of an agent, or of all, wait for a decision."""
        query = sa.select(sa.func.count()).where(findings.c.state == State.OPEN.value)
        if agent is not None:
            query = query.where(findings.c.agent == agent)
        return int(await self._control.read(lambda connection: connection.execute(query).scalar_one()))

    async def let_go(self, ids: Collection[str]) -> None:
        """Note that nobody can decide on these findings any more."""
        those = findings.c.id.in_(ids) & (findings.c.state == State.OPEN.value)
        change = sa.update(findings).where(those).values(state=State.OVERTAKEN.value)
        await self._control.run(lambda connection: connection.execute(change))

    async def get(self, finding_id: str, agent: str | None) -> Finding:
        """One finding of an agent (None: of anybody).  Raises NotFound, also for another agent's."""
        query = sa.select(findings).where(findings.c.id == finding_id)
        row = await self._control.read(lambda connection: connection.execute(query).first())
        if row is None or agent not in (None, row.agent):
            raise NotFound("There is no finding with this id.")
        return _finding(row)

    async def decide(self, finding: Finding, state: State, by: str) -> None:
        """Note what a finding was decided as.  Raises Conflict when another decision came first."""
        change = (
            sa.update(findings)
            .where(findings.c.id == finding.id, findings.c.state == State.OPEN.value)
            .values(state=state.value, decided_at=self._now_ms(), decided_by=by[:128])
        )
        changed = await self._control.run(lambda connection: connection.execute(change).rowcount)
        if changed == 0:
            raise Conflict("This was decided before.")

    async def keep_apart(self, agent: str, ids: Collection[str], by: str) -> None:
        """Remember that these memories are no duplicates of each other."""
        at = self._now_ms()

        def put(connection: sa.Connection) -> None:
            for one, other in combinations(sorted(ids), 2):
                same = (apart.c.one_id == one) & (apart.c.other_id == other)
                connection.execute(sa.delete(apart).where(same))
                values = {"one_id": one, "other_id": other, "agent": agent, "at": at, "by": by[:128]}
                connection.execute(sa.insert(apart).values(**values))

        await self._control.run(put)

    async def apart(self, agent: str) -> set[tuple[str, str]]:
        """The pairs (smaller id first) of an agent's memories that were said to be no duplicates."""
        query = sa.select(apart.c.one_id, apart.c.other_id).where(apart.c.agent == agent)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return {(row.one_id, row.other_id) for row in rows}

    async def drop(self, ids: Iterable[str]) -> None:
        """Forget what was said of memories that are gone for good."""
        gone = list(ids)

        def remove(connection: sa.Connection) -> None:
            for start in range(0, len(gone), _AT_ONCE):
                some = gone[start : start + _AT_ONCE]
                connection.execute(
                    sa.delete(apart).where(apart.c.one_id.in_(some) | apart.c.other_id.in_(some))
                )

        await self._control.run(remove)


def _values(finding: Finding, place: int) -> dict[str, object]:
    return {
        "id": finding.id,
        "agent": finding.agent,
        "place": place,
        "kind": finding.kind.value,
        "members": msgspec.json.encode(finding.members).decode(),
        "state": finding.state.value,
    }


def _finding(row: sa.Row[tuple[object, ...]]) -> Finding:
    return Finding(
        id=row.id,
        agent=row.agent,
        kind=Kind(row.kind),
        members=msgspec.json.decode(row.members, type=tuple[Member, ...]),
        state=State(row.state),
        decided_at=row.decided_at,
        decided_by=row.decided_by,
    )
