"""Agents and tokens as the templates show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from noesis.agents import Policy
from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.translation import _, gettext_noop, listed, number
from noesis.dashboard.words import role_words
from noesis.stats import Stats
from noesis.tokens import ANY_AGENT, Token

ROLES = {
    "agent": gettext_noop("agent: one agent's own memories"),
    "gateway": gettext_noop("gateway: every agent it is made for, as OpenClaw's gateway needs it"),
    "admin": gettext_noop("admin: everything"),
}
"""The roles of tokens, and what each may touch."""


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One agent: its counts, when a token of it was last used, and what is special about it."""

    name: str
    memories: str
    archived: str
    seen: Moment | None
    special: tuple[str, ...]
    refused: int


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """One token without its secret."""

    id: str
    name: str
    role: str
    role_words: str
    agents: str
    made: Moment
    used: Moment | None


def agent_rows(
    stats: Stats, policies: dict[str, Policy], tokens: Sequence[Token], refused: dict[str, int], now_ms: int
) -> list[AgentRow]:
    """Everybody who has memories, a policy or a token of their own."""
    named = {name for token in tokens for name in token.agents if name != ANY_AGENT}
    names = sorted({*stats.active.by_agent, *stats.archive.by_agent, *policies, *named})
    return [
        AgentRow(
            name=name,
            memories=number(stats.active.by_agent.get(name, 0)),
            archived=number(stats.archive.by_agent.get(name, 0)),
            seen=_last_use(name, tokens, now_ms),
            special=tuple(_special(policies.get(name, Policy(name)))),
            refused=refused.get(name, 0),
        )
        for name in names
    ]


def token_rows(tokens: Iterable[Token], now_ms: int, agent: str | None = None) -> list[TokenRow]:
    """The tokens, or those that are made for one agent."""
    return [
        TokenRow(
            id=token.id,
            name=token.name,
            role=token.role.value,
            role_words=role_words(token.role.value),
            agents=_("any agent") if ANY_AGENT in token.agents else listed(token.agents),
            made=moment(token.created_at, now_ms),
            used=None if token.last_used_at is None else moment(token.last_used_at, now_ms),
        )
        for token in tokens
        if agent is None or agent in token.agents
    ]


def _last_use(name: str, tokens: Iterable[Token], now_ms: int) -> Moment | None:
    """When a token of this agent alone was last used; what a gateway does is not told apart by agent."""
    used = [token.last_used_at for token in tokens if token.agents == (name,) and token.last_used_at]
    return moment(max(used), now_ms) if used else None


def _special(policy: Policy) -> Iterable[str]:
    if policy.may_read_across:
        yield _("may search all agents")
    if policy.redaction:
        yield {
            "redact": _("secrets redacted"),
            "block": _("secrets blocked"),
            "off": _("secrets kept"),
        }[policy.redaction]
    if policy.ttl_days:
        yield _("own lifetimes")
    if policy.max_memories:
        yield _("at most %(count)s memories", count=number(policy.max_memories))
    if policy.writes_per_minute:
        yield _("at most %(count)s writes a minute", count=number(policy.writes_per_minute))
