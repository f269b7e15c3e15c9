"""Redaction by each agent's policy, and the count of what was taken out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import sqlalchemy as sa

from noesis.agents import Agents
from noesis.control import Control, metadata
from noesis.text.normalise import clean_text
from noesis.text.redaction import Policy, redact

redactions = sa.Table(
    "redactions",
    metadata,
    sa.Column("agent", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(64), primary_key=True),
    sa.Column("count", sa.BigInteger, nullable=False),
)


class Redactor:
    """Cleans the texts of one piece of work by one policy, and counts the secrets it takes out."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.counts: Counter[str] = Counter()

    def clean(self, raw: str) -> str:
        """The text as it may be stored.  Raises InvalidInput as the policy says."""
        found = redact(clean_text(raw), self._policy)
        self.counts.update(found.counts)
        return found.text


class Redacting:
    """Knows the agents' policies and keeps the counts."""

    def __init__(self, control: Control, agents: Agents, default: Policy) -> None:
        self._control = control
        self._agents = agents
        self._default = default

    async def redactor(self, agent: str) -> Redactor:
        """A new redactor with the agent's policy, or the setting's where it has none."""
        return Redactor((await self._agents.policy(agent)).redaction or self._default)

    async def record(self, agent: str, counts: Mapping[str, int]) -> None:
        """Add to what was taken out of an agent's texts."""
        if not counts:
            return

        def add(connection: sa.Connection) -> None:
            for kind, count in counts.items():
                same = (redactions.c.agent == agent) & (redactions.c.kind == kind)
                more = sa.update(redactions).where(same).values(count=redactions.c.count + count)
                if connection.execute(more).rowcount == 0:
                    connection.execute(sa.insert(redactions).values(agent=agent, kind=kind, count=count))

        await self._control.run(add)

    async def totals(self, agent: str | None) -> dict[str, int]:
        """How many secrets of each kind were taken out, of one agent's texts or all of them."""
        query = sa.select(redactions.c.kind, sa.func.sum(redactions.c.count)).group_by(redactions.c.kind)
        if agent is not None:
            query = query.where(redactions.c.agent == agent)
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return {kind: int(count) for kind, count in rows}
