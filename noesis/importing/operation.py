"""Import: bring in what other programs, files and our own exports remember; each thing once."""

from __future__ import annotations

from typing import Protocol

import msgspec

from noesis.errors import Forbidden, NoesisError, StoreError
from noesis.following import Following
from noesis.importing.places import Part, Places
from noesis.importing.values import (
    Course,
    Imported,
    Plan,
    Progress,
    Recipients,
    Stop,
    Tally,
    WaitingPlace,
    What,
)
from noesis.memory import Role, Scope
from noesis.scanning import Scanned, Scanning
from noesis.sources.foreign import Format, Unreadable
from noesis.sources.roots import Root

_TURNS = frozenset((Format.CHATGPT, Format.CLAUDE, Format.OPENCLAW))


class Intake(Protocol):
    """Reads the parts of some formats."""

    async def read(self, part: Part, to: Recipients, course: Course) -> None:
        """Import a part, or count what would be.  May be run again after a kill."""
        ...


class Importing:
    """Plans and runs imports."""

    def __init__(
        self,
        places: Places,
        *,
        records: Intake,
        turns: Intake,
        documents: Intake,
        following: Following,
        scanning: Scanning,
    ) -> None:
        self._places = places
        self._records = records
        self._turns = turns
        self._documents = documents
        self._following = following
        self._scanning = scanning

    async def plan(
        self, what: What, to: Recipients, *, most: int | None = None, progress: Progress | None = None
    ) -> Plan:
        """What an import would do, without storing anything; of about `most` entries when that is given.

        Raises InvalidInput, Forbidden, NotFound or a StoreError.
        """
        if what.openclaw:
            return await self._plan_openclaw(to)
        course = Course(Tally(), True, progress or _quiet, lambda: False, most)
        await self._read(what, to, course)
        return course.tally.plan()

    async def check(self, what: What, to: Recipients) -> None:
        """Raise at once what `run` would raise for a path or an agent: Forbidden, NotFound or InvalidInput."""
        if what.openclaw:
            await self._roots(to)
            return
        if not to.as_given:
            to.one()
        await self._places.place(what, to)

    async def run(self, what: What, to: Recipients, progress: Progress, stop: Stop) -> Imported:
        """Import.  Run again after a kill or a stop it goes on, for what is there is passed over.

        `progress` is in entries, of notes in files.  Raises InvalidInput, Forbidden, NotFound or a
        StoreError; what was imported until then stays.
        """
        course = Course(Tally(), False, progress, stop)
        if what.openclaw:
            await self._scan_openclaw(to, course)
        else:
            await self._read(what, to, course)
        return course.tally.imported()

    async def _read(self, what: What, to: Recipients, course: Course) -> None:
        if not to.as_given:
            to.one()
        async with self._places.parts(what, to) as parts:
            for part in parts:
                if part.format not in course.tally.formats:
                    course.tally.formats.append(part.format)
            for part in parts:
                await self._intake(part.format).read(part, to, course)
                if not course.tally.whole:
                    return

    def _intake(self, kind: Format) -> Intake:
        if kind in _TURNS:
            return self._turns
        return self._documents if kind is Format.MARKDOWN else self._records

    async def _roots(self, to: Recipients) -> list[Root]:
        """OpenClaw's places of the agent, or of all that are admitted.  Raises Forbidden."""
        if to.agent is not None and not to.admits(to.agent):
            raise Forbidden("This token may not act as that agent.")
        roots = await self._following.followed(also_unwatched=True)
        return [
            root
            for root in roots
            if root.found_by == "openclaw" and to.admits(root.agent) and to.agent in (None, root.agent)
        ]

    async def _plan_openclaw(self, to: Recipients) -> Plan:
        keys = {root.key for root in await self._roots(to)}
        scope = Scope(agent=to.agent, role=Role.ADMIN)
        found = [
            each
            for each in await self._scanning.freshness(scope, also_unwatched=True)
            if each.root.key in keys
        ]
        tally = Tally()
        tally.formats.append(Format.OPENCLAW)
        for each in found:
            tally.by_agent[each.root.agent] += each.waiting
            for path, reason in each.problems:
                tally.fail(Unreadable(path, reason))
        places = tuple(
            WaitingPlace(each.root.agent, each.root.label, each.root.kind, each.on_disk, each.waiting)
            for each in found
        )
        return tally.plan(places)

    async def _scan_openclaw(self, to: Recipients, course: Course) -> None:
        """Read what changed in OpenClaw's places now; one that cannot be read does not stop the others."""
        course.tally.formats.append(Format.OPENCLAW)
        roots = await self._roots(to)
        for done, root in enumerate(roots, start=1):
            try:
                scanned = await self._scanning.scan(root.key, _quiet, course.stop)
            except StoreError:
                raise
            except NoesisError as error:
                course.tally.fail(Unreadable(root.label, error.message))
            else:
                _count(course.tally, root, scanned)
            if not course.goes_on(done, len(roots)):
                return


def _quiet(done: int, total: int | None) -> None:
    """Tell nobody."""


def _count(tally: Tally, root: Root, scanned: Scanned) -> None:
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


def to_args(what: What, to: Recipients) -> dict[str, str | bool | list[str]]:
    """Both as the plain values that a job keeps."""
    given = {**msgspec.to_builtins(what), **msgspec.to_builtins(to)}
    return {name: value for name, value in given.items() if value is not None and name != "trusted"}


def from_args(args: dict[str, object]) -> tuple[What, Recipients]:
    """The reverse; raises msgspec.ValidationError for what `to_args` never gave."""
    return msgspec.convert(args, What), msgspec.convert(args, Recipients)
