"""Work in batches without a timer: what arrives while one batch is worked on makes the next one."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


class Collector(Generic[In, Out]):
    """Passes items to `work` in batches of at most `most`, one batch at a time, in order.

    `work` gives one outcome for each item; an outcome that is an exception is raised to the item's
    own submitter.  An idle collector starts at once, so a lone item waits for nobody.
    """

    def __init__(
        self, work: Callable[[list[In]], Awaitable[Sequence[Out | BaseException]]], *, most: int
    ) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[In, asyncio.Future[Out]]] = deque()
        self._loop: asyncio.Task[None] | None = None

    async def submit(self, item: In) -> Out:
        """The outcome of one item.  A submitter that is cancelled does not take its item back."""
        answer: asyncio.Future[Out] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._drain())
        return await answer

    async def close(self) -> None:
        """Return when everything submitted so far is done."""
        if self._loop is not None:
            await self._loop

    async def _drain(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most))]
            try:
                outcomes = await self._work([item for item, _ in batch])
            except BaseException as error:
                _answer([(answer, error) for _, answer in batch])
                if not isinstance(error, Exception):
                    raise
            else:
                _answer([(answer, outcome) for (_, answer), outcome in zip(batch, outcomes, strict=True)])


class Lanes(Generic[In, Out]):
    """A collector for each key, side by side: items of one key wait for each other and for nobody else."""

    def __init__(
        self,
        work: Callable[[list[In]], Awaitable[Sequence[Out | BaseException]]],
        *,
        most: int,
        lane: Callable[[In], str],
    ) -> None:
        self._work = work
        self._most = most
        self._key = lane
        self._lanes: dict[str, Collector[In, Out]] = {}
        self._under_way: Counter[str] = Counter()

    async def submit(self, item: In) -> Out:
        """The outcome of one item, as `Collector.submit` gives it."""
        key = self._key(item)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Collector(self._work, most=self._most)
        self._under_way[key] += 1
        try:
            return await lane.submit(item)
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key], self._lanes[key]


def _answer(answers: Sequence[tuple[asyncio.Future[Out], Out | BaseException]]) -> None:
    for answer, outcome in answers:
        if answer.done():
            continue
        if isinstance(outcome, BaseException):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)
