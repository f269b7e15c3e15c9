"""Tokens: who may call, in which role, for which agents.  Only their SHA-256 is ever stored."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from noesis.control import Control, metadata
from noesis.errors import InvalidInput, NotFound, StoreError, Unauthorized
from noesis.memory import Role
from noesis.text.normalise import agent_name

logger = logging.getLogger(__name__)

ANY_AGENT = "*"

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("secret_hash", sa.String(64), nullable=False),
    sa.Column("name", sa.String(128), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("agents", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_used_at", sa.BigInteger),
    sa.Column("revoked_at", sa.BigInteger),
)

_KNOWN_FOR_S = 1.0
"""How long a token is believed without asking the database: a revoked one is refused within this."""

_USE_NOTED_EVERY_MS = 60_000
_MAX_TOKEN_CHARS = 256
_MAX_KNOWN = 1024
_MAX_NAME = 128


class Token(msgspec.Struct, frozen=True):
    """A token without its secret.  `agents` holds names, or `*` alone for any."""

    id: str
    name: str
    role: Role
    agents: tuple[str, ...]
    created_at: int
    last_used_at: int | None = None

    def admits(self, agent: str) -> bool:
        """Whether the token may act as this agent."""
        return self.role is Role.ADMIN or ANY_AGENT in self.agents or agent in self.agents


class Tokens:
    """Makes, checks and revokes tokens."""

    def __init__(self, control: Control, now_ms: Callable[[], int]) -> None:
        self._control = control
        self._now_ms = now_ms
        self._known: dict[str, tuple[float, bytes, Token]] = {}

    async def create(self, role: Role, agents: Sequence[str], name: str) -> tuple[Token, str]:
        """Make a token; the second value is the secret, which is never to be had again.

        Raises InvalidInput when the agents do not fit the role.
        """
        token = Token(
            secrets.token_hex(6), _check_label(name), role, _check_agents(role, agents), self._now_ms()
        )
        secret = f"nse_{token.id}_{secrets.token_urlsafe(32)}"
        row = {
            "id": token.id,
            "secret_hash": _digest(secret),
            "name": token.name,
            "role": token.role.value,
            "agents": msgspec.json.encode(token.agents).decode(),
            "created_at": token.created_at,
        }
        await self._control.run(lambda connection: connection.execute(sa.insert(tokens).values(**row)))
        return token, secret

    def for_this_process(self) -> str:
        """An administrator's secret that only this process knows and that ends with it."""
        token = Token(secrets.token_hex(6), "this process", Role.ADMIN, (ANY_AGENT,), self._now_ms())
        secret = f"nse_{token.id}_{secrets.token_urlsafe(32)}"
        self._known[token.id] = (float("inf"), _digest(secret).encode(), token)
        return secret

    async def authenticate(self, raw: str) -> Token:
        """The token that this secret belongs to.  Raises Unauthorized."""
        parts = raw.split("_", 2)
        if len(raw) > _MAX_TOKEN_CHARS or len(parts) != 3 or parts[0] != "nse" or not raw.isascii():
            raise Unauthorized("The token is not one of this server's.")
        digest = _digest(raw).encode()
        known = self._known.get(parts[1])
        if known is None or time.monotonic() - known[0] > _KNOWN_FOR_S:
            known = await self._look_up(parts[1])
        if not hmac.compare_digest(known[1], digest):
            raise Unauthorized("The token is not one of this server's.")
        return known[2]

    async def list(self) -> list[Token]:
        """All tokens that are not revoked, newest first."""
        query = sa.select(tokens).where(tokens.c.revoked_at.is_(None)).order_by(tokens.c.created_at.desc())
        rows = await self._control.read(lambda connection: connection.execute(query).mappings().all())
        return [_token(row) for row in rows]

    async def revoke(self, token_id: str) -> None:
        """Make a token worthless for good.  Raises NotFound."""
        change = (
            sa.update(tokens)
            .where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
            .values(revoked_at=self._now_ms())
        )
        result = await self._control.run(lambda connection: connection.execute(change).rowcount)
        self._known.pop(token_id, None)
        if result == 0:
            raise NotFound("There is no token with this id.")

    async def _look_up(self, token_id: str) -> tuple[float, bytes, Token]:
        query = sa.select(tokens).where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        row = await self._control.read(lambda connection: connection.execute(query).mappings().first())
        if row is None:
            self._known.pop(token_id, None)
            raise Unauthorized("The token is not one of this server's.")
        known = (time.monotonic(), row["secret_hash"].encode(), _token(row))
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[token_id] = known
        await self._note_use(known[2])
        return known

    async def _note_use(self, token: Token) -> None:
        now = self._now_ms()
        if token.last_used_at is not None and now - token.last_used_at < _USE_NOTED_EVERY_MS:
            return
        change = sa.update(tokens).where(tokens.c.id == token.id).values(last_used_at=now)
        try:
            await self._control.run(lambda connection: connection.execute(change))
        except StoreError as error:
            # Reading goes on when the disk is full, and nobody can read without a token.
            logger.warning("the use of a token could not be noted: %s", error.code)


def _token(row: sa.RowMapping) -> Token:
    agents: Any = msgspec.json.decode(row["agents"], type=tuple[str, ...])
    return Token(row["id"], row["name"], Role(row["role"]), agents, row["created_at"], row["last_used_at"])


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _check_label(name: str) -> str:
    label = name.strip()
    if not label or len(label) > _MAX_NAME:
        raise InvalidInput(f"name must have 1 to {_MAX_NAME} characters.", field="name")
    return label


def _check_agents(role: Role, agents: Sequence[str]) -> tuple[str, ...]:
    if role is Role.ADMIN:
        return (ANY_AGENT,)
    names = tuple(dict.fromkeys(name if name == ANY_AGENT else agent_name(name) for name in agents))
    if role is Role.AGENT and (len(names) != 1 or names[0] == ANY_AGENT):
        raise InvalidInput("An agent token is for exactly one agent.", field="agents")
    if role is Role.GATEWAY and not names:
        raise InvalidInput("Name the agents of a gateway token, or * for any.", field="agents")
    return (ANY_AGENT,) if ANY_AGENT in names else names
