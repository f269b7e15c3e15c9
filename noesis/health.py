"""Health: each part as a sentence; what still works and what to do when one does not."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from noesis.errors import NoesisError
from noesis.filling import Filling
from noesis.jobs import Jobs
from noesis.ledger import Job, JobFilter
from noesis.memory import to_datetime
from noesis.presence import Presence
from noesis.settings import Settings
from noesis.store import Dropped, Store
from noesis.store.filters import EVERYTHING
from noesis.store.recovery import QUARANTINE
from noesis.vectors import Vectors

State = Literal["ok", "degraded", "down"]

_CONCERNS_FOR_S = 5.0
_MOST_TOLD = 3
_LITTLE_ROOM_BYTES = 500 << 20
_NO_ROOM_BYTES = 1 << 20
_BY_WORDS = "Texts are stored and found by their words; vectors are filled in later."
_GOES_ON = "Nothing: it goes on by itself."


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the system; `since` is when it got into this state, as far as this process saw."""

    name: str
    state: State
    summary: str
    still_works: str = ""
    what_to_do: str = ""
    since: datetime | None = None


class Health(msgspec.Struct, frozen=True):
    """All parts, and the worst of their states."""

    state: State
    parts: tuple[Part, ...]


def said_of(dropped: Sequence[Dropped]) -> str:
    """The versions that the start had to leave behind, as a sentence."""
    versions = ", ".join(f"version {lost.version} of {lost.table}" for lost in dropped[:_MOST_TOLD])
    more = f" and {len(dropped) - _MOST_TOLD:,} more" if len(dropped) > _MOST_TOLD else ""
    return (
        f"{len(dropped):,} version{'s' if len(dropped) > 1 else ''} could not be read after an unclean stop and"
        f" {'were' if len(dropped) > 1 else 'was'} set aside in the folder {QUARANTINE}: {versions}{more}."
    )


def waiting_words(count: int) -> str:
    """How many texts have no vector yet, as a sentence with a blank before it; nothing for none."""
    if not count:
        return ""
    return f" {count:,} text{' waits for its vector' if count == 1 else 's wait for their vectors'}."


def progress_words(download: Job) -> str:
    """How far a download is, as a sentence; its progress is in bytes."""
    done, total = download.done, download.total
    share = f" ({done * 100 // total} % of {total / 2**20:.0f} MB)" if total else ""
    return f"The embedding model is being downloaded{share}."


def disk_part(free_bytes: int, *, read_only: bool) -> Part:
    """The data directory's disk, by what an ordinary user may still write on it."""
    size, unit = (free_bytes / 2**30, "GB") if free_bytes >= 2**30 else (free_bytes / 2**20, "MB")
    summary = f"{size:.{1 if unit == 'GB' else 0}f} {unit} are free on the data directory's disk."
    if read_only:
        return Part(
            name="disk",
            state="degraded",
            summary="The data directory's disk is read-only: nothing can be stored or changed.",
            still_works="Searching and reading.",
            what_to_do="See in the system's log whether the disk has errors; mount it writable again.",
        )
    if free_bytes >= _LITTLE_ROOM_BYTES:
        return Part(name="disk", state="ok", summary=summary)
    if free_bytes >= _NO_ROOM_BYTES:
        return Part(
            name="disk",
            state="degraded",
            summary=f"Only {summary}",
            still_works="Everything, until the disk is full.",
            what_to_do="Make room on that disk.",
        )
    return Part(
        name="disk",
        state="degraded",
        summary="The data directory's disk is full: nothing can be stored or changed.",
        still_works="Searching and reading.",
        what_to_do="Make room on that disk; writing then goes on by itself.",
    )


class HealthCheck:
    """Looks at every part."""

    def __init__(
        self,
        store: Store,
        vectors: Vectors,
        filling: Filling,
        jobs: Jobs,
        presence: Presence,
        settings: Settings,
        now_ms: Callable[[], int],
        more: Sequence[Callable[[], Awaitable[Part]]] = (),
    ) -> None:
        self._store = store
        self._more = more
        self._vectors = vectors
        self._filling = filling
        self._jobs = jobs
        self._presence = presence
        self._settings = settings
        self._now_ms = now_ms
        self._since: dict[str, tuple[State, int]] = {}
        self._concerns: tuple[Part, ...] = ()
        self._concerns_at = float("-inf")

    async def ready(self) -> bool:
        """Whether memories can be read."""
        return (await self._check_store()).state != "down"

    async def concerns(self) -> tuple[Part, ...]:
        """The parts that a person should know of on every page; at most five seconds old."""
        if time.monotonic() - self._concerns_at > _CONCERNS_FOR_S:
            report = await self.report()
            self._concerns = tuple(part for part in report.parts if part.state != "ok")
            self._concerns_at = time.monotonic()
        return self._concerns

    async def report(self) -> Health:
        """Every part as it is now."""
        parts = [
            await self._check_store(),
            await self._check_embedder(),
            await self._check_queue(),
            await self._check_worker(),
            self._check_disk(),
            self._check_access(),
            *[await check() for check in self._more],
        ]
        dated = tuple(msgspec.structs.replace(part, since=self._since_when(part)) for part in parts)
        order: tuple[State, ...] = ("ok", "degraded", "down")
        return Health(max((part.state for part in dated), key=order.index), dated)

    def _since_when(self, part: Part) -> datetime:
        known = self._since.get(part.name)
        if known is None or known[0] != part.state:
            known = (part.state, self._now_ms())
            self._since[part.name] = known
        return to_datetime(known[1])

    async def _check_store(self) -> Part:
        try:
            count = await self._store.active.count(EVERYTHING)
        except NoesisError as error:
            return Part(
                name="store",
                state="down",
                summary=error.message,
                what_to_do="Look at the data directory and its disk; `noesis doctor` says more.",
            )
        summary = f"{count:,} rows are readable."
        dropped = self._store.dropped_lately()
        if not dropped:
            return Part(name="store", state="ok", summary=summary)
        return Part(
            name="store",
            state="degraded",
            summary=f"{said_of(dropped)} {summary}",
            still_works="Everything.",
            what_to_do=(
                "After a power cut nothing: what was acknowledged had been synced before. Without one the disk"
                " is at fault: look at it, and restore a backup if memories are missing."
            ),
        )

    async def _check_embedder(self) -> Part:
        await self._ask_whose_vectors()
        behind = waiting_words(await self._filling.pending())
        download = await self._download()
        if download is not None and download.state == "running":
            summary, advice = progress_words(download), _GOES_ON
        elif (trouble := self._trouble(download)) is not None:
            summary, advice = trouble, self._advice()
        else:
            made_with = self._store.embedder
            summary = "No vector was needed yet." if made_with is None else f"{made_with.model} answers."
            if not behind:
                return Part(name="embedder", state="ok", summary=summary)
            advice = _GOES_ON
        return Part(
            name="embedder",
            state="degraded",
            summary=summary + behind,
            still_works=_BY_WORDS,
            what_to_do=advice,
        )

    async def _ask_whose_vectors(self) -> None:
        """Ask the embedder who it is, where nobody did since the start, or where it was another model's."""
        if self._store.embedder is not None and (self._vectors.is_other_model or not self._vectors.was_used):
            await self._vectors.look()

    async def _download(self) -> Job | None:
        """The newest download of the model, whichever process does or did it."""
        newest = await self._jobs.list(JobFilter(names=("prepare_model",)), limit=1)
        return next(iter(newest.jobs), None)

    def _trouble(self, download: Job | None) -> str | None:
        """What the embedder fails with; of a model that is missing, why it could not be had."""
        is_missing = self._vectors.embedder.model_status.state == "missing"
        if is_missing and download is not None and download.state == "failed":
            return download.error
        return self._vectors.trouble

    def _advice(self) -> str:
        """What to do about an embedder that fails."""
        if self._vectors.is_other_model:
            return (
                "Make all vectors anew with the new model: `noesis reembed`, which searches go on beside. Or set"
                " NOESIS_EMBEDDER and NOESIS_EMBEDDING_MODEL to the former model again, or put that one back into Ollama."
            )
        match self._vectors.embedder.model_status.state:
            case "missing":
                return "See that Ollama has room and reaches its registry; the download is tried again by itself."
            case "unreachable":
                return "Start Ollama, or see in its log why it fails; NOESIS_OLLAMA_URL is where it is looked for."
            case _:
                return "Wait, if it is loading its model or has much to do; otherwise look at its log."

    async def _check_queue(self) -> Part:
        status = await self._jobs.redis_status()
        if status.reachable and not status.warning:
            return Part(name="queue", state="ok", summary="Redis answers.")
        return Part(
            name="queue",
            state="degraded",
            summary=status.warning or "This process has no Redis.",
            still_works="Everything; background work starts a little later.",
            what_to_do=status.remedy
            or "Name one in NOESIS_REDIS_URL, or start `noesis up`, which brings its own.",
        )

    async def _check_worker(self) -> Part:
        if await self._presence.is_there():
            return Part(name="worker", state="ok", summary="A worker is at work.")
        return Part(
            name="worker",
            state="degraded",
            summary="No worker gave a sign of life within the last minute.",
            still_works="Storing and searching; vectors, upkeep and other long work wait.",
            what_to_do="Start it: `noesis worker`, or `noesis up` for everything in one process.",
        )

    def _check_access(self) -> Part:
        if not self._settings.is_exposed:
            return Part(name="access", state="ok", summary="Reached from this machine, or by HTTPS.")
        return Part(
            name="access",
            state="degraded",
            summary=f"The server listens on {self._settings.host} without encryption.",
            still_works="Everything, but passwords, tokens and memories can be read on the way.",
            what_to_do="Put a proxy with HTTPS before it and set NOESIS_SECURE_COOKIES, or listen on 127.0.0.1.",
        )

    def _check_disk(self) -> Part:
        disk = os.statvfs(self._settings.data_dir)
        return disk_part(disk.f_bavail * disk.f_frsize, read_only=bool(disk.f_flag & os.ST_RDONLY))
