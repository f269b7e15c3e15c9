"""Followed places as the templates show them: states in words, figures as text."""

from __future__ import annotations

from collections.abc import Container, Sequence

import msgspec

from noesis.dashboard.presenters import Moment, moment
from noesis.scanning import Freshness
from noesis.sources.roots import Kind, Root, Vanished
from noesis.watch_signs import Watch

KINDS: dict[Kind, str] = {"markdown": "notes", "transcripts": "transcripts", "database": "database"}
"""What a place holds, in a word."""

VANISHED: dict[Vanished, str] = {
    "archive": "go to the archive",
    "keep": "stay",
    "delete": "are deleted",
}
"""What becomes of memories whose file is gone: they …"""

_UNKNOWN = "–"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How a place is, in words; `tone` is good, warn, bad or soft; `since` ends the sentence."""

    words: str
    tone: str
    since: Moment | None = None
    more: str = ""


class PlaceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One followed place; the figures are counts of files, `held` those that wait for a person's word."""

    key: str
    label: str
    agent: str
    kind: str
    path: str
    found: bool
    figures: tuple[tuple[str, str], ...]
    looked: Moment | None
    vanished: str
    has_choice: bool
    held: int
    state: State
    problems: tuple[tuple[str, str], ...]
    more_problems: int


class WatcherLine(msgspec.Struct, frozen=True):
    """How changes are noticed, in a sentence, and the last sign of life."""

    words: str
    tone: str
    seen: Moment | None


def place_row(fresh: Freshness, watched: Container[str], now_ms: int) -> PlaceRow:
    """A place for the table; `watched` are the keys of those that the settings say to follow."""
    root = fresh.root
    return PlaceRow(
        key=root.key,
        label=root.label,
        agent=root.agent,
        kind=KINDS[root.kind],
        path=root.path,
        found=root.found_by == "openclaw",
        figures=_figures(fresh),
        looked=None if root.scanned_at is None else moment(root.scanned_at, now_ms),
        vanished=root.vanished,
        has_choice=forgets(root),
        held=root.held,
        state=state_of(fresh, now_ms, is_watched=root.key in watched),
        problems=fresh.problems,
        more_problems=fresh.refused + fresh.failed - len(fresh.problems),
    )


def forgets(root: Root) -> bool:
    """Whether memories of this place can go with their file: what was said stays said."""
    return root.kind == "markdown"


def state_of(fresh: Freshness, now_ms: int, *, is_watched: bool = True) -> State:
    """The gravest that can be said of a place."""
    root = fresh.root
    if not fresh.available:
        more = f"{root.note or ''} Nothing of it was removed.".lstrip()
        return State(words="cannot be reached", tone="bad", more=more)
    if root.held:
        return State(words=f"{counted(root.held)} vanished at once", tone="warn")
    if not is_watched:
        setting = "NOESIS_WATCH_MEMORY_DIRS" if root.kind == "markdown" else "NOESIS_INDEX_SESSIONS"
        return State(words="not followed", tone="soft", more=f"{setting} is off.")
    if root.scanned_at is None:
        return State(words="not read yet", tone="warn")
    return _behind(fresh, now_ms) or State(words="clean", tone="good")


def _behind(fresh: Freshness, now_ms: int) -> State | None:
    if fresh.waiting and fresh.waits_since is not None:
        return State(words="behind since", tone="warn", since=moment(fresh.waits_since, now_ms))
    if fresh.waiting:
        return State(words="behind", tone="warn")
    if fresh.gone:
        return State(words=f"{counted(fresh.gone)} gone", tone="warn", more="Not looked at yet.")
    if fresh.failed:
        return State(
            words=f"{counted(fresh.failed)} could not be read", tone="bad", more="Tried again later."
        )
    return None


def counted(files: int) -> str:
    """`1 file`, `1,200 files`."""
    return f"{files:,} file{'' if files == 1 else 's'}"


def summary(found: Sequence[Freshness]) -> str | None:
    """How much of all that can be looked at is in memory as it lies there; None when nothing can."""
    seen = [fresh for fresh in found if fresh.available]
    if not seen:
        return None
    indexed = sum(fresh.indexed for fresh in seen)
    return f"{indexed:,} of {counted(sum(fresh.on_disk for fresh in seen))} in memory as they are."


def _figures(fresh: Freshness) -> tuple[tuple[str, str], ...]:
    counts = {
        "On disk": fresh.on_disk,
        "Indexed": fresh.indexed,
        "Waiting": fresh.waiting,
        "Refused": fresh.refused,
        "Failed": fresh.failed,
    }
    return tuple((name, f"{count:,}" if fresh.available else _UNKNOWN) for name, count in counts.items())


def watcher_line(watch: Watch, now_ms: int) -> WatcherLine:
    """What the watcher's last word means to a reader."""
    seen = None if watch.seen_at is None else moment(watch.seen_at, now_ms)
    reason = (watch.reason or "").rstrip(".")
    if watch.mode == "events":
        return WatcherLine("Changes are noticed as they happen.", "good", seen)
    if watch.mode == "polling":
        said = f": {reason}" if reason else ""
        return WatcherLine(f"Changes are noticed by looking again and again{said}.", "good", seen)
    why = f" {reason[0].upper()}{reason[1:]}." if reason else ""
    return WatcherLine(f"Changes are not noticed.{why}", "warn", seen)
