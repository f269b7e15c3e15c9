"""Assemble: the memories that go into a prompt, chosen by use, laid out so that hosts' caches hold."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections import Counter
from collections.abc import Sequence

import sqlalchemy as sa

from noesis.context.block import block_of
from noesis.context.choosing import Candidate, candidates, chosen, laid_out
from noesis.context.fitness import Fitness
from noesis.context.recalling import Recall, Recalling
from noesis.context.sessions import Shown
from noesis.context.standing import Standing
from noesis.context.values import (
    LARGEST_BUDGET,
    LONGEST_DEADLINE_MS,
    SHORTEST_DEADLINE_MS,
    Assembled,
    Included,
    Occasion,
)
from noesis.control import Control, read_value, write_value
from noesis.errors import InvalidInput
from noesis.memory import Memory, Scope, check_name
from noesis.settings import Settings
from noesis.text.prompt_tokens import count_tokens

_KEY = "context_key"
_FOR_RECALL = 0.9
"""The part of the deadline within which the store must have answered."""

_ABSURD_MS = 86_400_000
"""A longer wait than a day is a mistake, not a wish."""

LATE = "The store did not answer in time."


class Assembling:
    """Puts blocks together."""

    def __init__(
        self,
        control: Control,
        standing: Standing,
        recalling: Recalling,
        fitness: Fitness,
        settings: Settings,
    ) -> None:
        self._control = control
        self._standing = standing
        self._recalling = recalling
        self._fitness = fitness
        self._settings = settings
        self._shown = Shown()
        self._key: bytes | None = None

    async def assemble(self, scope: Scope, occasion: Occasion) -> Assembled:
        """The block for a prompt, within its tokens and its time.

        When the embedder or the store is late the block holds what there is by then and says so.
        Raises InvalidInput or a StoreError.
        """
        started = time.perf_counter()
        agent = scope.owner()
        session = check_name(occasion.session_id, "session_id")
        if not 0 <= occasion.token_budget <= LARGEST_BUDGET:
            raise InvalidInput(
                f"token_budget must be a whole number from 0 to {LARGEST_BUDGET:,}.", field="token_budget"
            )
        if occasion.deadline_ms is not None and not 0 <= occasion.deadline_ms <= _ABSURD_MS:
            raise InvalidInput("deadline_ms must be a whole number of milliseconds.", field="deadline_ms")
        left_out: Counter[str] = Counter()
        standing, recall = await self._found(scope, occasion, left_out)
        before = self._shown.before(agent, session)
        wanted = candidates(standing, recall.hits)
        block_id = await self._block_id(agent, session, [each.memory.id for each in wanted])
        picked = chosen(wanted, occasion.token_budget, block_id, left_out)
        order = laid_out(picked, before)
        self._shown.note(agent, session, [each.memory.id for each in order])
        text = block_of([each.entry for each in order], block_id)
        return Assembled(
            text=text,
            token_count=count_tokens(text),
            included=tuple(_included(each) for each in order),
            left_out=dict(left_out),
            took_ms=(time.perf_counter() - started) * 1000,
            degraded=recall.reason is not None,
            reason=recall.reason,
        )

    async def _found(
        self, scope: Scope, occasion: Occasion, left_out: Counter[str]
    ) -> tuple[Sequence[Memory], Recall]:
        """Both legs side by side, each as far as it comes in time."""
        seconds = self._deadline_ms(occasion) / 1000 * _FOR_RECALL
        standing = asyncio.create_task(self._standing.find(scope, left_out))
        recall = asyncio.create_task(self._recalled(scope, occasion.prompt, seconds, left_out))
        tasks: set[asyncio.Task[object]] = {standing, recall}
        try:
            await asyncio.wait(tasks, timeout=seconds)
            late = not (standing.done() and recall.done())
            memories = standing.result() if standing.done() else []
            found = recall.result() if recall.done() else Recall()
        finally:
            for task in tasks:
                task.cancel()
        return memories, Recall(found.hits, LATE) if late else found

    async def _recalled(self, scope: Scope, prompt: str, seconds: float, left_out: Counter[str]) -> Recall:
        found = await self._recalling.find(scope, prompt, seconds)
        fit = {memory.id for memory in await self._fitness.fit([hit.memory for hit in found.hits], left_out)}
        return Recall(tuple(hit for hit in found.hits if hit.memory.id in fit), found.reason)

    def _deadline_ms(self, occasion: Occasion) -> int:
        wanted = occasion.deadline_ms or self._settings.assemble_deadline_ms
        return min(max(wanted, SHORTEST_DEADLINE_MS), LONGEST_DEADLINE_MS)

    async def _block_id(self, agent: str, session: str | None, ids: Sequence[str]) -> str:
        """An id that stays the same for a session and that nobody who writes memories can know."""
        if self._key is None:
            self._key = bytes.fromhex(await self._control.run(_made_key))
        place = [agent, session] if session is not None else [agent, "", *sorted(ids)]
        digest = hmac.new(self._key, "\x1f".join(place).encode(), hashlib.sha256)
        return digest.hexdigest()[:20]


def _made_key(connection: sa.Connection) -> str:
    """The instance's secret for the ids of blocks, made when it is first needed."""
    key = read_value(connection, _KEY)
    if key is None:
        key = secrets.token_hex(32)
        write_value(connection, _KEY, key)
    return key


def _included(each: Candidate) -> Included:
    return Included(memory=each.memory, why=each.why, token_count=each.tokens, score=each.score)
