"""What an import is asked, and what it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from noesis.errors import Forbidden, InvalidInput
from noesis.sources.foreign import Format, Record, Unreadable

ANY_AGENT = "*"

MOST_PROBLEMS = 20
"""So many single problems are told of; all of them are counted."""

Progress = Callable[[int, int | None], None]
Stop = Callable[[], bool]


class What(msgspec.Struct, frozen=True, kw_only=True):
    """What is imported: a file or folder at `path`, an upload, or OpenClaw's places.

    `name` is what an upload was called.  `format` None means that it is found out.  `trusted` says that
    the path was given by the person whose process this is, who may read what the process may.
    """

    path: str | None = None
    upload: str | None = None
    name: str | None = None
    openclaw: bool = False
    format: Format | None = None
    trusted: bool = False


class Recipients(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memories they become: those of `agent`, or with `as_given` of the agents that entries name.

    Entries that name none go to `agent`.  `admitted` are the agents the caller may write for, `*` any.
    """

    agent: str | None = None
    as_given: bool = False
    admitted: tuple[str, ...] = (ANY_AGENT,)

    def admits(self, agent: str) -> bool:
        """Whether the caller may write for this agent."""
        return ANY_AGENT in self.admitted or agent in self.admitted

    def one(self) -> str:
        """The agent for what names none.  Raises InvalidInput, and Forbidden for one that is not admitted."""
        if self.agent is None:
            raise InvalidInput("Name the agent whose memories these become.", field="agent_id")
        if not self.admits(self.agent):
            raise Forbidden("This token may not act as that agent.")
        return self.agent

    def of(self, record: Record) -> str:
        """The agent of an entry.  Raises as `one` does."""
        if not self.as_given or record.raw_agent is None:
            return self.one()
        if record.agent is None:
            raise InvalidInput("It is of an agent whose name is not of a-z, 0-9, _ and -.")
        if not self.admits(record.agent):
            raise Forbidden("It is of an agent that this token may not act as.")
        return record.agent


class EntryProblem(msgspec.Struct, frozen=True):
    """An entry that could not be imported: where it stands and why, never what it says."""

    place: str
    reason: str


class WaitingPlace(msgspec.Struct, frozen=True):
    """One of OpenClaw's places: whose it is, what it is called, its files, and those that are to be read."""

    agent: str
    label: str
    kind: str
    files: int
    waiting: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What an import would do; nothing was written.

    `entries` are memories, sections or turns that were found, by the agent they would go to and by memory
    type.  Of them `new` would be added (`archived` of these to the archive), `changed` rewritten, `already`
    are there, `left_out` say nothing worth keeping (by reason), and `errors` cannot be imported, the first
    of which are `problems`.  `whole` is false when only the beginning was looked at.
    """

    formats: tuple[Format, ...] = ()
    entries: int = 0
    new: int = 0
    archived: int = 0
    changed: int = 0
    already: int = 0
    errors: int = 0
    by_agent: dict[str, int] = {}
    by_type: dict[str, int] = {}
    left_out: dict[str, int] = {}
    problems: tuple[EntryProblem, ...] = ()
    places: tuple[WaitingPlace, ...] = ()
    whole: bool = True


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did.

    `indexed` memories were added to the active ones and `archived` to the archive (`by_agent` counts both),
    `changed` were rewritten and `removed` went with the text they came from; `duplicates` were there,
    `held` wait in the inbox, `skipped` said nothing worth keeping (`reasons`), and `errors` could not be
    imported, the first of which are `problems`.  `whole` is false when it was stopped half-way.
    """

    formats: tuple[Format, ...] = ()
    indexed: int = 0
    archived: int = 0
    changed: int = 0
    removed: int = 0
    duplicates: int = 0
    held: int = 0
    skipped: int = 0
    errors: int = 0
    by_agent: dict[str, int] = {}
    reasons: dict[str, int] = {}
    problems: tuple[EntryProblem, ...] = ()
    whole: bool = True


class Tally:
    """Counts while an import, or a look at one, goes on."""

    def __init__(self) -> None:
        self.formats: list[Format] = []
        self.entries = 0
        self.new = 0
        self.archived = 0
        self.changed = 0
        self.removed = 0
        self.already = 0
        self.held = 0
        self.errors = 0
        self.by_agent: Counter[str] = Counter()
        self.by_type: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.problems: list[EntryProblem] = []
        self.whole = True

    def fail(self, found: Unreadable) -> None:
        """Count an entry that cannot be imported."""
        self.errors += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(EntryProblem(found.place, found.reason))

    def plan(self, places: tuple[WaitingPlace, ...] = ()) -> Plan:
        """The counts as what would be done."""
        return Plan(
            formats=tuple(self.formats),
            entries=self.entries,
            new=self.new,
            archived=self.archived,
            changed=self.changed,
            already=self.already,
            errors=self.errors,
            by_agent=dict(self.by_agent),
            by_type=dict(self.by_type),
            left_out=dict(self.left_out),
            problems=tuple(self.problems),
            places=places,
            whole=self.whole,
        )

    def imported(self) -> Imported:
        """The counts as what was done."""
        return Imported(
            formats=tuple(self.formats),
            indexed=self.new - self.archived,
            archived=self.archived,
            changed=self.changed,
            removed=self.removed,
            duplicates=self.already,
            held=self.held,
            skipped=self.left_out.total(),
            errors=self.errors,
            by_agent=dict(self.by_agent),
            reasons=dict(self.left_out),
            problems=tuple(self.problems),
            whole=self.whole,
        )


class Course(msgspec.Struct, frozen=True):
    """How an import goes on: what it counts, whether it only looks, whom it tells, and when it stops.

    A look stops after `most` entries.
    """

    tally: Tally
    dry: bool
    progress: Progress
    stop: Stop
    most: int | None = None

    def goes_on(self, done: int = 0, total: int | None = None) -> bool:
        """Tell how far it is, and whether to go on."""
        self.progress(done or self.tally.entries, total)
        seen_enough = self.most is not None and self.tally.entries >= self.most
        if seen_enough or self.stop():
            self.tally.whole = False
            return False
        return True
