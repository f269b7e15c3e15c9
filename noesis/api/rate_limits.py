"""The guard of routes that write memories: each agent only so fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from noesis.errors import NoesisError, TooManyRequests
from noesis.memory import Indexed, NewMemory, Scope
from noesis.runtime import Noesis


async def counts_as_write(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Count the request as one write of its agent, before its body is read.  Raises TooManyRequests.

    An administrator who names no agent is not counted.
    """
    noesis: Noesis = connection.app.state.noesis
    scope: Scope = connection.auth
    if scope.agent is not None:
        await noesis.write_rates.take(scope.agent)


async def index_in_time(
    noesis: Noesis, scope: Scope, news: Sequence[NewMemory]
) -> list[Indexed | NoesisError]:
    """Store some memories of a bulk request, each counted as one write; those that are too many fail alone."""
    refusals = [await _refusal(noesis, scope.owner()) for _ in news]
    admitted = [new for new, refusal in zip(news, refusals, strict=True) if refusal is None]
    stored = iter(await noesis.indexing.index_many(scope, admitted))
    return [next(stored) if refusal is None else refusal for refusal in refusals]


async def _refusal(noesis: Noesis, agent: str) -> TooManyRequests | None:
    try:
        await noesis.write_rates.take(agent)
    except TooManyRequests as error:
        return error
    return None
