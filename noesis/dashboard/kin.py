"""What a memory has to do with others, as its page shows it."""

from __future__ import annotations

import msgspec

from noesis.dashboard.presenters import title_of
from noesis.dashboard.translation import _, ngettext, number
from noesis.errors import NotFound
from noesis.memory import Memory, Scope
from noesis.related import Alike
from noesis.runtime import Noesis


class Kinsman(msgspec.Struct, frozen=True):
    """Another memory by its title; `note` says how near it is."""

    id: str
    title: str
    note: str = ""


class Kin(msgspec.Struct, frozen=True, kw_only=True):
    """What replaces a memory and what it replaces, what stands around it, and what is like it."""

    replaced_by: Kinsman | None
    replaces: tuple[Kinsman, ...]
    before: tuple[Kinsman, ...]
    after: tuple[Kinsman, ...]
    alike: tuple[Kinsman, ...]


async def kin_of(scope: Scope, noesis: Noesis, memory: Memory) -> Kin:
    """The kin of one memory."""
    around = await noesis.related.neighbours(scope, memory.id)
    replaced = await noesis.superseding.replaced_by([memory.id])
    olds = [await _named(scope, noesis, each) for each in await noesis.superseding.replaces(memory.id)]
    return Kin(
        replaced_by=await _named(scope, noesis, replaced[memory.id]) if replaced else None,
        replaces=tuple(each for each in olds if each is not None),
        before=tuple(map(_kinsman, around.before)),
        after=tuple(map(_kinsman, around.after)),
        alike=tuple(map(_alike, await noesis.related.related(scope, memory.id))),
    )


async def _named(scope: Scope, noesis: Noesis, memory_id: str) -> Kinsman | None:
    try:
        return _kinsman(await noesis.browsing.get(scope, memory_id))
    except NotFound:
        # Gone for good since the link was read.
        return None


def _kinsman(memory: Memory) -> Kinsman:
    return Kinsman(memory.id, title_of(memory.text), _("archived") if memory.archived else "")


def _alike(each: Alike) -> Kinsman:
    notes = [] if each.similarity is None else [number(each.similarity, 2)]
    if each.copies:
        count = len(each.copies) + 1
        notes.append(ngettext("%(count)s time", "%(count)s times", count, count=number(count)))
    return Kinsman(each.memory.id, title_of(each.memory.text), " · ".join(notes))
