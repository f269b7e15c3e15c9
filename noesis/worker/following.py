"""Watches the followed places and has them read when something changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

import msgspec

from noesis.runtime import Noesis
from noesis.sources.roots import Root
from noesis.sources.watching import Hint, Watcher
from noesis.tasks import end_tasks
from noesis.worker.outcome import places

log = logging.getLogger(__name__)


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How often things are done, in seconds: quiet that makes one hint, handing hints over, the sign of life,
    looking for new places, and the rest after a fault.
    """

    debounce_s: float = 0.5
    hand_over_s: float = 0.5
    sign_s: float = 10.0
    places_s: float = 5.0
    rest_s: float = 5.0


DEFAULT = Pace()


async def follow_sources(noesis: Noesis, pace: Pace = DEFAULT) -> None:
    """Follow the places of the settings and those that a person added, until cancelled."""
    follower = _Follower(noesis, pace)
    if noesis.settings.auto_migrate:
        follower.want(await noesis.inflow.following.followed(also_unwatched=True))
    beside = [asyncio.create_task(follower.hand_over())]
    try:
        while True:
            try:
                await follower.follow()
            except Exception as error:  # noqa: BLE001 - an outermost loop; scans by the clock go on meanwhile
                log.error("watching goes on after %s at %s", type(error).__name__, places(error))
                await asyncio.sleep(pace.rest_s)
    finally:
        await end_tasks(beside)


class _Follower:
    """Turns hints into scans, one at a time for each place."""

    def __init__(self, noesis: Noesis, pace: Pace) -> None:
        self._noesis = noesis
        self._pace = pace
        self._wanted: dict[str, None] = {}
        self._said: str | None = None

    def want(self, roots: Iterable[Root]) -> None:
        """Have these places scanned."""
        self._wanted.update(dict.fromkeys(root.key for root in roots))

    async def follow(self) -> None:
        """Watch the places that there are now; returns when there are others."""
        roots = await self._noesis.inflow.following.followed()
        watcher = Watcher(
            sorted({watched(root) for root in roots}),
            poll=self._noesis.settings.watch_polling,
            debounce_ms=round(self._pace.debounce_s * 1000),
            on_error=self._say,
            now_ms=self._noesis.now_ms,
        )
        beside = [
            asyncio.create_task(self._collect(watcher, roots)),
            asyncio.create_task(self._give_signs(watcher)),
        ]
        try:
            while {root.key for root in roots} == await self._keys():
                await self._tell_of_fallback()
                await asyncio.wait(beside, timeout=self._pace.places_s, return_when=asyncio.FIRST_EXCEPTION)
                for task in beside:
                    if task.done():
                        task.result()
        finally:
            await end_tasks(beside)

    async def hand_over(self) -> None:
        """Queue a scan for each place that is wanted; one that is being scanned is wanted again afterwards."""
        while True:
            await asyncio.sleep(self._pace.hand_over_s)
            for key in list(self._wanted):
                # A scan that runs may have looked before the change came: it does not count for it.
                job = await self._noesis.jobs.enqueue("scan_source", key=f"scan:{key}", args={"root": key})
                if job.state != "running":
                    self._wanted.pop(key, None)

    async def _collect(self, watcher: Watcher, roots: Iterable[Root]) -> None:
        async with aclosing(watcher.hints()) as hints:
            async for hint in hints:
                self.want(root for root in roots if is_about(hint, root))
        # There was nothing to watch: the sign of life goes on, and new places are looked for.
        await asyncio.Event().wait()

    async def _give_signs(self, watcher: Watcher) -> None:
        while True:
            state = watcher.state
            await self._noesis.inflow.signs.write(state.mode.value, state.reason)
            await asyncio.sleep(self._pace.sign_s)

    async def _keys(self) -> set[str]:
        return {root.key for root in await self._noesis.inflow.following.followed()}

    def _say(self, reason: str) -> None:
        self._said = reason

    async def _tell_of_fallback(self) -> None:
        if self._said is not None:
            said, self._said = self._said, None
            summary = f"Files are looked at by polling from now on: {said}."
            await self._noesis.activity.record("watcher", summary, level="warning")


def watched(root: Root) -> Path:
    """The folder whose changes are a place's: that of the database, else the place itself."""
    return Path(root.path).parent if root.kind == "database" else Path(root.path)


def is_about(hint: Hint, root: Root) -> bool:
    """Whether a hint may be about files of this place."""
    if hint.root != watched(root):
        return False
    if hint.paths is None:
        return True
    if root.kind == "database":
        name = Path(root.path).name
        return any(path.startswith(name) for path in hint.paths)
    if root.names:
        return any(path in root.names for path in hint.paths)
    return True
