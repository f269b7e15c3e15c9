"""Jobs and their schedule as the templates show them: names in words, how far, how long still."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from noesis.dashboard import times
from noesis.dashboard.presenters import Moment, moment
from noesis.dashboard.stats_page import size
from noesis.dashboard.translation import _, gettext_noop, number
from noesis.dashboard.words import figure_words
from noesis.ledger import Job
from noesis.worker.crons import Cron, slot_ms

WORDS = {
    "embed_pending": gettext_noop("Make the vectors that are missing"),
    "prepare_model": gettext_noop("Download the embedding model"),
    "upkeep": gettext_noop("Compact and index the store"),
    "scan_source": gettext_noop("Read a followed place"),
    "scan_all": gettext_noop("Look at every followed place"),
    "capture_turn": gettext_noop("Capture what was said"),
    "import": gettext_noop("Import memories"),
    "cleanup": gettext_noop("Archive what has expired"),
    "dedup": gettext_noop("Look for near-duplicates"),
    "backup": gettext_noop("Make a backup"),
    "fetch_backup": gettext_noop("Fetch a backup from the bucket"),
    "fetch_snapshot": gettext_noop("Fetch a snapshot back"),
    "preview": gettext_noop("Look at what a restore would do"),
    "verify": gettext_noop("Verify a backup"),
    "restore": gettext_noop("Restore a backup"),
    "drill": gettext_noop("Prove that the latest backup restores"),
    "snapshot": gettext_noop("Push a snapshot to Git"),
    "reembed": gettext_noop("Embed everything anew"),
    "reconcile": gettext_noop("Find jobs that were lost"),
}
"""What a job does, by its name."""

_LEAST_PERIOD_MS = 60_000
"""What comes round more often than this is the machine's own breathing and no news to a person."""

_RESULT_WORDS = 6

_IN_BYTES = frozenset({"backup", "fetch_backup", "preview", "verify", "restore", "drill", "prepare_model"})
"""Jobs whose progress is in bytes."""

_NO_NEWS = frozenset(
    {
        "created_at",
        "verified_at",
        "proven_at",
        "took_ms",
        "instance",
        "key",
        "product_version",
        "sha256",
        "copied_at",
    }
)
"""What stands in a result for programs."""


class JobRow(msgspec.Struct, frozen=True, kw_only=True):
    """One job; `share` is how much is done (0 to 1) where that is known, `figures` what came of it."""

    id: str
    words: str
    state: str
    at: Moment
    done: int
    total: int | None
    far: str
    left: str | None
    error: str | None
    figures: tuple[tuple[str, str], ...]
    stopping: bool
    attempts: int


class CronRow(msgspec.Struct, frozen=True, kw_only=True):
    """One recurring job: how often, when it last ended well (None: never) and when it is next."""

    name: str
    words: str
    often: str
    last: Moment | None
    next: Moment


def words_of(name: str) -> str:
    """What a job of this name does."""
    return _(WORDS[name]) if name in WORDS else name.replace("_", " ").capitalize()


def job_row(job: Job, now_ms: int) -> JobRow:
    """A job for a list; its time is that of its last change."""
    at = job.finished_ms or job.started_ms or job.created_ms
    if job.state == "queued":
        at = max(job.not_before_ms, job.created_ms)
    return JobRow(
        id=job.id,
        words=words_of(job.name),
        state=job.state,
        at=moment(at, now_ms),
        done=job.done,
        total=job.total,
        far=_far(job),
        left=_left(job, now_ms) if job.state == "running" else None,
        error=job.error or " ".join((job.result or {}).get("problems", ())) or None,
        figures=_figures(job.result or {}) if job.state == "succeeded" else (),
        stopping=job.cancel_requested,
        attempts=job.attempts,
    )


def schedule(crons: Iterable[Cron], last: Mapping[str, int], now_ms: int) -> list[CronRow]:
    """The recurring jobs that matter to a person, the next one first."""
    shown = [cron for cron in crons if cron.period_ms >= _LEAST_PERIOD_MS]
    coming = sorted((slot_ms(cron, now_ms) + cron.period_ms, cron.name, cron) for cron in shown)
    return [
        CronRow(
            name=name,
            words=words_of(cron.job),
            often=_often(cron),
            last=moment(last[cron.job], now_ms) if cron.job in last else None,
            next=_soon(moment(at, now_ms)),
        )
        for at, name, cron in coming
    ]


def _soon(at: Moment) -> Moment:
    return msgspec.structs.replace(at, words=_("within a minute")) if at.words == _(times.JUST_NOW) else at


def _often(cron: Cron) -> str:
    if cron.daily_at is not None:
        return _("daily at %(time)s %(zone)s", time=f"{cron.daily_at:%H:%M}", zone=cron.zone.tzname(None))
    return times.span(cron.period_ms / 1000, times.EVERY)


def _left(job: Job, now_ms: int) -> str | None:
    """How long it still takes, if it goes on as it went; None before that can be told."""
    if not (job.total and job.done and job.started_ms) or job.done >= job.total:
        return None
    seconds = (now_ms - job.started_ms) / 1000 * (job.total - job.done) / job.done
    return times.span(seconds, times.LEFT) if seconds >= 60 else _("less than a minute left")


def _far(job: Job) -> str:
    """How far it is: `3,210 of 12,000`, `12.0 MB of 80.0 MB`."""
    told: Callable[[int], str] = size if job.name in _IN_BYTES else number
    if job.total is None:
        return _("%(done)s so far", done=told(job.done))
    return _("%(done)s of %(total)s", done=told(job.done), total=told(job.total))


def _figures(result: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The counts of a result that are not zero; a text among them is a reason."""
    told = [
        (figure_words(name), _figure(name, value))
        for name, value in result.items()
        if isinstance(value, int | float | str) and not isinstance(value, bool) and value
        if name not in _NO_NEWS
    ]
    return tuple(told[:_RESULT_WORDS])


def _figure(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name in ("size", "bytes"):
        return size(int(value))
    return number(value, len(str(value).partition(".")[2]))
