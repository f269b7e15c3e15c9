"""The composition root: the only place where the parts are put together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from noesis.activity import ActivityLog
from noesis.admin import Admin
from noesis.agents import Agents
from noesis.audit import Audit
from noesis.browsing import Browsing
from noesis.control import Control, sqlite_url
from noesis.editing import Editing
from noesis.embedder_choice import choose_embedder
from noesis.embedding import Embedder
from noesis.errors import SettingsError
from noesis.filling import Filling
from noesis.health import HealthCheck, said_of
from noesis.indexing import Indexing
from noesis.jobs import Jobs
from noesis.ledger import Ledger
from noesis.presence import Presence
from noesis.ranking.fusion import Fusion, decode
from noesis.search import Search
from noesis.settings import Settings
from noesis.stats import Statistics
from noesis.store import IndexPolicy, Store
from noesis.tokens import Tokens
from noesis.vectors import QUERY_DEADLINE_S, Vectors
from noesis.why_not import WhyNot
from noesis.word_statistics import WordCounts


def system_now_ms() -> int:
    """The time in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


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
    statistics: Statistics
    jobs: Jobs
    activity: ActivityLog
    tokens: Tokens
    agents: Agents
    admin: Admin
    audit: Audit
    presence: Presence
    health: HealthCheck


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    *,
    embedder: Embedder | None = None,
    redis_url: str | None = None,
    query_deadline_s: float = QUERY_DEADLINE_S,
    now_ms: Callable[[], int] = system_now_ms,
) -> AsyncIterator[Noesis]:
    """Open everything, and close it in the opposite order.

    `embedder` and `redis_url` stand in for what the settings name; `query_deadline_s` is how long a
    search may wait for its vector.  Raises SettingsError or a StoreError.
    """
    fusion = fusion_of(settings)
    async with AsyncExitStack() as stack:
        control = open_control(settings)
        stack.callback(control.close)
        store = await Store.open(settings.store_dir, now_ms=now_ms, policy=index_policy(settings))
        stack.push_async_callback(store.close)
        embedder = embedder or await choose_embedder(settings, control)
        stack.push_async_callback(embedder.close)
        vectors = Vectors(embedder, store, query_deadline_s=query_deadline_s)
        words = WordCounts(now_ms)
        stack.push_async_callback(words.close)
        jobs = Jobs(Ledger(control), redis_url=redis_url or settings.redis_url, now_ms=now_ms)
        stack.push_async_callback(jobs.close)
        admin = Admin(control)
        if settings.admin_password is not None:
            await admin.adopt_password(settings.admin_password)
        filling = Filling(store, vectors, now_ms)
        presence = Presence(control, now_ms)
        activity = ActivityLog(control, now_ms)
        search = Search(store, vectors, words, settings, now_ms, fusion=fusion)
        if store.dropped:
            await activity.record("recovery", said_of(store.dropped), level="warning")
        yield Noesis(
            settings=settings,
            now_ms=now_ms,
            control=control,
            store=store,
            embedder=embedder,
            vectors=vectors,
            indexing=Indexing(store, vectors, settings, now_ms),
            browsing=Browsing(store, now_ms),
            editing=Editing(store, vectors, settings, now_ms),
            filling=filling,
            search=search,
            why_not=WhyNot(store, search, now_ms),
            statistics=Statistics(store, now_ms),
            jobs=jobs,
            activity=activity,
            tokens=Tokens(control, now_ms),
            agents=Agents(control, now_ms),
            admin=admin,
            audit=Audit(control, now_ms),
            presence=presence,
            health=HealthCheck(store, vectors, filling, jobs, presence, settings, now_ms),
        )


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
