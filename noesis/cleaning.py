"""Cleanup: what has expired moves to the archive, and what has lain there long enough is purged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from noesis.audit import Audit
from noesis.browsing import agent_condition
from noesis.clock_guard import ClockGuard
from noesis.control import Control
from noesis.memory import EXPIRED
from noesis.purging import ACTOR, Due, Purging, but_not, is_suspicious
from noesis.settings import Settings
from noesis.store import Column, Row, Store, View
from noesis.store.filters import at_most, equals
from noesis.sweeping import PAGE, Stop, Sweep, Swept, Tell, never, untold

_LAST = "cleanup_last"

State = Literal["done", "needs confirmation", "stopped"]

Forget = Callable[[Sequence[str]], Awaitable[Any]]
"""Is told which memories are gone for good, so that nothing else keeps anything of them."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a cleanup would do now.

    Of `memories` in the active table `expired` go to the archive, and `purge` archived ones are purged;
    `held` and `held_purge` of them only when it is confirmed, for `reasons`.
    """

    memories: int
    expired: int
    by_agent: dict[str, int]
    by_type: dict[str, int]
    purge: int
    held: int = 0
    held_purge: int = 0
    needs_confirmation: bool = False
    reasons: tuple[str, ...] = ()


class Cleaned(msgspec.Struct, frozen=True, kw_only=True):
    """What a cleanup did.

    `renewed` expired no longer when their turn came, `failed` could not be written and are tried again by
    the next one, `held` and `held_purge` wait for somebody to confirm it, for `reasons`.
    """

    state: State
    archived: int = 0
    renewed: int = 0
    failed: int = 0
    purged: int = 0
    held: int = 0
    held_purge: int = 0
    reasons: tuple[str, ...] = ()


class LastCleanup(msgspec.Struct, frozen=True):
    """When the last cleanup ended (ms since 1970), and what it did."""

    at: int
    cleaned: Cleaned


class ExpireChange:
    """Moves one memory to the archive if it is still over at that time (ms)."""

    hashes: tuple[str, ...] = ()
    actor = ACTOR

    def __init__(self, memory_id: str, at_ms: int) -> None:
        self._id = memory_id
        self._at_ms = at_ms
        self.memory_ids = (memory_id,)

    def apply(self, view: View) -> bool:
        """Whether it was moved; one that was renewed, pinned or moved meanwhile is left alone."""
        rows = view.active(self._id)
        if not rows or rows[0].expires_at > self._at_ms:
            return False
        view.put_archived([self._over(row) for row in rows])
        return True

    def _over(self, row: Row) -> Row:
        values = {"archived_at": self._at_ms, "archive_reason": EXPIRED, "updated_at": self._at_ms}
        return msgspec.structs.replace(row, **values)


class _Found(msgspec.Struct, frozen=True):
    """What there is to do at a moment, and the agents whose memories are held back."""

    plan: Plan
    held_agents: tuple[str, ...]
    due: Due


class Cleaning:
    """Plans and runs cleanups; several at once do no harm, and one that was cut short is gone on with."""

    def __init__(
        self,
        store: Store,
        control: Control,
        clock: ClockGuard,
        purging: Purging,
        audit: Audit,
        settings: Settings,
        now_ms: Callable[[], int],
        forget: Sequence[Forget] = (),
    ) -> None:
        self._store = store
        self._control = control
        self._clock = clock
        self._purging = purging
        self._audit = audit
        self._most_share = settings.cleanup_max_share
        self._now_ms = now_ms
        self._forget = forget

    async def plan(self, agent: str | None) -> Plan:
        """What a cleanup of one agent's memories, or of all, would do now.  Raises a StoreError."""
        doubt = await self._clock.doubt()
        plan = (await self._look(agent, self._now_ms())).plan
        return plan if doubt is None else _doubted(plan, doubt)

    async def run(
        self,
        agent: str | None,
        *,
        confirm: bool = False,
        tell: Tell = untold,
        stop: Stop = never,
    ) -> Cleaned:
        """Archive what is over and purge what has lain in the archive for too long.

        When the clock cannot be believed it does nothing, and where it would take too large a share of an
        agent's memories it leaves that agent's alone, unless `confirm` says that it is meant.  Raises a
        StoreError when the store takes nothing; what was done until then stays done.
        """
        at_ms = self._now_ms()
        await self._store.mend()
        if confirm:
            await self._clock.believe()
        elif (doubt := await self._clock.look()) is not None:
            return await self._ended(_refused((await self._look(agent, at_ms)).plan, doubt))
        found = await self._look(agent, at_ms)
        if confirm:
            found = _Found(msgspec.structs.replace(found.plan, held=0, held_purge=0, reasons=()), (), Due())
        moved = await self._archive(agent, at_ms, found.held_agents, tell, stop)
        purged = await self._purge(agent, at_ms, found.due.held_agents, tell, stop)
        return await self._ended(_cleaned(found.plan, moved, purged))

    async def last(self) -> LastCleanup | None:
        """How the last cleanup ended; None before the first."""
        raw = await self._control.value(_LAST)
        return None if raw is None else msgspec.json.decode(raw, type=LastCleanup)

    async def _look(self, agent: str | None, at_ms: int) -> _Found:
        whose = agent_condition(agent) & equals(Column.CHUNK, 0)
        over = whose & at_most(Column.EXPIRES_AT, at_ms)
        all_of_them: dict[str, int] = dict(await self._store.active.tally([Column.AGENT_ID], whose))
        by_agent, by_type = Counter[str](), Counter[str]()
        for name, kind, count in await self._store.active.tally([Column.AGENT_ID, Column.MEMORY_TYPE], over):
            by_agent[name] += count
            by_type[kind] += count
        held = {
            name: count
            for name, count in by_agent.items()
            if is_suspicious(count, all_of_them.get(name, count), self._most_share)
        }
        due = await self._purging.due(agent, at_ms)
        plan = Plan(
            memories=sum(all_of_them.values()),
            expired=by_agent.total(),
            by_agent=dict(sorted(by_agent.items())),
            by_type=dict(sorted(by_type.items())),
            purge=due.total,
            held=sum(held.values()),
            held_purge=due.held,
            needs_confirmation=bool(held or due.held),
            reasons=_reasons(sum(held.values()), due.held, self._most_share),
        )
        return _Found(plan, tuple(sorted(held)), due)

    async def _archive(
        self, agent: str | None, at_ms: int, held: Sequence[str], tell: Tell, stop: Stop
    ) -> Swept:
        wanted = but_not(agent_condition(agent), held) & at_most(Column.EXPIRES_AT, at_ms)
        sweep = Sweep(self._store, self._store.active, wanted)
        return await sweep.run(lambda memory_id: ExpireChange(memory_id, at_ms), tell, stop)

    async def _purge(
        self, agent: str | None, at_ms: int, held: Sequence[str], tell: Tell, stop: Stop
    ) -> list[Swept]:
        swept = await self._purging.purge(agent, at_ms, held, tell, stop)
        gone = [memory_id for each in swept for memory_id in each.ids]
        if gone:
            for start in range(0, len(gone), PAGE):
                for forget in self._forget:
                    await forget(gone[start : start + PAGE])
            await self._audit.record(ACTOR, "purged", f"{len(gone):,} memories of the archive")
        return swept

    async def _ended(self, cleaned: Cleaned) -> Cleaned:
        last = LastCleanup(self._now_ms(), cleaned)
        await self._control.set_value(_LAST, msgspec.json.encode(last).decode())
        return cleaned


def _reasons(held: int, held_purge: int, most_share: float) -> tuple[str, ...]:
    share = f"more than {most_share:.0%} of an agent's"
    reasons = []
    if held:
        reasons.append(f"{held:,} memories would go to the archive at once, {share} memories.")
    if held_purge:
        reasons.append(f"{held_purge:,} archived memories would be purged at once, {share} archive.")
    return tuple(reasons)


def _doubted(plan: Plan, doubt: str) -> Plan:
    return msgspec.structs.replace(
        plan,
        held=plan.expired,
        held_purge=plan.purge,
        needs_confirmation=True,
        reasons=(doubt, *plan.reasons),
    )


def _refused(plan: Plan, doubt: str) -> Cleaned:
    """Nothing was done, because the clock cannot be believed."""
    return Cleaned(
        state="needs confirmation", held=plan.expired, held_purge=plan.purge, reasons=(doubt, *plan.reasons)
    )


def _cleaned(plan: Plan, moved: Swept, purged: Sequence[Swept]) -> Cleaned:
    state: State = "needs confirmation" if plan.held or plan.held_purge else "done"
    return Cleaned(
        state="stopped" if moved.stopped or any(each.stopped for each in purged) else state,
        archived=len(moved.ids),
        renewed=moved.kept,
        failed=moved.failed + sum(each.failed for each in purged),
        purged=sum(len(each.ids) for each in purged),
        held=plan.held,
        held_purge=plan.held_purge,
        reasons=plan.reasons,
    )
