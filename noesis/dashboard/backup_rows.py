"""Backups and snapshots as the templates show them: how far each can be trusted, in words and as a tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from noesis.backup.copies import HERE
from noesis.backup.values import Backup, CopyState, Kind, Listed, Preview
from noesis.dashboard import charts, times
from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.stats_page import size
from noesis.dashboard.translation import _, gettext_noop, listed, number
from noesis.ledger import Job
from noesis.snapshots.repository import Commit

KINDS: dict[Kind, str] = {
    "manual": gettext_noop("made by hand"),
    "scheduled": gettext_noop("by the schedule"),
    "safety": gettext_noop("before a restore"),
    "uploaded": gettext_noop("brought in"),
}
"""What a backup was made for."""

STAYS = {
    "activity": gettext_noop("the log"),
    "agents": gettext_noop("policies of agents"),
    "audit": gettext_noop("the audit log"),
    "dedup_apart": gettext_noop("what was said to be no duplicate"),
    "inbox": gettext_noop("the inbox"),
    "instance": gettext_noop("the password"),
    "memory_history": gettext_noop("the history of memories"),
    "source_roots": gettext_noop("the followed places"),
    "tokens": gettext_noop("tokens"),
    "tombstones": gettext_noop("what was forgotten"),
    "trusted_origins": gettext_noop("trusted origins"),
}
"""The tables that a restore leaves as they are, as far as they mean something to a person."""

_SHOWN_TICKS = 30


class State(msgspec.Struct, frozen=True):
    """How far a backup can be trusted; `tone` is good, warn or bad."""

    words: str
    tone: str
    at: Moment | None = None
    more: str = ""


class BackupRow(msgspec.Struct, frozen=True, kw_only=True):
    """One backup; `here` is whether it lies on this machine, `copy` its address in the bucket."""

    name: str
    made: Moment
    kind: str
    memories: str
    size: str
    encrypted: bool
    state: State
    proven: Moment | None
    here: bool
    copy: str | None


class CopiesPart(msgspec.Struct, frozen=True, kw_only=True):
    """How the copies in the bucket stand."""

    address: str
    copied: Moment | None
    error: str | None
    since: Moment | None


class SnapshotRow(msgspec.Struct, frozen=True, kw_only=True):
    """One commit."""

    commit: str
    made: Moment
    subject: str
    pushed: bool


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What a restore would do, in counts and words."""

    made: Moment
    counts: tuple[tuple[str, str, str], ...]
    changes_nothing: bool
    foreign: bool
    other_model: bool
    stays: tuple[str, ...]


def copies_part(address: str | None, state: CopyState, now_ms: int) -> CopiesPart | None:
    """How the copies stand, for the page; None without a bucket."""
    if address is None:
        return None
    return CopiesPart(
        address=address,
        copied=None if state.copied_at is None else moment(state.copied_at, now_ms),
        error=state.error,
        since=None if state.failing_since is None else moment(state.failing_since, now_ms),
    )


def backup_row(listed: Listed, problems: Mapping[str, str], now_ms: int) -> BackupRow:
    """A backup for the list; `problems` says by name what the last verification found wrong."""
    backup = listed.backup
    return BackupRow(
        name=backup.name,
        made=moment(backup.created_at, now_ms),
        kind=_(KINDS[backup.kind]),
        memories="–" if backup.memories is None else number(backup.memories),
        size=size(backup.size),
        encrypted=backup.name.endswith(".age"),
        state=_state(backup, problems.get(backup.name), now_ms),
        proven=None if backup.proven_at is None else moment(backup.proven_at, now_ms),
        here=HERE in listed.places,
        copy=next((place for place in listed.places if place != HERE), None),
    )


def problems_found(verifications: Iterable[Job]) -> dict[str, str]:
    """What is wrong with backups by their names, from the verifications that ended, newest first."""
    found: dict[str, str] = {}
    for job in verifications:
        result = job.result or {}
        if "name" in result:
            found.setdefault(result["name"], " ".join(result.get("problems", ())))
    return {name: problems for name, problems in found.items() if problems}


def tick_strip(
    backups: Sequence[Backup], failed: Iterable[Job], bad: Mapping[str, str]
) -> charts.Ticks | None:
    """The last backups and the tries that failed, the oldest first."""
    made = [(backup.created_at, *_tick(backup, backup.name in bad)) for backup in backups]
    lost = [(job.created_ms, "bad", _("no backup was made")) for job in failed]
    latest = sorted([*made, *lost])[-_SHOWN_TICKS:]
    return charts.ticks(
        [(state, _("%(when)s: %(what)s", when=times.exact(at), what=words)) for at, state, words in latest]
    )


def strip_words(strip: charts.Ticks | None) -> str:
    """`The last 12, oldest first: 3 proven by a restore, 8 verified, 1 failed.`"""
    if strip is None:
        return ""
    if len(strip.ticks) == 1:
        return {
            "good": _("The only one: proven by a restore."),
            "fair": _("The only one: verified."),
            "doubtful": _("The only one: not verified."),
            "bad": _("The only one: failed."),
        }[strip.ticks[0].state]
    counts = Counter(tick.state for tick in strip.ticks)
    names = {
        "good": _("%(count)s proven by a restore", count=counts["good"]),
        "fair": _("%(count)s verified", count=counts["fair"]),
        "doubtful": _("%(count)s not verified", count=counts["doubtful"]),
        "bad": _("%(count)s failed", count=counts["bad"]),
    }
    told = listed(words for state, words in names.items() if counts[state])
    return _("The last %(count)s, oldest first: %(told)s.", count=len(strip.ticks), told=told)


def snapshot_row(commit: Commit, now_ms: int) -> SnapshotRow:
    """A snapshot for the list."""
    return SnapshotRow(
        commit=commit.id, made=moment(commit.at, now_ms), subject=commit.subject, pushed=commit.pushed
    )


def effect(preview: Preview, now_ms: int) -> Effect:
    """What a restore would do, for its page."""
    told = preview.difference
    counts = [
        (told.added, _("come back"), _("they are in the backup and no longer here")),
        (told.lost, _("are lost"), _("they are here and not in the backup")),
        (told.changed, _("change"), _("they become again what they were")),
        (told.same, _("stay the same"), ""),
        (told.forgotten, _("stay away"), _("their source or session was forgotten since")),
    ]
    return Effect(
        made=moment(preview.created_at, now_ms),
        counts=tuple((number(count), words, more) for count, words, more in counts if count),
        changes_nothing=not (told.added or told.lost or told.changed),
        foreign=preview.foreign,
        other_model=preview.other_model,
        stays=tuple(_(STAYS[name]) for name in preview.kept_as_now if name in STAYS),
    )


def _state(backup: Backup, problem: str | None, now_ms: int) -> State:
    if problem is not None:
        return State(_("damaged"), "bad", None, problem)
    if backup.verified_at is None:
        return State(_("not verified"), "warn")
    return State(_("verified"), "good", moment(backup.verified_at, now_ms))


def _tick(backup: Backup, is_bad: bool) -> tuple[str, str]:
    if is_bad:
        return "bad", _("damaged")
    if backup.proven_at is not None:
        return "good", _("proven by a restore")
    return ("fair", _("verified")) if backup.verified_at is not None else ("doubtful", _("not verified"))
