"""The Ollama embedder: windows, batches, prefixes and plain words around one model on a server."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import numpy as np

from noesis.embedding.base import EmbedderIdentity, EmbeddingFailure, ModelStatus, Vector
from noesis.embedding.ollama_batch import Result, embed_alone, embed_batch
from noesis.embedding.ollama_http import OllamaHttp
from noesis.embedding.ollama_link import TRUST_S, OllamaLink
from noesis.embedding.ollama_model import UNKNOWN_CONTEXT, canonical_name, installed_digest
from noesis.embedding.ollama_pull import pull_model
from noesis.embedding.ollama_wire import OllamaTrouble, Trouble
from noesis.embedding.pace import next_batch
from noesis.embedding.prefixes import task_prefixes
from noesis.embedding.vectors import join_windows
from noesis.embedding.windows import clean_text, estimate_tokens, split_text
from noesis.errors import EmbedderError, EmbedderMismatch, EmbedderUnavailable, EmbeddingRejected

BATCH_TEXTS = 32
SPECIAL_TOKENS = 2
OVERLAP_TOKENS = 32

# Tokens are only estimated on this side, and a text over the context is refused or worse.
SAFE_SHARE = 0.88

# After some of these in a row the server is left alone for a while.
_NOT_WORKING = (Trouble.NO_ANSWER, Trouble.TIMEOUT, Trouble.RUNNER, Trouble.REFUSED)


class OllamaEmbedder:
    """Owns the link to one model.  Can be made while Ollama is down; nothing is asked before a call.

    Prefixes are those of `prefixes` unless given.  A request for documents may take
    `document_timeout_s`, a question, first load of the model included, `query_timeout_s`.
    `model_status` says at any time how the model is.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        document_prefix: str | None = None,
        query_prefix: str | None = None,
        options: Mapping[str, Any] | None = None,
        keep_alive: str | int = "24h",
        document_timeout_s: float = 120.0,
        query_timeout_s: float = 1.5,
        pull_stall_s: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Raises SettingsError when `base_url` is no address of a server."""
        known_document, known_query = task_prefixes(model)
        self._document_prefix = known_document if document_prefix is None else document_prefix
        self._query_prefix = known_query if query_prefix is None else query_prefix
        self._link = OllamaLink(
            OllamaHttp(base_url),
            model,
            options=options or {},
            keep_alive=keep_alive,
            load_timeout_s=document_timeout_s,
            clock=clock,
        )
        self._document_timeout_s = document_timeout_s
        self._query_timeout_s = query_timeout_s
        self._pull_stall_s = pull_stall_s
        self._jitter = jitter
        self._status = ModelStatus("unknown", f"The model {model} has not been asked for yet.")
        self._one_at_a_time = asyncio.Lock()
        self._pulling = asyncio.Lock()

    @property
    def model_status(self) -> ModelStatus:
        """How the model was when last heard of."""
        return self._status

    async def identity(self) -> EmbedderIdentity:
        """Provider `ollama`, the model's name, digest and width, and the prefixes."""
        async with self._translated():
            known = await self._link.learnt()
        return EmbedderIdentity(
            "ollama",
            canonical_name(self._link.model),
            known.digest,
            known.dimension,
            self._document_prefix,
            self._query_prefix,
        )

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """One result per text, in order; when Ollama goes away midway, the rest are passing failures."""
        if not texts:
            return []
        async with self._translated():
            await self._link.learnt()
        pieces = [self._pieces(text, self._document_prefix) for text in texts]
        # One request at a time, so that a question waits for one small request at most.
        async with self._one_at_a_time:
            flat = await self._embed_pieces([piece for of_text in pieces for piece in of_text])
        await self._verify()
        results = iter(flat)
        return [_join([next(results) for _ in of_text], of_text) for of_text in pieces]

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question, within `query_timeout_s`."""
        async with self._translated(deadline_s=self._query_timeout_s):
            result = await self._embed_question(text)
        if isinstance(result, EmbeddingFailure):
            failed = EmbeddingRejected if result.permanent else EmbedderUnavailable
            raise failed(f"The question could not be embedded: {result.reason}.")
        return result

    def count_tokens(self, text: str) -> int:
        """An estimate on the high side for prose, document prefix and special tokens included."""
        return estimate_tokens(self._document_prefix + text) + SPECIAL_TOKENS

    @property
    def max_tokens(self) -> int:
        """Estimated tokens that one request carries of a text; small until the model has been asked."""
        context = self._link.known.context if self._link.known else UNKNOWN_CONTEXT
        return int(context * SAFE_SHARE)

    async def refresh_status(self) -> ModelStatus:
        """Ask whether the model is installed.  Raises nothing: not being reachable is a status too."""
        try:
            digest = await installed_digest(self._link.http, self._link.model)
        except OllamaTrouble as trouble:
            self._note(trouble)
        else:
            self._link.breaker.probe_succeeded()
            if digest is None or self._status.state != "unsuitable":
                self._note_installed(digest is not None)
        return self._status

    async def ensure_model(self, on_progress: Callable[[ModelStatus], None] | None = None) -> None:
        """Have Ollama download the model unless it is there; calls at the same time share one download.

        Raises EmbedderUnavailable with the reason; a later call goes on where this one stopped.
        """
        async with self._pulling:
            status = await self.refresh_status()
            if status.state == "ready":
                return
            if status.state != "missing":
                raise EmbedderUnavailable(status.sentence)

            def progressed(status: ModelStatus) -> None:
                self._status = status
                if on_progress is not None:
                    on_progress(status)

            try:
                await pull_model(self._link.http, self._link.model, progressed, stall_s=self._pull_stall_s)
            except EmbedderError as error:
                self._status = ModelStatus("missing", error.message)
                raise EmbedderUnavailable(error.message) from error
            finally:
                if self._status.state == "pulling":
                    self._status = status
            if (await self.refresh_status()).state != "ready":
                raise EmbedderUnavailable(self._status.sentence)

    async def close(self) -> None:
        """Close the connections."""
        await self._link.close()

    async def _embed_pieces(self, pieces: Sequence[str]) -> list[Result]:
        send = partial(self._send, self._document_prefix, self._document_timeout_s)
        results: list[Result] = []
        try:
            async with self._translated():
                while len(results) < len(pieces):
                    end = next_batch(pieces, len(results), self._most_texts(), self._link.pace.tokens)
                    results += await embed_batch(send, pieces[len(results) : end], self._pause)
        except EmbedderUnavailable as error:
            if not any(isinstance(result, np.ndarray) for result in results):
                raise
            missing = EmbeddingFailure(error.message, permanent=False)
            results += [missing] * (len(pieces) - len(results))
        return results

    async def _embed_question(self, text: str) -> Result:
        send = partial(self._send, self._query_prefix, self._query_timeout_s)
        await self._link.learnt()
        pieces = self._pieces(text, self._query_prefix)
        results = [await embed_alone(send, piece) for piece in pieces]
        await self._link.verify(trust_s=TRUST_S)
        return _join(results, pieces)

    async def _verify(self) -> None:
        try:
            await self._link.verify()
        except EmbedderMismatch as error:
            self._status = ModelStatus("unsuitable", error.message)
            raise

    async def _send(self, prefix: str, timeout_s: float, texts: Sequence[str]) -> list[Result]:
        return await self._link.send([prefix + text for text in texts], timeout_s=timeout_s)

    async def _pause(self) -> None:
        await asyncio.sleep(0.1 + 0.4 * self._jitter())

    def _pieces(self, text: str, prefix: str) -> list[str]:
        limit = max(self.max_tokens - estimate_tokens(prefix) - SPECIAL_TOKENS, 16)
        return split_text(clean_text(text), limit, min(OVERLAP_TOKENS, limit // 4))

    def _most_texts(self) -> int:
        return BATCH_TEXTS if self._link.known and self._link.known.ordered else 1

    @asynccontextmanager
    async def _translated(self, deadline_s: float | None = None) -> AsyncIterator[None]:
        """Behind the circuit breaker; trouble leaves as an error of the contract and becomes the status."""
        try:
            async with self._deadline(deadline_s):
                await self._link.admit()
                yield
        except OllamaTrouble as trouble:
            if trouble.kind in _NOT_WORKING:
                self._link.breaker.failed()
            self._note(trouble)
            raise self._public(trouble) from trouble
        except EmbedderMismatch as error:
            self._status = ModelStatus("unsuitable", error.message)
            raise
        self._note_installed(True)

    @asynccontextmanager
    async def _deadline(self, seconds: float | None) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            # The model may be loading: let that go on, so that a later question finds it ready.
            self._link.warm()
            message = f"{self._link.http.host} did not answer within {seconds:g} s."
            raise OllamaTrouble(Trouble.TIMEOUT, message) from error

    def _public(self, trouble: OllamaTrouble) -> EmbedderError:
        message = f"Ollama gives no vectors: {trouble.message.rstrip('.')}."
        if trouble.kind is Trouble.UNSUITABLE:
            return EmbedderMismatch(message)
        return EmbedderUnavailable(message)

    def _note(self, trouble: OllamaTrouble) -> None:
        if trouble.kind is Trouble.MISSING:
            self._note_installed(False)
        elif trouble.kind is Trouble.UNSUITABLE:
            sentence = f"The model {self._link.model} generates text; choose one that makes embeddings."
            self._status = ModelStatus("unsuitable", sentence)
        elif self._status.state != "pulling":
            sentence = f"Ollama gives no vectors: {trouble.message.rstrip('.')}."
            self._status = ModelStatus("unreachable", sentence)

    def _note_installed(self, installed: bool) -> None:
        model = self._link.model
        if installed:
            self._status = ModelStatus("ready", f"The model {model} is ready.")
        elif self._status.state != "pulling":
            self._status = ModelStatus("missing", f"The model {model} is not installed in Ollama.")


def _join(results: Sequence[Result], pieces: Sequence[str]) -> Result:
    return join_windows(results, [estimate_tokens(piece) + 1 for piece in pieces])
