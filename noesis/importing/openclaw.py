"""Imports what OpenClaw's places hold now: they are scanned at once, or looked at to say what that would bring."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec

from noesis.errors import Forbidden, NoesisError, StoreError
from noesis.following import Following
from noesis.freshness import Difference
from noesis.importing.documents import DocumentImport
from noesis.importing.turns import TurnImport
from noesis.importing.values import Course, Plan, Recipients, Tally, WaitingPlace
from noesis.reading import FileReader
from noesis.redacting import Redacting, Redactor
from noesis.scanning import Scanned, Scanning, fresh
from noesis.sources.foreign import Format, Unreadable
from noesis.sources.lines import Skipped
from noesis.sources.looking import OpenedRoot, RootMissing, open_root
from noesis.sources.roots import Root
from noesis.turns import Turn

_LOOKED_AT = 20_000
"""Sections and turns that a plan reads: some seconds; the files that wait are counted all the same."""


class OpenClawImport:
    """Plans and runs it."""

    def __init__(
        self,
        following: Following,
        scanning: Scanning,
        reader: FileReader,
        redacting: Redacting,
        *,
        documents: DocumentImport,
        turns: TurnImport,
    ) -> None:
        self._following = following
        self._scanning = scanning
        self._reader = reader
        self._redacting = redacting
        self._documents = documents
        self._turns = turns

    async def roots(self, to: Recipients) -> list[Root]:
        """OpenClaw's places of the agent, or of all that are admitted.  Raises Forbidden."""
        if to.agent is not None and not to.admits(to.agent):
            raise Forbidden("This token may not act as that agent.")
        roots = await self._following.followed(also_unwatched=True)
        return [
            root
            for root in roots
            if root.found_by == "openclaw" and to.admits(root.agent) and to.agent in (None, root.agent)
        ]

    async def plan(self, to: Recipients, course: Course) -> Plan:
        """The files that wait in each place, and the memories that they would give.

        Of these only the beginning is counted when there are very many.  Raises Forbidden or a StoreError.
        """
        course.tally.formats.append(Format.OPENCLAW)
        course = msgspec.structs.replace(course, most=course.most or _LOOKED_AT)
        places = [await self._look(root, course) for root in await self.roots(to)]
        return course.tally.plan(tuple(places))

    async def _look(self, root: Root, course: Course) -> WaitingPlace:
        nothing = WaitingPlace(root.agent, root.label, root.kind, 0, 0)
        try:
            with await asyncio.to_thread(open_root, root) as opened:
                found = await asyncio.to_thread(self._scanning.difference, opened)
                if found is None:
                    return nothing
                await self._count(opened, found, course)
        except RootMissing:
            return nothing
        for path, reason in found.problems:
            course.tally.fail(Unreadable(path, reason))
        figures = fresh(root, found)
        return WaitingPlace(root.agent, root.label, root.kind, figures.on_disk, figures.waiting)

    async def _count(self, opened: OpenedRoot, found: Difference, course: Course) -> None:
        redactor = await self._redacting.redactor(opened.root.agent)
        told = {path for path, _ in found.problems}
        for file in found.changed:
            if not course.goes_on():
                return
            try:
                await self._count_file(opened, file.path, redactor, course)
            except StoreError:
                raise
            except NoesisError as error:
                if file.path not in told:
                    course.tally.fail(Unreadable(file.path or opened.root.label, error.message))

    async def _count_file(self, opened: OpenedRoot, path: str, redactor: Redactor, course: Course) -> None:
        if opened.root.kind == "markdown":
            await self._documents.look(opened, path, redactor, course)
            return
        async with aclosing(self._reader.unread(opened, path)) as batches:
            async for batch in batches:
                said = [item for item in batch if isinstance(item, Turn)]
                for item in batch:
                    if isinstance(item, Skipped):
                        course.tally.fail(Unreadable(path or opened.root.label, item.reason))
                course.tally.entries += len(said)
                await self._turns.look(opened.root.agent, said, course)
                if not course.goes_on():
                    return

    async def scan(self, to: Recipients, course: Course) -> None:
        """Read what changed in OpenClaw's places now; one that cannot be read does not stop the others."""
        course.tally.formats.append(Format.OPENCLAW)
        roots = await self.roots(to)
        for done, root in enumerate(roots, start=1):
            try:
                scanned = await self._scanning.scan(root.key, _quiet, course.stop)
            except StoreError:
                raise
            except NoesisError as error:
                course.tally.fail(Unreadable(root.label, error.message))
            else:
                _add(course.tally, root, scanned)
            if not course.goes_on(done, len(roots)):
                return


def _quiet(done: int, total: int | None) -> None:
    """Tell nobody."""


def _add(tally: Tally, root: Root, scanned: Scanned) -> None:
    """Add what a scan did."""
    found = dict(scanned.memories)
    tally.changed += found.pop("changed", 0)
    tally.already += found.pop("unchanged", 0) + found.pop("known", 0)
    tally.removed += found.pop("removed", 0)
    tally.held += found.pop("held", 0)
    left_out = found.pop("left_out", 0)
    if left_out:
        tally.left_out["said nothing worth keeping"] += left_out
    # What is left are new sections and, by their types, captures.
    tally.new += sum(found.values())
    tally.by_agent[root.agent] += sum(found.values())
    for _ in range(scanned.failed + scanned.refused):
        tally.fail(
            Unreadable(root.label, scanned.note or "A file cannot be read; `noesis source fresh` names it.")
        )
