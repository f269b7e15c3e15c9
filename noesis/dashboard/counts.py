"""How many things wait behind entries of the top bar, for whoever is logged in."""

from __future__ import annotations

from noesis.dashboard.rendering import COUNTS, PageRequest
from noesis.runtime import Noesis


async def count_waiting(request: PageRequest) -> None:
    """Before a page is made: what waits for a word, and failed jobs that nobody has looked at."""
    scope = request.scope.get("auth")
    if scope is None:
        return
    noesis: Noesis = request.app.state.noesis
    captured = await noesis.inflow.inbox.count(scope)
    duplicates = await noesis.duplicates.count(scope)
    request.scope[COUNTS] = {  # type: ignore[literal-required]
        "inbox": captured + duplicates,
        "captured": captured,
        "duplicates": duplicates,
        "activity": await noesis.jobs.ledger.unseen_failures(),
    }
