"""Who may call a route: closed unless it says otherwise, checked before any body is read."""

from __future__ import annotations

import enum
from typing import Any

from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler

from noesis.errors import Forbidden, NoesisError, Unauthorized
from noesis.memory import Role, Scope
from noesis.runtime import Noesis
from noesis.text.normalise import agent_name
from noesis.tokens import Token

Wired = NamedDependency[Noesis]
"""The runtime as a handler receives it."""

AGENT_HEADER = "x-noesis-agent"
SESSION_COOKIE = "noesis_session"


class Access(enum.StrEnum):
    """What a route asks for; a route that says nothing asks for a token."""

    PUBLIC = "public"
    TOKEN = "token"  # noqa: S105
    PAGE = "page"
    EITHER = "either"


class LoginNeeded(NoesisError):
    """A page was asked for without a session."""

    status_code = 401
    code = "login_needed"
    title = "Log in first"


def opens(access: Access, role: Role = Role.AGENT) -> dict[str, Any]:
    """The `opt` of a route with this access and the least role of a token."""
    return {"access": access, "role": role}


PUBLIC = opens(Access.PUBLIC)
PAGE = opens(Access.PAGE)
GATEWAY = opens(Access.TOKEN, Role.GATEWAY)
ADMIN = opens(Access.TOKEN, Role.ADMIN)


async def authorise(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of every route.  Raises Unauthorized, Forbidden or LoginNeeded."""
    access = handler.opt.get("access", Access.TOKEN)
    if access is Access.PUBLIC:
        return
    noesis: Noesis = connection.app.state.noesis
    if access is Access.PAGE or (access is Access.EITHER and "authorization" not in connection.headers):
        if not await has_session(connection, noesis):
            raise LoginNeeded("Log in to see this page.")
        connection.scope["auth"] = Scope(agent=None, role=Role.ADMIN, actor="administrator")
        connection.scope["noesis_concerns"] = await noesis.health.concerns()  # type: ignore[typeddict-unknown-key]
        return
    token = await _token(connection, noesis)
    scope = await _scope(connection, noesis, token)
    try:
        scope.require(handler.opt.get("role", Role.AGENT))
    except Forbidden:
        await noesis.audit.record(scope.actor, "refused", f"{connection.scope['path']}", outcome="refused")
        raise
    connection.scope["auth"] = scope


async def has_session(connection: ASGIConnection[Any, Any, Any, Any], noesis: Noesis) -> bool:
    """Whether the browser is logged in."""
    cookie = connection.cookies.get(SESSION_COOKIE)
    return cookie is not None and await noesis.admin.session_is_valid(cookie)


async def _token(connection: ASGIConnection[Any, Any, Any, Any], noesis: Noesis) -> Token:
    values = [value for name, value in connection.scope["headers"] if name == b"authorization"]
    if len(values) != 1:
        raise Unauthorized("Send one Authorization header: Bearer and a token.")
    kind, _, raw = values[0].decode("latin-1").partition(" ")
    if kind.lower() != "bearer" or not raw:
        raise Unauthorized("Send one Authorization header: Bearer and a token.")
    return await noesis.tokens.authenticate(raw.strip())


async def _scope(connection: ASGIConnection[Any, Any, Any, Any], noesis: Noesis, token: Token) -> Scope:
    """The token's rights as the agent that the request names; an agent token need not name one."""
    named = connection.headers.get(AGENT_HEADER)
    agent = None if named is None else agent_name(named)
    if agent is None and token.role is Role.AGENT:
        agent = token.agents[0]
    if agent is not None and not token.admits(agent):
        raise Forbidden("This token may not act as that agent.")
    across = agent is not None and (await noesis.agents.policy(agent)).may_read_across
    return Scope(agent=agent, role=token.role, may_read_across=across, actor=f"token {token.id}")
