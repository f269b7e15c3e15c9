"""An embedder whose model runs in this process: threads, turns, windows and batches around a blocking model."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from noesis.embedding.base import EmbedderIdentity, EmbeddingFailure, ModelStatus, Vector
from noesis.embedding.model_files import ModelFiles
from noesis.embedding.turns import Turns
from noesis.embedding.vectors import join_windows, unit_vector
from noesis.errors import EmbedderError, EmbedderUnavailable, EmbeddingRejected
from noesis.heap import release_free_memory

T = TypeVar("T")
W = TypeVar("W", bound=Sized)

_SEARCHED_PARTS = 2
"""So much smaller are the runs of documents while somebody searches."""


class InProcessModel(Protocol[W]):
    """A model as its library offers it: it blocks, and one run at a time keeps its memory bounded.

    A window (`W`) is what the model reads in one piece; its length is in tokens.
    """

    @property
    def files(self) -> ModelFiles:
        """Where it lies and how it wants to be fed."""
        ...

    @property
    def max_tokens(self) -> int:
        """The most tokens of a window, prefix and special tokens included."""
        ...

    @property
    def run_tokens(self) -> int:
        """How many tokens of documents go into one run: a question waits for that long at most."""
        ...

    def count(self, text: str) -> int:
        """The tokens of a document, prefix and special tokens included.  Any thread may call it."""
        ...

    def windows(self, text: str, *, question: bool) -> list[W]:
        """The text with the prefix of a question or a document, cut where it is too long.

        Raises EmbedderUnavailable or EmbedderMismatch.
        """
        ...

    def load(self) -> tuple[str, int]:
        """Load the weights unless they are; their SHA-256 (hex) and the width of a vector.

        Raises EmbedderUnavailable, or EmbedderMismatch when the file is not the one it should be.
        """
        ...

    def run(self, windows: Sequence[W]) -> npt.NDArray[np.float32]:
        """One row for each window, not necessarily of norm 1; after `load`."""
        ...

    def unload(self) -> None:
        """Let the weights go."""
        ...


class InProcessEmbedder(Generic[W]):
    """Owns a model, loaded at first use, and the two threads that take turns at it.

    One run at a time; a query goes before the next batch of documents.
    """

    def __init__(self, provider: str, model: InProcessModel[W]) -> None:
        self._provider = provider
        self._model = model
        self._turns = Turns()
        self._loading = threading.Lock()
        self._identity: EmbedderIdentity | None = None
        self._closed = False
        self._for_documents = ThreadPoolExecutor(1, "embed-documents")
        self._for_queries = ThreadPoolExecutor(1, "embed-query")

    async def identity(self) -> EmbedderIdentity:
        """The provider, the model's name, its SHA-256 and width.

        Raises EmbedderUnavailable when the model cannot be loaded, EmbedderMismatch when its file
        is not the one it should be.
        """
        return await self._in_thread(self._for_queries, self._load)

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """One result per text, in order."""
        if not texts:
            return []
        windows = await self._in_thread(self._for_documents, partial(self._windows, texts))
        flat = [window for of_text in windows for window in of_text]
        results: dict[int, Vector | EmbeddingFailure] = {}
        for batch in batches_by_length(flat, self._run_tokens):
            chosen = [flat[at] for at in batch]
            # What the model reads in one piece is embedded at once; more lets a search go on first, and in between.
            run = partial(self._run, chosen, patient=len(flat) > 1)
            vectors = await self._in_thread(self._for_documents, run)
            results.update(zip(batch, vectors, strict=True))
        await self._in_thread(self._for_documents, release_free_memory)
        return _per_text(windows, [results[at] for at in range(len(flat))])

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        vector = await self._in_thread(self._for_queries, partial(self._embed_now, text))
        if isinstance(vector, EmbeddingFailure):
            raise EmbeddingRejected(f"The question cannot be embedded: {vector.reason}.")
        return vector

    def count_tokens(self, text: str) -> int:
        """Exact, document prefix and special tokens included; estimated only where the model cannot be read."""
        return self._model.count(text)

    @property
    def max_tokens(self) -> int:
        """The model's limit in tokens, special tokens included."""
        return self._model.max_tokens

    @property
    def model_status(self) -> ModelStatus:
        """It is in this process: loaded, or loaded at its first use."""
        name = self._model.files.config.name
        if self._identity is None:
            return ModelStatus("unknown", f"The model {name} is loaded at its first use.")
        return ModelStatus("ready", f"The model {name} is loaded.")

    async def refresh_status(self) -> ModelStatus:
        """Load the model and say how that went."""
        try:
            await self.identity()
        except EmbedderError as error:
            return ModelStatus("unsuitable", error.message)
        return self.model_status

    async def ensure_model(self, on_progress: Callable[[ModelStatus], None] | None = None) -> None:
        """Load it now instead of at the first use."""
        await self.identity()
        if on_progress is not None:
            on_progress(self.model_status)

    async def close(self) -> None:
        """Let the model go; later calls raise EmbedderUnavailable."""
        self._closed = True
        for executor in (self._for_documents, self._for_queries):
            await asyncio.to_thread(executor.shutdown, cancel_futures=True)
        self._identity = None
        self._model.unload()
        release_free_memory()

    async def _in_thread(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise EmbedderUnavailable("The embedder has been closed.")
        return await asyncio.get_running_loop().run_in_executor(executor, work)

    def _run_tokens(self) -> int:
        return self._model.run_tokens // (1 if self._turns.is_calm else _SEARCHED_PARTS)

    def _load(self) -> EmbedderIdentity:
        with self._loading:
            if self._identity is None:
                digest, width = self._model.load()
                config = self._model.files.config
                self._identity = EmbedderIdentity(
                    self._provider, config.name, digest, width, config.document_prefix, config.query_prefix
                )
            return self._identity

    def _windows(self, texts: Sequence[str]) -> list[list[W]]:
        return [self._model.windows(text, question=False) for text in texts]

    def _run(self, windows: Sequence[W], *, patient: bool) -> list[Vector | EmbeddingFailure]:
        identity = self._load()
        with self._turns.ordinary(patient=patient):
            raw = self._model.run(windows)
        return [unit_vector(row, identity.dimension) for row in raw]

    def _embed_now(self, text: str) -> Vector | EmbeddingFailure:
        identity = self._load()
        windows = self._model.windows(text, question=True)
        results: list[Vector | EmbeddingFailure] = []
        for window in windows:
            with self._turns.urgent():
                raw = self._model.run([window])
            results.append(unit_vector(raw[0], identity.dimension))
        return join_windows(results, [len(window) for window in windows])


def default_threads() -> int:
    """How many cores one run may use."""
    return min(4, os.cpu_count() or 1)


def batches_by_length(windows: Sequence[Sized], limit: Callable[[], int]) -> Iterator[list[int]]:
    """Indices of windows in batches of like length whose padded size is at most `limit` tokens, asked for each.

    A window that is longer than that is a batch of its own.
    """
    order = np.argsort([len(window) for window in windows], kind="stable")
    batch: list[int] = []
    for at in map(int, order):
        # In ascending order the newest is the longest, hence the padded length of all.
        if batch and (len(batch) + 1) * len(windows[at]) > limit():
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _per_text(
    windows: Sequence[Sequence[Sized]], flat: Sequence[Vector | EmbeddingFailure]
) -> list[Vector | EmbeddingFailure]:
    joined: list[Vector | EmbeddingFailure] = []
    at = 0
    for of_text in windows:
        part = flat[at : at + len(of_text)]
        joined.append(join_windows(part, [len(window) for window in of_text]))
        at += len(of_text)
    return joined
