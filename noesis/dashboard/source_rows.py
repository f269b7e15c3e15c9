"""Followed places as the templates show them: states in words, figures as text."""

from __future__ import annotations

from collections.abc import Container, Sequence

import msgspec
from markupsafe import Markup

from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.translation import _, gettext_noop, ngettext, number, pgettext, sentences
from noesis.scanning import Freshness
from noesis.sources.roots import Kind, Root, Vanished
from noesis.watch_signs import Watch

VANISHED: dict[Vanished, str] = {
    "archive": gettext_noop("go to the archive"),
    "keep": gettext_noop("stay"),
    "delete": gettext_noop("are deleted"),
}
"""What becomes of memories whose file is gone: they …"""

FATES: dict[Vanished, str] = {
    "archive": gettext_noop(
        "If they are meant to be gone, the memories of these files <strong>go to the archive</strong>."
    ),
    "keep": gettext_noop("If they are meant to be gone, the memories of these files <strong>stay</strong>."),
    "delete": gettext_noop(
        "If they are meant to be gone, the memories of these files <strong>are deleted</strong>."
    ),
}
"""The same as a sentence, with markup."""

_UNKNOWN = "–"


class State(msgspec.Struct, frozen=True, kw_only=True):
    """How a place is, in words; `tone` is good, warn, bad or soft; `since` is when it fell behind."""

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


def place_words(kind: Kind) -> str:
    """What a place holds, in a word."""
    words: dict[Kind, str] = {
        "markdown": pgettext("kind of place", "notes"),
        "transcripts": pgettext("kind of place", "transcripts"),
        "database": pgettext("kind of place", "database"),
    }
    return words[kind]


def fate(root: Root) -> Markup:
    """What becomes of the memories of vanished files, as a sentence."""
    return Markup(_(FATES[root.vanished if forgets(root) else "keep"]))  # noqa: S704 - the catalogue's own words


def vanished_choices() -> list[tuple[Vanished, str]]:
    """What can become of memories whose file is gone."""
    return [(name, _(words)) for name, words in VANISHED.items()]


def place_row(fresh: Freshness, watched: Container[str], now_ms: int) -> PlaceRow:
    """A place for the table; `watched` are the keys of those that the settings say to follow."""
    root = fresh.root
    return PlaceRow(
        key=root.key,
        label=root.label,
        agent=root.agent,
        kind=place_words(root.kind),
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
        more = sentences([root.note or "", _("Nothing of it was removed.")])
        return State(words=_("cannot be reached"), tone="bad", more=more)
    if root.held:
        words = ngettext(
            "%(count)s file vanished at once",
            "%(count)s files vanished at once",
            root.held,
            count=number(root.held),
        )
        return State(words=words, tone="warn")
    if not is_watched:
        setting = "NOESIS_WATCH_MEMORY_DIRS" if root.kind == "markdown" else "NOESIS_INDEX_SESSIONS"
        return State(words=_("not followed"), tone="soft", more=_("%(setting)s is off.", setting=setting))
    if root.scanned_at is None:
        return State(words=_("not read yet"), tone="warn")
    return _behind(fresh, now_ms) or State(words=_("clean"), tone="good")


def _behind(fresh: Freshness, now_ms: int) -> State | None:
    if fresh.waiting and fresh.waits_since is not None:
        return State(words=_("behind"), tone="warn", since=moment(fresh.waits_since, now_ms))
    if fresh.waiting:
        return State(words=_("behind"), tone="warn")
    if fresh.gone:
        words = ngettext("%(count)s file gone", "%(count)s files gone", fresh.gone, count=number(fresh.gone))
        return State(words=words, tone="warn", more=_("Not looked at yet."))
    if fresh.failed:
        words = ngettext(
            "%(count)s file could not be read",
            "%(count)s files could not be read",
            fresh.failed,
            count=number(fresh.failed),
        )
        return State(words=words, tone="bad", more=_("Tried again later."))
    return None


def summary(found: Sequence[Freshness]) -> str | None:
    """How much of all that can be looked at is in memory as it lies there; None when nothing can."""
    seen = [fresh for fresh in found if fresh.available]
    if not seen:
        return None
    indexed = sum(fresh.indexed for fresh in seen)
    on_disk = sum(fresh.on_disk for fresh in seen)
    return ngettext(
        "%(indexed)s of %(count)s file in memory as they are.",
        "%(indexed)s of %(count)s files in memory as they are.",
        on_disk,
        indexed=number(indexed),
        count=number(on_disk),
    )


def _figures(fresh: Freshness) -> tuple[tuple[str, str], ...]:
    counts = {
        _("On disk"): fresh.on_disk,
        _("Indexed"): fresh.indexed,
        _("Waiting"): fresh.waiting,
        _("Refused"): fresh.refused,
        _("Failed"): fresh.failed,
    }
    return tuple((name, number(count) if fresh.available else _UNKNOWN) for name, count in counts.items())


def watcher_line(watch: Watch, now_ms: int) -> WatcherLine:
    """What the watcher's last word means to a reader."""
    seen = None if watch.seen_at is None else moment(watch.seen_at, now_ms)
    reason = (watch.reason or "").rstrip(".")
    if watch.mode == "events":
        return WatcherLine(_("Changes are noticed as they happen."), "good", seen)
    if watch.mode == "polling" and reason:
        said = _("Changes are noticed by looking again and again: %(reason)s.", reason=reason)
        return WatcherLine(said, "good", seen)
    if watch.mode == "polling":
        return WatcherLine(_("Changes are noticed by looking again and again."), "good", seen)
    why = f"{reason[0].upper()}{reason[1:]}." if reason else ""
    return WatcherLine(sentences([_("Changes are not noticed."), why]), "warn", seen)
