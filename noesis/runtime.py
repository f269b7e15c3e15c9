"""The composition root: the only place where the parts are put together."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from noesis.activity import ActivityLog
from noesis.admin import Admin
from noesis.agents import Agents
from noesis.archiving import Archiving
from noesis.audit import Audit
from noesis.backup.health import BackupHealth
from noesis.backup.operation import Backups
from noesis.browsing import Browsing
from noesis.capturing import Capturing
from noesis.cleaning import Cleaning, Forget
from noesis.cleaning_health import CleaningHealth
from noesis.clock_guard import ClockGuard, system_uptime
from noesis.context.assembling import Assembling
from noesis.context.fitness import Fitness
from noesis.context.intake import Intake
from noesis.context.recalling import Recalling
from noesis.context.standing import Standing
from noesis.control import Control, sqlite_url
from noesis.duplicates.book import FindingBook
from noesis.duplicates.operation import Duplicates
from noesis.editing import Editing
from noesis.embedder_choice import choose_embedder
from noesis.embedding import Embedder
from noesis.erasing import Forgotten
from noesis.errors import SettingsError
from noesis.exporting.operation import Exporting
from noesis.extending import Extending
from noesis.figures import job_source, part_source, source_source, store_source
from noesis.filling import Filling
from noesis.following import Following
from noesis.growth import Growth
from noesis.health import HealthCheck, said_of
from noesis.history_log import HistoryLog
from noesis.importing.documents import DocumentImport
from noesis.importing.operation import Importing
from noesis.importing.places import Places
from noesis.importing.records import RecordImport
from noesis.importing.turns import TurnImport
from noesis.inbox import Inbox
from noesis.indexing import Indexing
from noesis.jobs import Jobs
from noesis.latencies import Latencies
from noesis.ledger import Ledger
from noesis.lifetimes import Lifetimes
from noesis.metrics import Metrics
from noesis.mirroring import Mirror
from noesis.oversight import Oversight, oversight
from noesis.presence import Presence
from noesis.purging import Purging
from noesis.quotas import Quotas
from noesis.ranking.fusion import Fusion, decode
from noesis.reading import FileReader
from noesis.redacting import Redacting
from noesis.refusals import Refusals
from noesis.related import Related
from noesis.scanning import Scanning
from noesis.search import Search
from noesis.settings import Settings
from noesis.snapshots.operation import Snapshots
from noesis.source_health import SourceHealth
from noesis.sources.book import Book
from noesis.sources.roots import Roots
from noesis.stats import Statistics
from noesis.store import IndexPolicy, Store
from noesis.superseding import Superseding
from noesis.tokens import Tokens
from noesis.tombstones import Tombstones
from noesis.upkeep_health import UpkeepHealth
from noesis.uploads import Uploads
from noesis.usage import Usage
from noesis.uses import Uses
from noesis.vectors import QUERY_DEADLINE_S, Vectors
from noesis.watch_signs import WatchSigns
from noesis.why_not import WhyNot
from noesis.word_statistics import WordCounts
from noesis.write_rates import WriteRates


def system_now_ms() -> int:
    """The time in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Inflow(msgspec.Struct, kw_only=True):
    """What brings memories in: capture, the inbox, the places that are followed, and imports."""

    inbox: Inbox
    capturing: Capturing
    roots: Roots
    following: Following
    scanning: Scanning
    signs: WatchSigns
    health: SourceHealth
    uploads: Uploads
    importing: Importing


class ContextEngine(msgspec.Struct, kw_only=True):
    """What goes into a host's prompts, and what its turns leave behind."""

    recalling: Recalling
    assembling: Assembling
    intake: Intake


class Retention(msgspec.Struct, kw_only=True):
    """How long memories live, and what becomes of them afterwards."""

    lifetimes: Lifetimes
    clock: ClockGuard
    purging: Purging
    cleaning: Cleaning
    archiving: Archiving


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
        opened = _Opened(control, store, history, vectors, words, jobs, ActivityLog(control, now_ms), now_ms)
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


class _Opened(msgspec.Struct, frozen=True):
    """What has to be opened and closed, and what nearly all parts need of it."""

    control: Control
    store: Store
    history: HistoryLog
    vectors: Vectors
    words: WordCounts
    jobs: Jobs
    activity: ActivityLog
    now_ms: Callable[[], int]


def _wired(
    opened: _Opened, admin: Admin, settings: Settings, fusion: Fusion | None, environ: Mapping[str, str]
) -> Noesis:
    """The operations on what was opened."""
    control, store, vectors, now_ms = opened.control, opened.store, opened.vectors, opened.now_ms
    agents = Agents(control, now_ms)
    redacting = Redacting(control, agents, settings.redaction)
    lifetimes = Lifetimes(agents, settings)
    quotas = Quotas(store, agents, Refusals(control), opened.activity, now_ms, default=settings.max_memories)
    indexing = Indexing(store, vectors, redacting, quotas, lifetimes, settings, now_ms)
    superseding = Superseding(control, store, now_ms, opened.history.witness)
    extending = Extending(store, lifetimes, now_ms) if settings.extend_on_use else None
    uses = Uses(control, store, now_ms, extending=extending)
    search = Search(store, vectors, opened.words, settings, now_ms, fusion=fusion, superseding=superseding)
    filling = Filling(store, vectors, now_ms)
    presence = Presence(control, now_ms)
    inflow = _inflow(opened, indexing, redacting, quotas, lifetimes, superseding, settings, environ)
    browsing = Browsing(store, now_ms)
    audit = Audit(control, now_ms)
    findings = FindingBook(control, now_ms)
    forget = (uses.drop, superseding.drop, findings.drop)
    retention = _retention(opened, browsing, lifetimes, quotas, audit, settings, forget)
    backups = Backups(store, control, settings, now_ms, Tombstones(control, now_ms).forgotten)
    snapshots = Snapshots(control, settings, backups, now_ms)
    more = (
        CleaningHealth(retention.cleaning).check,
        inflow.health.check,
        quotas.check,
        UpkeepHealth(store, opened.jobs).check,
        BackupHealth(backups, store, settings, now_ms).check,
    )
    statistics = Statistics(store, redacting, now_ms)
    health = HealthCheck(store, vectors, filling, opened.jobs, presence, settings, now_ms, more=more)
    return Noesis(
        settings=settings,
        now_ms=now_ms,
        control=control,
        store=store,
        embedder=vectors.embedder,
        vectors=vectors,
        indexing=indexing,
        browsing=browsing,
        editing=Editing(store, vectors, redacting, quotas, lifetimes, settings, now_ms),
        filling=filling,
        search=search,
        why_not=WhyNot(store, search, now_ms),
        superseding=superseding,
        exporting=Exporting(store, superseding, now_ms),
        uses=uses,
        usage=Usage(uses, store, now_ms),
        duplicates=Duplicates(store, findings, superseding, uses, now_ms),
        related=Related(store, now_ms),
        statistics=statistics,
        growth=Growth(store, now_ms),
        latencies=Latencies(control, now_ms),
        jobs=opened.jobs,
        activity=opened.activity,
        tokens=Tokens(control, now_ms),
        agents=agents,
        redacting=redacting,
        quotas=quotas,
        write_rates=WriteRates(agents, settings.writes_per_minute),
        admin=admin,
        audit=audit,
        presence=presence,
        health=health,
        metrics=Metrics(
            {
                "store": store_source(statistics, filling),
                "jobs": job_source(opened.jobs, now_ms),
                "roots": source_source(inflow.scanning, inflow.signs, now_ms),
                "parts": part_source(health),
            }
        ),
        inflow=inflow,
        retention=retention,
        oversight=oversight(
            opened.history,
            store,
            control,
            redacting,
            lifetimes,
            inflow.capturing,
            inflow.inbox,
            audit,
            settings,
            now_ms,
            forget,
        ),
        context=_context(opened, inflow.capturing, redacting, search, superseding, settings),
        backups=backups,
        snapshots=snapshots,
    )


def _context(
    opened: _Opened,
    capturing: Capturing,
    redacting: Redacting,
    search: Search,
    superseding: Superseding,
    settings: Settings,
) -> ContextEngine:
    """The context engine."""
    store, now_ms = opened.store, opened.now_ms
    fitness = Fitness(superseding)
    recalling = Recalling(store, opened.vectors, search, settings)
    return ContextEngine(
        recalling=recalling,
        assembling=Assembling(
            opened.control, Standing(store, fitness, settings, now_ms), recalling, fitness, settings
        ),
        intake=Intake(opened.control, capturing, redacting, now_ms),
    )


def _retention(
    opened: _Opened,
    browsing: Browsing,
    lifetimes: Lifetimes,
    quotas: Quotas,
    audit: Audit,
    settings: Settings,
    forget: Sequence[Forget],
) -> Retention:
    """The lives of memories; the machine's uptime speaks for the clock only where it is the machine's."""
    control, store, now_ms = opened.control, opened.store, opened.now_ms
    clock = ClockGuard(control, now_ms, system_uptime if now_ms is system_now_ms else lambda: None)
    purging = Purging(store, Book(control), settings)
    return Retention(
        lifetimes=lifetimes,
        clock=clock,
        purging=purging,
        cleaning=Cleaning(store, control, clock, purging, audit, settings, now_ms, forget),
        archiving=Archiving(store, browsing, lifetimes, quotas, now_ms),
    )


def _inflow(
    opened: _Opened,
    indexing: Indexing,
    redacting: Redacting,
    quotas: Quotas,
    lifetimes: Lifetimes,
    superseding: Superseding,
    settings: Settings,
    environ: Mapping[str, str],
) -> Inflow:
    """All that brings memories in by itself."""
    control, now_ms = opened.control, opened.now_ms
    inbox = Inbox(control, indexing, now_ms)
    forgotten = Forgotten(opened.store, Tombstones(control, now_ms))
    capturing = Capturing(control, indexing, inbox, redacting, forgotten, now_ms)
    mirror = Mirror(opened.store, opened.vectors, redacting, quotas, forgotten, settings, now_ms)
    roots, book = Roots(control), Book(control)
    reader = FileReader(book, mirror, capturing, now_ms)
    scanning = Scanning(roots, book, reader, mirror, opened.activity, now_ms, settings)
    signs = WatchSigns(control, now_ms)
    following = Following(roots, book, mirror, settings, environ, now_ms)
    uploads = Uploads(settings.data_dir / "uploads", now_ms, most_bytes=settings.import_max_mb << 20)
    return Inflow(
        inbox=inbox,
        capturing=capturing,
        roots=roots,
        following=following,
        scanning=scanning,
        signs=signs,
        health=SourceHealth(scanning, signs, now_ms),
        uploads=uploads,
        importing=Importing(
            Places(following, uploads, settings),
            records=RecordImport(
                opened.store,
                opened.vectors,
                redacting,
                quotas,
                lifetimes,
                settings,
                now_ms,
                superseding,
                forgotten,
            ),
            turns=TurnImport(control, capturing),
            documents=DocumentImport(opened.store, roots, book, reader, redacting, settings),
            following=following,
            scanning=scanning,
        ),
    )


async def _admin(control: Control, settings: Settings) -> Admin:
    admin = Admin(control)
    if settings.admin_password is not None:
        await admin.adopt_password(settings.admin_password)
    return admin


def index_policy(settings: Settings) -> IndexPolicy:
    """The settings of the vector index, as the store takes them."""
    return IndexPolicy(
        kind=settings.ann_index,
        min_rows=settings.ann_min_rows,
        sub_vectors=settings.ann_sub_vectors,
        nprobes=settings.ann_nprobe,
    )


def fusion_of(settings: Settings) -> Fusion | None:
    """The model of NOESIS_FUSION_WEIGHTS, None for the one that ships.  Raises SettingsError."""
    path = settings.fusion_weights
    if path is None:
        return None
    try:
        return decode(path.expanduser().read_bytes())
    except OSError as error:
        raise SettingsError(f"NOESIS_FUSION_WEIGHTS ({path}) cannot be read: {error.strerror}.") from error
    except msgspec.DecodeError as error:
        raise SettingsError(f"NOESIS_FUSION_WEIGHTS ({path}) is no file of weights: {error}.") from error
    except KeyError as error:
        raise SettingsError(
            f"NOESIS_FUSION_WEIGHTS ({path}) names {error}, which this version does not know."
        ) from error


def make_data_dir(settings: Settings) -> None:
    """Make NOESIS_DATA, for its owner alone, if it is not there.  Raises SettingsError."""
    try:
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise SettingsError(f"NOESIS_DATA ({settings.data_dir}) cannot be used: {error.strerror}.") from error


def open_control(settings: Settings) -> Control:
    """The control database alone.  Raises SettingsError when it cannot be opened."""
    make_data_dir(settings)
    try:
        if settings.database_url is not None:
            return Control.open(settings.database_url)
        path = settings.data_dir / "control.sqlite"
        # It holds the key that signs sessions; the files SQLite puts beside it get the same mode.
        path.touch(mode=0o600)
        return Control.open(sqlite_url(path))
    except OSError as error:
        raise SettingsError(f"NOESIS_DATA ({settings.data_dir}) cannot be used: {error.strerror}.") from error


async def worker_is_there(settings: Settings) -> bool:
    """Whether a worker of this instance is alive, from the control database alone."""
    control = open_control(settings)
    try:
        return await Presence(control, system_now_ms).is_there()
    finally:
        control.close()
