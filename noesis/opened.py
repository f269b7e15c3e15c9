"""What has to be opened before anything can be wired: control database, store, queue."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from noesis.activity import ActivityLog
from noesis.control import Control, sqlite_url
from noesis.errors import SettingsError
from noesis.history_log import HistoryLog
from noesis.jobs import Jobs
from noesis.presence import Presence
from noesis.ranking.fusion import Fusion, decode
from noesis.settings import Settings
from noesis.store import IndexPolicy, Store
from noesis.vectors import Vectors
from noesis.word_statistics import WordCounts


def system_now_ms() -> int:
    """The time in ms since 1970, UTC."""
    return time.time_ns() // 1_000_000


class Opened(msgspec.Struct, frozen=True):
    """What has to be opened and closed, and what nearly all parts need of it."""

    control: Control
    store: Store
    history: HistoryLog
    vectors: Vectors
    words: WordCounts
    jobs: Jobs
    activity: ActivityLog
    now_ms: Callable[[], int]


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
