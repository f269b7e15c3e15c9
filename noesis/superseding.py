"""Supersession: a newer memory on the same matter replaces an older one, which stays and points to it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from noesis.browsing import agent_condition
from noesis.control import Control, metadata, read_value, write_value
from noesis.errors import Conflict, InvalidInput, NotFound
from noesis.events import Changed, Event, EventKind, Witness
from noesis.memory import DELETED, Scope
from noesis.store import Column, Condition, Store
from noesis.store.filters import EVERYTHING, differs, equals, one_of

superseding = sa.Table(
    "superseding",
    metadata,
    sa.Column("old_id", sa.String(64), primary_key=True),
    sa.Column("new_id", sa.String(64), nullable=False, index=True),
    sa.Column("agent", sa.String(64), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("by", sa.String(128), nullable=False),
)

_VERSION = "superseding_version"
_FIELD = "superseded_by"
_KNOWN_FOR_S = 1.0


class Link(msgspec.Struct, frozen=True):
    """`new_id` replaces `old_id`, both memories of one agent; `at` is ms since 1970, `by` who said so."""

    old_id: str
    new_id: str
    agent: str
    at: int
    by: str


class Superseding:
    """Keeps the links.

    They are few beside the memories, so every process holds them all and asks once a second whether
    another one changed them: where there are none, a search pays nothing for them.
    """

    def __init__(
        self, control: Control, store: Store, now_ms: Callable[[], int], witness: Witness | None = None
    ) -> None:
        self._control = control
        self._store = store
        self._now_ms = now_ms
        self._witness = witness
        self._links: Mapping[str, Link] = {}
        self._version: str | None = None
        self._known_at = float("-inf")
        self._changes = 0
        self._looking_up = asyncio.Lock()

    async def replaced_by(self, ids: Iterable[str]) -> dict[str, str]:
        """Of these memories the superseded ones, each with the id of the memory that replaces it."""
        return {old: line[0] for old, line in (await self.successors(ids)).items()}

    async def successors(self, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Of these memories the superseded ones, each with what replaces it: nearest first, then what replaces that.

        A replacement that was deleted does not count: what it replaced stands again, or is replaced by
        what replaced the deleted one.
        """
        links = await self._known()
        if not links:
            return {}
        lines = {old: _line(old, links) for old in ids if old in links}
        if not lines:
            return {}
        standing = set(await self._owners(EVERYTHING, {new for line in lines.values() for new in line}))
        kept = {old: tuple(new for new in line if new in standing) for old, line in lines.items()}
        return {old: line for old, line in kept.items() if line}

    async def replaces(self, memory_id: str) -> tuple[str, ...]:
        """The ids of the memories that this one replaces directly, in the order in which that was said."""
        links = [link for link in (await self._known()).values() if link.new_id == memory_id]
        return tuple(link.old_id for link in sorted(links, key=lambda link: (link.at, link.old_id)))

    async def superseded(self, agent: str) -> set[str]:
        """The ids of an agent's memories that are superseded."""
        return {link.old_id for link in (await self._known()).values() if link.agent == agent}

    async def links(self, ids: Iterable[str]) -> list[Link]:
        """The links by which these memories are superseded, as they were made."""
        links = await self._known()
        return [links[old] for old in ids if old in links]

    async def link(self, scope: Scope, old_id: str, new_id: str) -> Link:
        """Say that `new_id` replaces `old_id`; saying it again changes nothing.

        Raises NotFound unless both are the caller's and not deleted, InvalidInput when they are one
        memory or two agents', Conflict when the old one is replaced by another already or would come
        to replace itself.
        """
        if old_id == new_id:
            raise InvalidInput("A memory cannot replace itself.", field="by")
        owners = await self._owners(agent_condition(scope.whose), {old_id, new_id})
        if old_id not in owners:
            raise NotFound("There is no memory with this id.")
        if new_id not in owners:
            raise NotFound("There is no memory with the id that is to replace it.", field="by")
        if owners[old_id] != owners[new_id]:
            raise InvalidInput("A memory is replaced by one of the same agent only.", field="by")
        link = Link(old_id, new_id, owners[old_id], self._now_ms(), scope.actor[:128])
        made = await self._control.run(lambda connection: _insert(connection, link))
        self._changed()
        if made is link:
            await self._tell(link, EventKind.SUPERSEDED, scope.actor, Changed(_FIELD, None, link.new_id))
        return made

    async def unlink(self, scope: Scope, old_id: str) -> Link:
        """Take it back that a memory is superseded.  Raises NotFound, also for another agent's."""
        whose = scope.whose

        def remove(connection: sa.Connection) -> Link:
            link = _of(connection, old_id)
            if link is None or whose not in (None, link.agent):
                raise NotFound("This memory is not superseded.")
            connection.execute(sa.delete(superseding).where(superseding.c.old_id == old_id))
            _renew_version(connection)
            return link

        link = await self._control.run(remove)
        self._changed()
        await self._tell(link, EventKind.UPDATED, scope.actor, Changed(_FIELD, link.new_id, None))
        return link

    async def merge(self, ids: Iterable[str], into: str) -> None:
        """Memories were merged into one: what they replaced is replaced by that one now."""
        merged = set(ids)
        if merged and await self._known():
            await self._control.run(lambda connection: _merge(connection, merged, into))
            self._changed()

    async def drop(self, ids: Iterable[str]) -> None:
        """Forget memories that are gone for good; what one of them replaced is replaced by its own replacement."""
        gone = set(ids)
        if gone and await self._known():
            await self._control.run(lambda connection: _drop(connection, gone))
            self._changed()

    async def _known(self) -> Mapping[str, Link]:
        if time.monotonic() - self._known_at <= _KNOWN_FOR_S:
            return self._links
        async with self._looking_up:
            if time.monotonic() - self._known_at > _KNOWN_FOR_S:
                asked_at, changes = time.monotonic(), self._changes
                fresh = await self._control.read(lambda connection: _newer(connection, self._version))
                if fresh is not None:
                    self._version, self._links = fresh
                # What was changed here while the answer was on its way is not in it.
                self._known_at = asked_at if changes == self._changes else float("-inf")
        return self._links

    async def _tell(self, link: Link, kind: EventKind, actor: str, changed: Changed) -> None:
        """Let the history of the old memory know."""
        if self._witness is not None:
            event = Event(
                memory_id=link.old_id,
                agent=link.agent,
                kind=kind,
                at=self._now_ms(),
                actor=actor,
                changed=(changed,),
            )
            await self._witness([event])

    def _changed(self) -> None:
        self._changes += 1
        self._known_at = float("-inf")

    async def _owners(self, whose: Condition, ids: set[str]) -> dict[str, str]:
        """The agents of those memories that exist and are not deleted."""
        about = whose & one_of(Column.PARENT_ID, sorted(ids)) & equals(Column.CHUNK, 0)
        columns = [Column.PARENT_ID, Column.AGENT_ID]
        archived, active = await asyncio.gather(
            self._store.archive.values(columns, about & differs(Column.ARCHIVE_REASON, DELETED)),
            self._store.active.values(columns, about),
        )
        return dict([*archived, *active])


def _line(old_id: str, links: Mapping[str, Link]) -> tuple[str, ...]:
    """What replaces a memory, and what replaces that, to the end."""
    line: dict[str, None] = {}
    link = links.get(old_id)
    # Two servers on one PostgreSQL can close a ring in the same instant; it must not hold up a search.
    while link is not None and link.new_id not in line and link.new_id != old_id:
        line[link.new_id] = None
        link = links.get(link.new_id)
    return tuple(line)


def _newer(connection: sa.Connection, version: str | None) -> tuple[str | None, dict[str, Link]] | None:
    """The version and all links, or None when this version is the newest."""
    now = read_value(connection, _VERSION)
    if now == version:
        return None
    rows = connection.execute(sa.select(superseding)).all()
    return now, {row.old_id: _link(row) for row in rows}


def _insert(connection: sa.Connection, link: Link) -> Link:
    there = _of(connection, link.old_id)
    if there is not None:
        if there.new_id == link.new_id:
            return there
        raise Conflict("This memory is superseded by another one already; take that back first.")
    _refuse_ring(connection, link)
    connection.execute(sa.insert(superseding).values(**msgspec.structs.asdict(link)))
    _renew_version(connection)
    return link


def _refuse_ring(connection: sa.Connection, link: Link) -> None:
    seen: set[str] = set()
    above: str | None = link.new_id
    while above is not None and above not in seen:
        if above == link.old_id:
            raise Conflict("The memory that is to replace this one is itself replaced by it.")
        seen.add(above)
        following = _of(connection, above)
        above = None if following is None else following.new_id


def _drop(connection: sa.Connection, gone: Collection[str]) -> None:
    for memory_id in sorted(gone):
        own = _of(connection, memory_id)
        olds = superseding.c.new_id == memory_id
        if own is not None:
            connection.execute(sa.update(superseding).where(olds).values(new_id=own.new_id))
            connection.execute(sa.delete(superseding).where(superseding.c.old_id == memory_id))
        else:
            connection.execute(sa.delete(superseding).where(olds))
    _renew_version(connection)


def _merge(connection: sa.Connection, merged: Collection[str], into: str) -> None:
    for memory_id in sorted(merged):
        olds = superseding.c.new_id == memory_id
        connection.execute(sa.delete(superseding).where(olds, superseding.c.old_id == into))
        connection.execute(sa.update(superseding).where(olds).values(new_id=into))
        own = _of(connection, memory_id)
        if own is not None and own.new_id == into:
            connection.execute(sa.delete(superseding).where(superseding.c.old_id == memory_id))
    _renew_version(connection)


def _of(connection: sa.Connection, old_id: str) -> Link | None:
    row = connection.execute(sa.select(superseding).where(superseding.c.old_id == old_id)).first()
    return None if row is None else _link(row)


def _link(row: sa.Row[Any]) -> Link:
    return Link(row.old_id, row.new_id, row.agent, row.at, row.by)


def _renew_version(connection: sa.Connection) -> None:
    # Not a number that counts up: a control database that was put back must differ as well.
    write_value(connection, _VERSION, uuid.uuid4().hex)
