"""Forget: all of one source or session goes for good, and does not come back by itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from noesis.audit import Audit
from noesis.capturing import Capturing
from noesis.control import Control
from noesis.erasing import count, erase, rewrite
from noesis.errors import Conflict, Forbidden, InvalidInput
from noesis.inbox import Inbox
from noesis.memory import Scope, check_name
from noesis.sources.book import Book
from noesis.sources.roots import Roots
from noesis.store import Store
from noesis.tombstones import Kind, Tombstone, Tombstones

_ERASURE = "erasure"
_REWRITE = "rewrite"
_OLD_VERSIONS_MS = 65 * 60_000
"""Old versions of the tables are kept for an hour; only then can the next upkeep remove them."""

Drop = Callable[[Sequence[str]], Awaitable[Any]]
"""Is told which memories are gone for good, so that nothing else keeps anything of them."""


class Forgot(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories would go (not `applied`) or went, and under which tombstone."""

    count: int
    applied: bool
    tombstone: Tombstone | None = None


class Forgetting:
    """Forgets, and takes it back that something must not return."""

    def __init__(
        self,
        store: Store,
        control: Control,
        tombstones: Tombstones,
        capturing: Capturing,
        inbox: Inbox,
        audit: Audit,
        now_ms: Callable[[], int],
        drops: Sequence[Drop],
    ) -> None:
        self._store = store
        self._control = control
        self._tombstones = tombstones
        self._capturing = capturing
        self._inbox = inbox
        self._roots = Roots(control)
        self._book = Book(control)
        self._audit = audit
        self._now_ms = now_ms
        self._drops = drops

    async def forget(
        self, scope: Scope, kind: Kind, value: str, *, agent: str | None = None, confirm_count: int | None
    ) -> Forgot:
        """Remove an agent's memories of one source or session from everything that this server holds.

        Without `confirm_count` it only says how many there are.  Backups and pushed snapshots keep theirs.
        Raises InvalidInput, Forbidden for another agent, Conflict when the count is another one, or a
        StoreError; what was begun is then finished by the next upkeep.
        """
        agent = _owner(scope, agent)
        name = check_name(value, "source" if kind is Kind.SOURCE else "session_id")
        assert name is not None
        there = await count(self._store, agent, kind, name)
        if confirm_count is None:
            return Forgot(count=there, applied=False)
        if confirm_count != there:
            raise Conflict(f"{there} memories are of it now, not {confirm_count}. Nothing was forgotten.")
        # First the tombstone: nothing that is stored from now on escapes both it and the purge.
        stone = await self._tombstones.add(agent, kind, name, scope.actor)
        await self._control.set_value(_ERASURE, _REWRITE)
        before = stone.memories
        stone = await self._carry_out(stone, scope.actor)
        gone = stone.memories - before
        await self._audit.record(scope.actor, f"{kind.value} forgotten", f"{gone} of {agent}: {stone.id}")
        return Forgot(count=gone, applied=True, tombstone=stone)

    async def forgotten(self, scope: Scope) -> list[Tombstone]:
        """What the caller is to stay without, newest first; everybody's for an administrator who names no agent."""
        return await self._tombstones.all(scope.whose)

    async def lift(self, scope: Scope, stone_id: str) -> Tombstone:
        """Let it come back: by the next scan of files that still hold it, or the next import.

        Raises NotFound, also for another agent's.
        """
        stone = await self._tombstones.lift(scope.whose, stone_id)
        await self._unread(stone, transcripts=True)
        await self._audit.record(scope.actor, f"forgotten {stone.kind.value} admitted again", stone.id)
        return stone

    async def erasure_is_due(self) -> bool:
        """Whether an upkeep would have something to remove from the files of the store."""
        wanted = await self._control.value(_ERASURE)
        return wanted == _REWRITE or bool(wanted and int(wanted) <= self._now_ms())

    async def finish_erasure(self) -> None:
        """Finish what a kill interrupted, and get what was forgotten out of the files of the store.

        It takes two upkeeps: the first writes the tables anew, the second, an hour later, removes the
        versions from before that.  Raises StoreBusy or another StoreError; then it is tried again.
        """
        if not await self.erasure_is_due():
            return
        if await self._control.value(_ERASURE) == _REWRITE:
            for stone in await self._tombstones.all(None):
                if not stone.finished:
                    await self._carry_out(stone, stone.by)
            await rewrite(self._store)
            await self._control.set_value(_ERASURE, str(self._now_ms() + _OLD_VERSIONS_MS))
        else:
            await self._store.maintain(force=True)
            await self._control.set_value(_ERASURE, "")

    async def _carry_out(self, stone: Tombstone, actor: str) -> Tombstone:
        gone = await erase(self._store, stone, actor)
        for drop in self._drops:
            await drop(gone)
        if stone.kind is Kind.SESSION:
            await self._capturing.forget(stone.agent, stone.value)
        await self._inbox.forget(stone.agent, **{_FIELDS[stone.kind]: stone.value})
        await self._unread(stone, transcripts=False)
        return await self._tombstones.finish(stone, len(gone))

    async def _unread(self, stone: Tombstone, *, transcripts: bool) -> None:
        """Let the next scan look at the files again that the stone is about.

        A note of a file says which memories it gave, and it gives none now, or gives them anew.  Which
        transcript holds a session is not noted: all are read again, and what was captured stays known.
        """
        for root in await self._roots.all():
            if root.agent != stone.agent:
                continue
            if root.kind == "markdown" and stone.kind is Kind.SOURCE:
                path = stone.value.removeprefix(f"{root.label}/")
                if path != stone.value:
                    await self._book.forget(root.key, [path])
            elif root.kind != "markdown" and stone.kind is Kind.SESSION and transcripts:
                await self._book.forget_root(root.key)


_FIELDS = {Kind.SOURCE: "source", Kind.SESSION: "session_id"}


def _owner(scope: Scope, agent: str | None) -> str:
    """Whose memories are meant: an administrator has to say."""
    whose = scope.whose
    if whose is not None and agent not in (None, whose):
        raise Forbidden("Another agent's memories cannot be forgotten.")
    if whose is None and agent is None:
        raise InvalidInput("Name the agent whose memories are meant.", field="agent_id")
    return whose or agent or ""
