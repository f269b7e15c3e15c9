"""Import: bring in what other programs, files and our own exports remember; each thing once."""

from __future__ import annotations

from typing import Protocol

import msgspec

from noesis.importing.openclaw import OpenClawImport
from noesis.importing.places import Part, Places
from noesis.importing.values import (
    Course,
    Imported,
    Plan,
    Progress,
    Recipients,
    Stop,
    Tally,
    What,
)
from noesis.sources.foreign import Format

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
        openclaw: OpenClawImport,
    ) -> None:
        self._places = places
        self._records = records
        self._turns = turns
        self._documents = documents
        self._openclaw = openclaw

    async def plan(
        self, what: What, to: Recipients, *, most: int | None = None, progress: Progress | None = None
    ) -> Plan:
        """What an import would do, without storing anything; of about `most` entries when that is given.

        Raises InvalidInput, Forbidden, NotFound or a StoreError.
        """
        course = Course(Tally(), True, progress or _quiet, lambda: False, most)
        if what.openclaw:
            return await self._openclaw.plan(to, course)
        await self._read(what, to, course)
        return course.tally.plan()

    async def check(self, what: What, to: Recipients) -> None:
        """Raise at once what `run` would raise for a path or an agent: Forbidden, NotFound or InvalidInput."""
        if what.openclaw:
            await self._openclaw.roots(to)
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
            await self._openclaw.scan(to, course)
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


def _quiet(done: int, total: int | None) -> None:
    """Tell nobody."""


def to_args(what: What, to: Recipients) -> dict[str, str | bool | list[str]]:
    """Both as the plain values that a job keeps."""
    given = {**msgspec.to_builtins(what), **msgspec.to_builtins(to)}
    return {name: value for name, value in given.items() if value is not None and name != "trusted"}


def from_args(args: dict[str, object]) -> tuple[What, Recipients]:
    """The reverse; raises msgspec.ValidationError for what `to_args` never gave."""
    return msgspec.convert(args, What), msgspec.convert(args, Recipients)
