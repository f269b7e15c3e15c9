"""Lifetimes: how long a memory lives that names no TTL of its own."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from noesis.agents import Agents
from noesis.errors import InvalidInput
from noesis.memory import MemoryType, check_ttl
from noesis.settings import Settings

DEFAULT = "default"
"""In an agent's policy, the life of the types that it does not name."""


class Lives(msgspec.Struct, frozen=True):
    """One agent's lives in days by memory type; 0 means that such a memory never expires."""

    by_type: Mapping[str, float]

    def days(self, memory_type: str) -> float:
        """The life of a memory of this type."""
        return self.by_type[memory_type]


class Lifetimes:
    """Knows the lives by the settings and by each agent's policy; what is said most closely counts."""

    def __init__(self, agents: Agents, settings: Settings) -> None:
        self._agents = agents
        self._settings = settings

    async def of(self, agent: str) -> Lives:
        """The lives of an agent's memories: its policy's by type, its own default, the settings' likewise."""
        own = (await self._agents.policy(agent)).ttl_days
        general = self._settings.ttl_days_by_type
        default = self._settings.default_ttl_days
        by_type = {
            kind.value: own.get(kind.value, own.get(DEFAULT, general.get(kind.value, default)))
            for kind in MemoryType
        }
        return Lives(by_type)

    async def days(self, agent: str, memory_type: str) -> float:
        """The life (days, 0 = never expires) of an agent's memory of this type."""
        return (await self.of(agent)).days(memory_type)


def check_lives(lives: Mapping[str, float]) -> dict[str, float]:
    """The lives of a policy, or InvalidInput when one names no memory type or is no life."""
    known = {DEFAULT, *MemoryType}
    for name, days in lives.items():
        if name not in known:
            raise InvalidInput(
                f"ttl_days must name memory types ({', '.join(MemoryType)}) or {DEFAULT}.", field="ttl_days"
            )
        check_ttl(days)
    return dict(lives)
