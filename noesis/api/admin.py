"""Routes for administrators: tokens, agents, the audit log."""

from __future__ import annotations

from datetime import datetime

import msgspec
from litestar import delete, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody
from msgspec import UNSET, UnsetType

from noesis.agents import Policy, Redaction
from noesis.api.access import ADMIN, Wired
from noesis.api.memories import ApiRequest
from noesis.errors import InvalidInput
from noesis.lifetimes import check_lives
from noesis.memory import Role, to_datetime
from noesis.text.normalise import agent_name
from noesis.tokens import Token

MOST = 1_000_000_000
"""A larger limit of an agent is taken for a mistake."""


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A token to make: `agents` holds one name for the role agent, names or `*` for a gateway."""

    role: Role
    name: str
    agents: tuple[str, ...] = ()


class TokenView(msgspec.Struct, frozen=True, kw_only=True):
    """A token without its secret."""

    id: str
    name: str
    role: Role
    agents: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime | None


class TokenCreated(TokenView, frozen=True, kw_only=True):
    """A new token with its secret, which is shown this once."""

    token: str


class TokensView(msgspec.Struct, frozen=True):
    """All tokens that are not revoked."""

    tokens: list[TokenView]


class PolicyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change: whether an agent may read others' memories, what happens to secrets in its own,
    how long they live, how many there may be, and how many it may write a minute.

    A value of null goes back to the setting's, and a limit of 0 is none; `ttl_days` maps memory types, or
    `default` for all others, to days.
    """

    may_read_across: bool | UnsetType = UNSET
    redaction: Redaction | UnsetType | None = UNSET
    ttl_days: dict[str, float] | UnsetType | None = UNSET
    max_memories: int | UnsetType | None = UNSET
    writes_per_minute: int | UnsetType | None = UNSET


class AgentsView(msgspec.Struct, frozen=True):
    """Agents with memories or a policy."""

    agents: list[AgentView]


class AgentView(msgspec.Struct, frozen=True):
    """An agent: how many memories it has, its policy, and how many were refused because its quota was used up."""

    agent: str
    memories: int
    archived: int
    may_read_across: bool
    redaction: Redaction | None
    ttl_days: dict[str, float]
    max_memories: int | None
    writes_per_minute: int | None
    refused: int


class AuditView(msgspec.Struct, frozen=True):
    """The newest lines of the audit log."""

    entries: list[AuditLine]


class AuditLine(msgspec.Struct, frozen=True):
    """Who did what to what."""

    at: datetime
    actor: str
    action: str
    target: str
    outcome: str


def _values(token: Token) -> dict[str, object]:
    used = None if token.last_used_at is None else to_datetime(token.last_used_at)
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "agents": token.agents,
        "created_at": to_datetime(token.created_at),
        "last_used_at": used,
    }


@get("/tokens", opt=ADMIN, tags=["admin"], summary="All tokens")
async def list_tokens(noesis: Wired) -> TokensView:
    """All tokens that are not revoked, without their secrets."""
    return TokensView([TokenView(**_values(token)) for token in await noesis.tokens.list()])  # type: ignore[arg-type]


@post("/tokens", opt=ADMIN, tags=["admin"], summary="Make a token")
async def create_token(request: ApiRequest, noesis: Wired, data: JSONBody[TokenRequest]) -> TokenCreated:
    """Make a token; its secret is in this answer and nowhere else."""
    token, secret = await noesis.tokens.create(data.role, data.agents, data.name)
    await noesis.audit.record(request.auth.actor, "token created", token.id)
    return TokenCreated(**_values(token), token=secret)  # type: ignore[arg-type]


@delete("/tokens/{token_id:str}", opt=ADMIN, tags=["admin"], summary="Revoke a token")
async def revoke_token(request: ApiRequest, noesis: Wired, token_id: FromPath[str]) -> None:
    """Make a token worthless for good."""
    await noesis.tokens.revoke(token_id)
    await noesis.audit.record(request.auth.actor, "token revoked", token_id)


@get("/agents", opt=ADMIN, tags=["admin"], summary="All agents")
async def list_agents(request: ApiRequest, noesis: Wired) -> AgentsView:
    """Agents with memories or a policy."""
    everything = msgspec.structs.replace(request.auth, agent=None)
    stats = await noesis.statistics.stats(everything)
    policies = await noesis.agents.policies()
    refused = await noesis.quotas.refused()
    names = sorted({*stats.active.by_agent, *stats.archive.by_agent, *policies, *refused})
    return AgentsView(
        [
            AgentView(
                name,
                stats.active.by_agent.get(name, 0),
                stats.archive.by_agent.get(name, 0),
                policy.may_read_across,
                policy.redaction,
                policy.ttl_days,
                policy.max_memories,
                policy.writes_per_minute,
                refused[name].count if name in refused else 0,
            )
            for name in names
            for policy in [policies.get(name, Policy(name))]
        ]
    )


@patch("/agents/{agent_id:str}", opt=ADMIN, tags=["admin"], summary="Set an agent's policy")
async def set_policy(
    request: ApiRequest, noesis: Wired, agent_id: FromPath[str], data: JSONBody[PolicyRequest]
) -> Policy:
    """Allow or forbid an agent to search other agents' memories; say what happens to secrets in its texts,
    and how long its memories live that name no TTL."""
    values = {name: value for name, value in msgspec.structs.asdict(data).items() if value is not UNSET}
    if not values:
        raise InvalidInput(f"Name at least one of {', '.join(PolicyRequest.__struct_fields__)}.")
    for limit in ("max_memories", "writes_per_minute"):
        check_limit(values.get(limit), limit)
    if "ttl_days" in values:
        values["ttl_days"] = check_lives(data.ttl_days or {})
    policy = msgspec.structs.replace(await noesis.agents.policy(agent_name(agent_id)), **values)
    await noesis.agents.set_policy(policy)
    await noesis.audit.record(request.auth.actor, "policy set", policy.agent)
    return policy


@get("/audit", opt=ADMIN, tags=["admin"], summary="The audit log")
async def list_audit(noesis: Wired, limit: FromQuery[int] = 100) -> AuditView:
    """The newest lines, newest first."""
    entries = await noesis.audit.newest(min(max(limit, 1), 1000))
    return AuditView([AuditLine(to_datetime(e.at), e.actor, e.action, e.target, e.outcome) for e in entries])


def check_limit(value: int | None, field: str) -> None:
    """Raise InvalidInput when a limit is negative or absurd."""
    if value is not None and not 0 <= value <= MOST:
        raise InvalidInput(f"{field} must be a whole number from 0 (no limit) to {MOST:,}.", field=field)


HANDLERS = [list_tokens, create_token, revoke_token, list_agents, set_policy, list_audit]
