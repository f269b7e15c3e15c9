"""What may be sent along with a question for help: how things stand, without memory text and without secrets."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import msgspec

from noesis.health import HealthCheck
from noesis.jobs import Jobs
from noesis.ledger import Job
from noesis.memory import Role, Scope, to_datetime
from noesis.settings import Settings
from noesis.shown_settings import shown_settings, without_secrets
from noesis.stats import Counts, Statistics
from noesis.store import Store
from noesis.versions import versions

_JOBS = 500

_READ_ME = """This bundle tells how this Noesis stands. It holds no memory, no question and no secret.
Addresses, paths and names of models do stand in it: look through it before you send it.

health.json     every check as a sentence
versions.json   what runs here
settings.json   every setting; secrets only as set or not set
counts.json     memories by type, priority and vector state; how the store lies on the disk
store.json      the live generation and the model of its vectors
jobs.json       the last jobs: names, times, ends and errors, without what they were told
"""


class SupportBundle:
    """Puts the bundle together."""

    def __init__(
        self,
        health: HealthCheck,
        statistics: Statistics,
        jobs: Jobs,
        store: Store,
        settings: Settings,
        now_ms: Callable[[], int],
    ) -> None:
        self._health = health
        self._statistics = statistics
        self._jobs = jobs
        self._store = store
        self._settings = settings
        self._now_ms = now_ms

    async def pack(self) -> bytes:
        """The bundle as a zip archive.  Raises a StoreError."""
        stats = await self._statistics.stats(Scope(agent=None, role=Role.ADMIN))
        jobs = await self._jobs.list(limit=_JOBS)
        files: dict[str, Any] = {
            "health.json": await self._health.report(),
            "versions.json": versions(),
            "settings.json": {shown.name: shown.value for shown in shown_settings(self._settings)},
            "counts.json": {
                "active": _counts(stats.active),
                "archive": _counts(stats.archive),
                "disk": stats.disk,
            },
            "store.json": self._store.info,
            "jobs.json": [_job(job) for job in jobs.jobs],
        }
        packed = io.BytesIO()
        at = to_datetime(self._now_ms()).timetuple()[:6]
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("README.txt", at), _READ_ME)
            for name, content in files.items():
                text = msgspec.json.format(msgspec.json.encode(content)).decode()
                entry = zipfile.ZipInfo(name, at)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, without_secrets(text, self._settings))
        return packed.getvalue()


def _counts(counts: Counts) -> dict[str, Any]:
    """Agents are counted and not named."""
    return {
        "memories": counts.memories,
        "agents": len(counts.by_agent),
        "by_type": counts.by_type,
        "by_priority": counts.by_priority,
        "by_embedding_state": counts.by_embedding_state,
    }


def _job(job: Job) -> dict[str, Any]:
    """A job without its arguments and key; of its result only the figures."""
    left_out = {"args", "key", "result"}
    told = {name: getattr(job, name) for name in Job.__struct_fields__ if name not in left_out}
    figures = {name: value for name, value in (job.result or {}).items() if isinstance(value, int | float)}
    return {**told, "figures": figures}
