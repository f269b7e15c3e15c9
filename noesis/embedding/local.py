"""The local embedder: an ONNX model in this process, all-MiniLM-L6-v2 unless told otherwise."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from noesis.embedding.base import EmbedderIdentity, EmbeddingFailure, ModelStatus, Vector
from noesis.embedding.model_files import ModelFiles, bundled_minilm, checked_digest, model_in_directory
from noesis.embedding.onnx_model import OnnxModel, release_free_memory
from noesis.embedding.tokens import TokenReader, Tokens
from noesis.embedding.turns import Turns
from noesis.embedding.vectors import join_windows, unit_vector
from noesis.errors import EmbedderError, EmbedderUnavailable, EmbeddingRejected

T = TypeVar("T")

# Padded tokens in one run of the model: about 80 ms on two cores, the longest that a query waits.
RUN_TOKENS = 256


class LocalEmbedder:
    """Owns a model, loaded at first use, and the two threads that take turns at it.

    One run at a time; a query goes before the next batch of documents.  `threads` is how many cores
    one run may use, by default min(4, cores).
    """

    def __init__(self, files: ModelFiles | None = None, *, threads: int | None = None) -> None:
        self._files = files or bundled_minilm()
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._reader = TokenReader(self._files)
        self._turns = Turns()
        self._loading = threading.Lock()
        self._loaded: tuple[OnnxModel, EmbedderIdentity] | None = None
        self._closed = False
        self._for_documents = ThreadPoolExecutor(1, "embed-documents")
        self._for_queries = ThreadPoolExecutor(1, "embed-query")

    @classmethod
    def from_directory(cls, directory: Path, *, threads: int | None = None) -> LocalEmbedder:
        """Another model, laid out as `model_files` says.  Raises SettingsError when it is not."""
        return cls(model_in_directory(directory), threads=threads)

    async def identity(self) -> EmbedderIdentity:
        """Provider `local`, the model's name, its SHA-256 and width.

        Raises EmbedderUnavailable when the model cannot be loaded, EmbedderMismatch when its file
        is not the one it should be.
        """
        _, identity = await self._in_thread(self._for_queries, self._load)
        return identity

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """One result per text, in order."""
        if not texts:
            return []
        windows = await self._in_thread(self._for_documents, partial(self._windows, texts))
        flat = [window for of_text in windows for window in of_text]
        results: dict[int, Vector | EmbeddingFailure] = {}
        for batch in batches_by_length(flat, RUN_TOKENS):
            tokens = [flat[at] for at in batch]
            vectors = await self._in_thread(self._for_documents, partial(self._run, tokens))
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
        """Exact: document prefix and special tokens included."""
        return self._reader.count(text, self._files.config.document_prefix)

    @property
    def max_tokens(self) -> int:
        """The model's limit in tokens, special tokens included."""
        return self._reader.max_tokens

    @property
    def model_status(self) -> ModelStatus:
        """It is in this process: loaded, or loaded at its first use."""
        name = self._files.config.name
        if self._loaded is None:
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
        self._loaded = None
        release_free_memory()

    async def _in_thread(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        if self._closed:
            raise EmbedderUnavailable("The embedder has been closed.")
        return await asyncio.get_running_loop().run_in_executor(executor, work)

    def _load(self) -> tuple[OnnxModel, EmbedderIdentity]:
        with self._loading:
            if self._loaded is None:
                digest = checked_digest(self._files)
                model = OnnxModel(self._files, self._threads)
                width = model.run(self._reader.windows("width", "")).shape[1]
                config = self._files.config
                identity = EmbedderIdentity(
                    "local", config.name, digest, width, config.document_prefix, config.query_prefix
                )
                self._loaded = (model, identity)
            return self._loaded

    def _windows(self, texts: Sequence[str]) -> list[list[Tokens]]:
        prefix = self._files.config.document_prefix
        return [self._reader.windows(text, prefix) for text in texts]

    def _run(self, tokens: Sequence[Tokens]) -> list[Vector | EmbeddingFailure]:
        model, identity = self._load()
        with self._turns.ordinary():
            raw = model.run(tokens)
        return [unit_vector(row, identity.dimension) for row in raw]

    def _embed_now(self, text: str) -> Vector | EmbeddingFailure:
        model, identity = self._load()
        windows = self._reader.windows(text, self._files.config.query_prefix)
        results: list[Vector | EmbeddingFailure] = []
        for window in windows:
            with self._turns.urgent():
                raw = model.run([window])
            results.append(unit_vector(raw[0], identity.dimension))
        return join_windows(results, [len(window) for window in windows])


def batches_by_length(windows: Sequence[Tokens], limit: int) -> Iterator[list[int]]:
    """Indices of windows in batches of like length whose padded size is at most `limit` tokens.

    A window that is longer than `limit` is a batch of its own.
    """
    order = np.argsort([len(window) for window in windows], kind="stable")
    batch: list[int] = []
    for at in map(int, order):
        # In ascending order the newest is the longest, hence the padded length of all.
        if batch and (len(batch) + 1) * len(windows[at]) > limit:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _per_text(
    windows: Sequence[Sequence[Tokens]], flat: Sequence[Vector | EmbeddingFailure]
) -> list[Vector | EmbeddingFailure]:
    joined: list[Vector | EmbeddingFailure] = []
    at = 0
    for of_text in windows:
        part = flat[at : at + len(of_text)]
        joined.append(join_windows(part, [len(window) for window in of_text]))
        at += len(of_text)
    return joined
