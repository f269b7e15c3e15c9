"""The guard of routes that write memories: each agent only so fast."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from noesis.errors import NoesisError, TooManyRequests
from noesis.memory import Indexed, NewMemory, Scope
from noesis.runtime import Noesis

REFUSED_AFTER_S = 0.5
"""A write too many is answered so late: who tries again at once, and again, leaves the others their turn."""


async def counts_as_write(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """Count the request as one write of its agent, before its body is read.  Raises TooManyRequests.

    An administrator who names no agent is not counted.
    """
    noesis: Noesis = connection.app.state.noesis
    scope: Scope = connection.auth
    if scope.agent is not None and (refusal := await _refusal(noesis, scope.agent)) is not None:
        await asyncio.sleep(REFUSED_AFTER_S)
        raise refusal


async def index_in_time(
    noesis: Noesis, scope: Scope, news: Sequence[NewMemory]
) -> list[Indexed | NoesisError]:
    """Store some memories of a bulk request, each counted as one write; those that are too many fail alone."""
    refusals = [await _refusal(noesis, scope.owner()) for _ in news]
    admitted = [new for new, refusal in zip(news, refusals, strict=True) if refusal is None]
    stored = iter(await noesis.indexing.index_many(scope, admitted))
    if len(admitted) < len(news):
        await asyncio.sleep(REFUSED_AFTER_S)
    return [next(stored) if refusal is None else refusal for refusal in refusals]


async def _refusal(noesis: Noesis, agent: str) -> TooManyRequests | None:
    try:
        await noesis.write_rates.take(agent)
    except TooManyRequests as error:
        return error
    return None
