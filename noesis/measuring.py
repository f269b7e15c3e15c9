"""What `noesis bench` does: labelled conversations on a store of their own, then the user's store as it lies."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from noesis.benchmark import labelled, own_store, refitting
from noesis.benchmark.asking import Say, Stored, ask_all, index_all
from noesis.benchmark.figures import Asked, Retrieval, rows_of, times_of
from noesis.benchmark.labelled import Conversation
from noesis.benchmark.own_store import OwnStore
from noesis.benchmark.refitting import Compared
from noesis.embedder_choice import choose_embedder
from noesis.embedding import Embedder
from noesis.errors import InvalidInput
from noesis.memory import Mode
from noesis.ranking.fusion import Fusion
from noesis.runtime import Noesis, open_control, open_runtime
from noesis.search import Search
from noesis.settings import Settings
from noesis.store.generations import current_name
from noesis.word_statistics import WordCounts

_QUERY_DEADLINE_S = 30.0
"""A benchmark waits for its vectors: a search that went by words would be measured as something else."""


class Wanted(msgspec.Struct, frozen=True):
    """What to measure; `data` None is the shipped set, `store` None the user's store if there is one."""

    data: Path | None = None
    store: bool | None = None
    fit: Path | None = None


class Report(msgspec.Struct, frozen=True):
    """Everything one run found; `data` None is the shipped set, `weights` the file of the fitted model."""

    embedder: str
    data: str | None
    retrieval: Retrieval
    fitted: Compared | None
    weights: str | None
    store: OwnStore | None


class _Found(msgspec.Struct, frozen=True):
    """What the labelled conversations gave."""

    embedder: str
    retrieval: Retrieval
    fitted: Compared | None


async def measure(settings: Settings, wanted: Wanted, say: Say) -> Report:
    """Measure, and write the fitted weights if they are wanted.

    Raises InvalidInput before anything is written, SettingsError, an EmbedderError or a StoreError.
    """
    conversations = labelled.read(wanted.data or labelled.SHIPPED)
    if wanted.fit is not None:
        _check_fit(wanted.fit, len(conversations))
    with_store = await _has_memories(settings) if wanted.store is None else wanted.store
    if with_store and current_name(settings.store_dir) is None:
        raise InvalidInput(f"There are no memories in {settings.store_dir}.", field="store")
    found = await _on_labelled(settings, conversations, wanted.fit, say)
    return Report(
        embedder=found.embedder,
        data=None if wanted.data is None else str(wanted.data),
        retrieval=found.retrieval,
        fitted=found.fitted,
        weights=None if wanted.fit is None else str(wanted.fit),
        store=await _on_own_store(settings, say) if with_store else None,
    )


def _check_fit(path: Path, conversations: int) -> None:
    """Say at once what would be in the way when all is measured.  Raises InvalidInput."""
    refitting.folds(conversations)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInput(
            f"{path} cannot be written: it must name a file in a folder there is.", field="fit"
        )


async def _has_memories(settings: Settings) -> bool:
    if current_name(settings.store_dir) is None:
        return False
    async with open_runtime(settings) as noesis:
        return not await own_store.is_empty(noesis.store)


async def _on_own_store(settings: Settings, say: Say) -> OwnStore:
    say("measuring the store")
    async with open_runtime(settings, query_deadline_s=_QUERY_DEADLINE_S) as noesis:
        return await own_store.measure_store(noesis.store, noesis.search, noesis.now_ms)


async def _on_labelled(
    settings: Settings, conversations: list[Conversation], fit: Path | None, say: Say
) -> _Found:
    async with laboratory(settings) as noesis:
        identity = await noesis.embedder.identity()
        stored = await index_all(conversations, noesis.indexing, noesis.filling, say)
        await noesis.store.maintain(force=True)
        asked = await ask_all(noesis.search, stored, say)
        retrieval = Retrieval(
            len(stored),
            sum(len(each.memories) for each in conversations),
            rows_of(asked),
            times_of([item.timings for item in asked]),
        )
        fitted = None if fit is None else await _fitted(noesis, stored, asked, fit, say)
        return _Found(identity.model, retrieval, fitted)


async def _fitted(noesis: Noesis, stored: list[Stored], asked: list[Asked], path: Path, say: Say) -> Compared:
    words = WordCounts(noesis.now_ms)
    settings = msgspec.structs.replace(noesis.settings, fusion="learned")

    def new_search(fusion: Fusion) -> Search:
        return Search(noesis.store, noesis.vectors, words, settings, noesis.now_ms, fusion)

    try:
        sheets = await refitting.sheets_of(noesis.search, stored, say)
        keyword = await ask_all(noesis.search, stored, say, mode=Mode.KEYWORD)
        compared = await refitting.compare(new_search, sheets, stored, (asked, keyword), say)
    finally:
        await words.close()
    identity = await noesis.embedder.identity()
    note = f"{len(sheets)} questions of {len(stored)} conversations, vectors of {identity.model}"
    refitting.write(refitting.fusion_of(sheets, note), path)
    return compared


@asynccontextmanager
async def laboratory(settings: Settings) -> AsyncIterator[Noesis]:
    """The product as the user has set it up, on an empty store that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="noesis-bench-") as place:
        apart = msgspec.structs.replace(
            settings, data=Path(place), store=None, database_url=None, redis_url=None, admin_password=None
        )
        embedder = await _embedder(settings, apart)
        async with open_runtime(apart, embedder=embedder, query_deadline_s=_QUERY_DEADLINE_S) as noesis:
            await noesis.vectors.prepare(None)
            yield noesis


async def _embedder(settings: Settings, apart: Settings) -> Embedder:
    """The embedder that the user's Noesis has; where there is none yet, nothing is decided for it."""
    is_there = settings.database_url is not None or (settings.data_dir / "control.sqlite").is_file()
    control = open_control(settings if is_there else apart)
    try:
        return await choose_embedder(settings, control)
    finally:
        control.close()
