"""The fields by which memories are filtered, spelt once for addresses and once for bodies."""

from __future__ import annotations

import inspect
from datetime import datetime

import msgspec
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery

from noesis.memory import MemoryFilter, MemoryType, to_ms


class FilterFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories: all that are given must fit; `after` and `before` are about when one was created."""

    memory_types: tuple[MemoryType, ...] = ()
    tags: tuple[str, ...] = ()
    session_id: str | None = None
    source: str | None = None
    after: datetime | None = None
    before: datetime | None = None

    def to_filter(self) -> MemoryFilter:
        """The domain's form.  Raises InvalidInput for a time that cannot be."""
        return MemoryFilter(
            memory_types=self.memory_types,
            tags=self.tags,
            session_id=self.session_id,
            source=self.source,
            after=None if self.after is None else to_ms(self.after, "after"),
            before=None if self.before is None else to_ms(self.before, "before"),
        )


def filter_of_address(
    memory_type: FromQuery[MemoryType | None] = None,
    tag: FromQuery[str | None] = None,
    session_id: FromQuery[str | None] = None,
    source: FromQuery[str | None] = None,
    after: FromQuery[datetime | None] = None,
    before: FromQuery[datetime | None] = None,
) -> FilterFields:
    """The fields as an address has them: one type and one tag at most."""
    return FilterFields(
        memory_types=() if memory_type is None else (memory_type,),
        tags=() if tag is None else (tag,),
        session_id=session_id,
        source=source,
        after=after,
        before=before,
    )


FILTER = {"wanted": Provide(filter_of_address, sync_to_thread=False)}
"""Gives a route the argument `wanted`, a `Filtered`, and its address these parameters."""

FILTER_PARAMETERS = frozenset(inspect.signature(filter_of_address).parameters)

Filtered = NamedDependency[FilterFields]
"""The filter as a handler receives it."""
