"""The composition root: the only place where the parts are put together."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from noesis.activity import ActivityLog
from noesis.admin import Admin
from noesis.agents import Agents
from noesis.audit import Audit
from noesis.backup.health import BackupHealth
from noesis.backup.operation import Backups
from noesis.browsing import Browsing
from noesis.chosen_acts import ChosenActs
from noesis.cleaning import Forget
from noesis.cleaning_health import CleaningHealth
from noesis.context_engine import ContextEngine, context_engine
from noesis.control import Control
from noesis.duplicates.book import FindingBook
from noesis.duplicates.operation import Duplicates
from noesis.editing import Editing
from noesis.embedder_choice import choose_embedder
from noesis.embedding import Embedder
from noesis.exporting.operation import Exporting
from noesis.extending import Extending
from noesis.figures import job_source, part_source, source_source, store_source
from noesis.filling import Filling
from noesis.growth import Growth
from noesis.health import HealthCheck, said_of
from noesis.history_log import HistoryLog
from noesis.indexing import Indexing
from noesis.inflow import Inflow, inflow
from noesis.jobs import Jobs
from noesis.latencies import Latencies
from noesis.ledger import Ledger
from noesis.lifetimes import Lifetimes
from noesis.metrics import Metrics
from noesis.opened import (
    Opened,
    fusion_of,
    index_policy,
    make_data_dir,
    open_control,
    system_now_ms,
    worker_is_there,
)
from noesis.oversight import Oversight, oversight
from noesis.presence import Presence
from noesis.quotas import Quotas
from noesis.ranking.fusion import Fusion
from noesis.redacting import Redacting
from noesis.reembedding.operation import Reembedding
from noesis.refusals import Refusals
from noesis.related import Related
from noesis.retention import Retention, retention
from noesis.search import Search
from noesis.settings import Settings
from noesis.snapshots.operation import Snapshots
from noesis.stats import Statistics
from noesis.store import Store
from noesis.superseding import Superseding
from noesis.tokens import Tokens
from noesis.tombstones import Tombstones
from noesis.upkeep_health import UpkeepHealth
from noesis.usage import Usage
from noesis.uses import Uses
from noesis.vectors import QUERY_DEADLINE_S, Vectors
from noesis.why_not import WhyNot
from noesis.word_statistics import WordCounts
from noesis.write_rates import WriteRates

__all__ = [
    "Noesis",
    "fusion_of",
    "index_policy",
    "make_data_dir",
    "open_backups",
    "open_control",
    "open_runtime",
    "system_now_ms",
    "worker_is_there",
]


class Noesis(msgspec.Struct, kw_only=True):
    """Everything an entry point needs, wired."""

    settings: Settings
    now_ms: Callable[[], int]
    control: Control
    store: Store
    embedder: Embedder
    vectors: Vectors
    indexing: Indexing
    browsing: Browsing
    editing: Editing
    filling: Filling
    search: Search
    reembedding: Reembedding
    why_not: WhyNot
    superseding: Superseding
    exporting: Exporting
    uses: Uses
    usage: Usage
    duplicates: Duplicates
    related: Related
    statistics: Statistics
    growth: Growth
    latencies: Latencies
    jobs: Jobs
    activity: ActivityLog
    tokens: Tokens
    agents: Agents
    redacting: Redacting
    quotas: Quotas
    write_rates: WriteRates
    admin: Admin
    audit: Audit
    presence: Presence
    health: HealthCheck
    metrics: Metrics
    inflow: Inflow
    retention: Retention
    oversight: Oversight
    context: ContextEngine
    backups: Backups
    snapshots: Snapshots


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    redis_url: str | None = None,
    query_deadline_s: float = QUERY_DEADLINE_S,
    now_ms: Callable[[], int] = system_now_ms,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Noesis]:
    """Open everything, and close it in the opposite order.

    `embedder` and `redis_url` stand in for what the settings name; `query_deadline_s` is how long a
    search may wait for its vector; `environ` says where OpenClaw's places are.  Raises SettingsError or a StoreError.
    """
    fusion = fusion_of(settings)
    async with AsyncExitStack() as stack:
        control = open_control(settings)
        stack.callback(control.close)
        history = HistoryLog(control)
        stack.push_async_callback(history.close)
        store = await Store.open(
            settings.store_dir, now_ms=now_ms, policy=index_policy(settings), witness=history.witness
        )
        stack.push_async_callback(store.close)
        embedder = embedder or await choose_embedder(settings, control)
        stack.push_async_callback(embedder.close)
        vectors = Vectors(embedder, store, query_deadline_s=query_deadline_s)
        words = WordCounts(now_ms)
        stack.push_async_callback(words.close)
        jobs = Jobs(Ledger(control), redis_url=redis_url or settings.redis_url, now_ms=now_ms)
        stack.push_async_callback(jobs.close)
        opened = Opened(control, store, history, vectors, words, jobs, ActivityLog(control, now_ms), now_ms)
        admin = await _admin(control, settings)
        if store.dropped:
            await opened.activity.record("recovery", said_of(store.dropped), level="warning")
        noesis = _wired(opened, admin, settings, fusion, os.environ if environ is None else environ)
        stack.push_async_callback(noesis.uses.close)
        stack.push_async_callback(noesis.latencies.close)
        stack.push_async_callback(noesis.context.recalling.close)
        await noesis.backups.settle()
        yield noesis


@asynccontextmanager
async def open_backups(settings: Settings, *, despite_damage: bool = False) -> AsyncIterator[Backups]:
    """The backups alone, without an embedder; with `despite_damage` also where the store cannot be read.

    Raises SettingsError or a StoreError.
    """
    control = open_control(settings)
    try:
        store = await Store.open(
            settings.store_dir,
            now_ms=system_now_ms,
            policy=index_policy(settings),
            despite_damage=despite_damage,
        )
        try:
            backups = Backups(
                store, control, settings, system_now_ms, Tombstones(control, system_now_ms).forgotten
            )
            await backups.settle()
            yield backups
        finally:
            await store.close()
    finally:
        control.close()


class _Shared(msgspec.Struct, frozen=True):
    """The operations that other operations use."""

    agents: Agents
    redacting: Redacting
    lifetimes: Lifetimes
    quotas: Quotas
    browsing: Browsing
    audit: Audit
    superseding: Superseding
    uses: Uses
    findings: FindingBook
    chosen: ChosenActs
    filling: Filling
    presence: Presence

    @property
    def forget(self) -> tuple[Forget, ...]:
        """What is told of memories that are gone for good."""
        return (self.uses.drop, self.superseding.drop, self.findings.drop, self.chosen.drop)


def _shared(opened: Opened, settings: Settings) -> _Shared:
    control, store, now_ms = opened.control, opened.store, opened.now_ms
    agents = Agents(control, now_ms)
    lifetimes = Lifetimes(agents, settings)
    extending = Extending(store, lifetimes, now_ms) if settings.extend_on_use else None
    return _Shared(
        agents=agents,
        redacting=Redacting(control, agents, settings.redaction),
        lifetimes=lifetimes,
        quotas=Quotas(
            store, agents, Refusals(control), opened.activity, now_ms, default=settings.max_memories
        ),
        browsing=Browsing(store, now_ms),
        audit=Audit(control, now_ms),
        superseding=Superseding(control, store, now_ms, opened.history.witness),
        uses=Uses(control, store, now_ms, extending=extending),
        findings=FindingBook(control, now_ms),
        chosen=ChosenActs(control, now_ms),
        filling=Filling(store, opened.vectors, now_ms),
        presence=Presence(control, now_ms),
    )


class _Answering(msgspec.Struct, frozen=True):
    """What writes and finds memories, and makes their vectors anew."""

    indexing: Indexing
    editing: Editing
    search: Search
    reembedding: Reembedding


def _answering(opened: Opened, shared: _Shared, settings: Settings, fusion: Fusion | None) -> _Answering:
    store, vectors, now_ms = opened.store, opened.vectors, opened.now_ms
    redacting, quotas, lifetimes = shared.redacting, shared.quotas, shared.lifetimes
    return _Answering(
        indexing=Indexing(store, vectors, redacting, quotas, lifetimes, settings, now_ms),
        editing=Editing(store, vectors, redacting, quotas, lifetimes, settings, now_ms),
        search=Search(
            store, vectors, opened.words, settings, now_ms, fusion=fusion, superseding=shared.superseding
        ),
        reembedding=Reembedding(store, vectors, settings, now_ms, fusion),
    )


class _Groups(msgspec.Struct, frozen=True):
    """The groups of operations that have a module of their own."""

    inflow: Inflow
    retention: Retention
    oversight: Oversight
    context: ContextEngine
    backups: Backups
    snapshots: Snapshots


def _groups(
    opened: Opened, shared: _Shared, answering: _Answering, settings: Settings, environ: Mapping[str, str]
) -> _Groups:
    control, store, now_ms = opened.control, opened.store, opened.now_ms
    redacting, lifetimes, quotas = shared.redacting, shared.lifetimes, shared.quotas
    superseding, audit = shared.superseding, shared.audit
    brought_in = inflow(
        opened, answering.indexing, redacting, quotas, lifetimes, superseding, settings, environ
    )
    backups = Backups(store, control, settings, now_ms, Tombstones(control, now_ms).forgotten)
    return _Groups(
        inflow=brought_in,
        retention=retention(opened, shared.browsing, lifetimes, quotas, audit, settings, shared.forget),
        oversight=oversight(
            opened,
            redacting,
            lifetimes,
            quotas,
            brought_in,
            audit,
            settings,
            shared.forget,
            shared.chosen,
        ),
        context=context_engine(
            opened, brought_in.capturing, redacting, answering.search, superseding, settings
        ),
        backups=backups,
        snapshots=Snapshots(control, settings, backups, now_ms),
    )


def _health(opened: Opened, shared: _Shared, groups: _Groups, settings: Settings) -> HealthCheck:
    store, now_ms = opened.store, opened.now_ms
    more = (
        CleaningHealth(groups.retention.cleaning).check,
        groups.inflow.health.check,
        shared.quotas.check,
        UpkeepHealth(store, opened.jobs).check,
        BackupHealth(groups.backups, store, settings, now_ms).check,
    )
    return HealthCheck(
        store, opened.vectors, shared.filling, opened.jobs, shared.presence, settings, now_ms, more=more
    )


def _metrics(
    opened: Opened, shared: _Shared, groups: _Groups, statistics: Statistics, health: HealthCheck
) -> Metrics:
    scanning, signs = groups.inflow.scanning, groups.inflow.signs
    return Metrics(
        {
            "store": store_source(statistics, shared.filling),
            "jobs": job_source(opened.jobs, opened.now_ms),
            "roots": source_source(scanning, signs, opened.now_ms),
            "parts": part_source(health),
        }
    )


def _wired(
    opened: Opened, admin: Admin, settings: Settings, fusion: Fusion | None, environ: Mapping[str, str]
) -> Noesis:
    """The operations on what was opened."""
    control, store, vectors, now_ms = opened.control, opened.store, opened.vectors, opened.now_ms
    shared = _shared(opened, settings)
    answering = _answering(opened, shared, settings, fusion)
    groups = _groups(opened, shared, answering, settings, environ)
    statistics = Statistics(store, shared.redacting, now_ms)
    health = _health(opened, shared, groups, settings)
    return Noesis(
        settings=settings,
        now_ms=now_ms,
        control=control,
        store=store,
        embedder=vectors.embedder,
        vectors=vectors,
        indexing=answering.indexing,
        browsing=shared.browsing,
        editing=answering.editing,
        filling=shared.filling,
        search=answering.search,
        reembedding=answering.reembedding,
        why_not=WhyNot(store, answering.search, now_ms),
        superseding=shared.superseding,
        exporting=Exporting(store, shared.superseding, now_ms),
        uses=shared.uses,
        usage=Usage(shared.uses, store, now_ms),
        duplicates=Duplicates(store, shared.findings, shared.superseding, shared.uses, now_ms),
        related=Related(store, now_ms),
        statistics=statistics,
        growth=Growth(store, now_ms),
        latencies=Latencies(control, now_ms),
        jobs=opened.jobs,
        activity=opened.activity,
        tokens=Tokens(control, now_ms),
        agents=shared.agents,
        redacting=shared.redacting,
        quotas=shared.quotas,
        write_rates=WriteRates(shared.agents, settings.writes_per_minute),
        admin=admin,
        audit=shared.audit,
        presence=shared.presence,
        health=health,
        metrics=_metrics(opened, shared, groups, statistics, health),
        inflow=groups.inflow,
        retention=groups.retention,
        oversight=groups.oversight,
        context=groups.context,
        backups=groups.backups,
        snapshots=groups.snapshots,
    )


async def _admin(control: Control, settings: Settings) -> Admin:
    admin = Admin(control)
    if settings.admin_password is not None:
        await admin.adopt_password(settings.admin_password)
    return admin
