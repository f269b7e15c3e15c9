"""Export: what is wanted of both tables, from one instant, written as it is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Protocol

import msgspec

from noesis.errors import InvalidInput
from noesis.exporting.json_array import JsonArrayWriter
from noesis.exporting.markdown import MarkdownWriter
from noesis.exporting.ndjson import NdjsonWriter
from noesis.exporting.reading import Part, parts_of
from noesis.exporting.values import Export, Exported, Outline, Portion, Shape, Wanted
from noesis.memory import Role, Scope
from noesis.store import Store
from noesis.superseding import Superseding


class Writer(Protocol):
    """Turns memories into the bytes of one form; `begin`, then `write` as often as need be, then `end`."""

    file_name: str
    media_type: str

    def begin(self, outline: Outline, /) -> bytes:
        """What stands before the first memory."""
        ...

    def write(self, memories: Sequence[Exported], /) -> bytes:
        """Some memories."""
        ...

    def end(self) -> bytes:
        """What stands after the last one."""
        ...


_WRITERS: dict[Shape, Callable[[], Writer]] = {
    Shape.NDJSON: NdjsonWriter,
    Shape.JSON: JsonArrayWriter,
    Shape.MARKDOWN: MarkdownWriter,
}


class Exporting:
    """Gives memories out."""

    def __init__(self, store: Store, superseding: Superseding, now_ms: Callable[[], int]) -> None:
        self._store = store
        self._superseding = superseding
        self._now_ms = now_ms

    @asynccontextmanager
    async def open(self, scope: Scope, wanted: Wanted, shape: Shape) -> AsyncIterator[Export]:
        """An export of the caller's memories; of all agents' for an administrator who names none.

        It shows every memory once and as it was in this instant, whatever moves or changes while it is
        read, and holds a few hundred of them at most.  Raises InvalidInput, Forbidden or a StoreError.
        """
        wanted = msgspec.structs.replace(wanted, agent=_whose(scope, wanted.agent))
        if wanted.vectors and shape is not Shape.NDJSON:
            raise InvalidInput("Vectors go with ndjson only.", field="vectors")
        async with self._store.pinned() as pinned:
            now = self._now_ms()
            parts = parts_of(pinned, wanted, now)
            outline = Outline(
                at=now,
                memories=sum([await part.count() for part in parts]),
                wanted=wanted,
                embedder=self._store.embedder if wanted.vectors else None,
            )
            writer = _WRITERS[shape]()
            async with aclosing(self._portions(parts, outline, writer)) as portions:
                yield Export(outline, writer.file_name, writer.media_type, portions)

    async def _portions(
        self, parts: Sequence[Part], outline: Outline, writer: Writer
    ) -> AsyncGenerator[Portion, None]:
        done = 0
        yield Portion(writer.begin(outline), done)
        for part in parts:
            async for batch in part.read(vectors=outline.wanted.vectors):
                linked = await self._with_links(batch)
                done += len(linked)
                # In a thread: a batch of long texts takes time that other requests need.
                yield Portion(await asyncio.to_thread(writer.write, linked), done)
        yield Portion(writer.end(), done)

    async def _with_links(self, batch: Sequence[Exported]) -> list[Exported]:
        links = await self._superseding.links(each.memory.id for each in batch)
        newer = {link.old_id: link.new_id for link in links}
        return [
            msgspec.structs.replace(each, superseded_by=newer.get(each.memory.id)) if newer else each
            for each in batch
        ]


def _whose(scope: Scope, named: str | None) -> str | None:
    """The agent whose memories go out, None for all.  Raises Forbidden or InvalidInput."""
    if scope.role is Role.ADMIN:
        return named or scope.agent
    return scope.owner(named)
