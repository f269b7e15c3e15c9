"""One model on one Ollama server: what it is, whether it still is, and a request at a time to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from noesis.embedding.breaker import CircuitBreaker
from noesis.embedding.ollama_batch import Result
from noesis.embedding.ollama_http import OllamaHttp
from noesis.embedding.ollama_model import LearntModel, installed_digest, learn
from noesis.embedding.ollama_wire import Embedded, OllamaTrouble, Trouble, Version
from noesis.embedding.pace import Pace
from noesis.embedding.vectors import unit_vector
from noesis.embedding.windows import estimate_tokens
from noesis.errors import EmbedderMismatch

PROBE_TIMEOUT_S = 3.0
# A query is answered without asking for the digest again for this long.
TRUST_S = 30.0


class OllamaLink:
    """Owns the connection and what was learnt over it.  Every method may raise OllamaTrouble.

    What was learnt once is kept: if the tag later means another model, calls raise EmbedderMismatch
    rather than give vectors of two models to one caller.
    """

    def __init__(
        self,
        http: OllamaHttp,
        model: str,
        *,
        options: Mapping[str, Any],
        keep_alive: str | int,
        load_timeout_s: float,
        clock: Callable[[], float],
    ) -> None:
        self.http = http
        self.model = model
        self.breaker = CircuitBreaker(clock)
        self.pace = Pace()
        self.known: LearntModel | None = None
        self._options = options
        # Always the same: Ollama loads the model anew when the options of a request differ.
        self._request: Mapping[str, Any] = {
            "model": model,
            "truncate": False,
            "keep_alive": keep_alive,
            "options": dict(options),
        }
        self._load_timeout_s = load_timeout_s
        self._clock = clock
        self._verified_at = 0.0
        self._background: dict[str, asyncio.Task[None]] = {}

    async def admit(self) -> None:
        """Let a call by, unless the server has not been answering and it is not yet time to look again."""
        if not self.breaker.is_open:
            return
        if not self.breaker.claim_probe():
            raise OllamaTrouble(
                Trouble.NO_ANSWER, f"{self.http.host} has not answered lately and is tried every few seconds."
            )
        await self.http.get("/api/version", Version, timeout_s=PROBE_TIMEOUT_S)
        self.breaker.probe_succeeded()
        self._verified_at = 0.0

    async def learnt(self) -> LearntModel:
        """What the model is.  The first callers share one request, which outlives their deadlines."""
        if self.known is None:
            await asyncio.shield(self._once("learn", self._learn))
        assert self.known is not None
        return self.known

    async def send(self, texts: Sequence[str], *, timeout_s: float) -> list[Result]:
        """One request: one checked result per text, in order.  Raises EmbedderMismatch on another width."""
        known = await self.learnt()
        started = self._clock()
        try:
            body = {**self._request, "input": texts}
            answer = await self.http.post("/api/embed", body, Embedded, timeout_s=timeout_s)
        except OllamaTrouble as trouble:
            if trouble.kind is Trouble.TIMEOUT:
                self.pace.timed_out()
            raise
        self.breaker.succeeded()
        if len(answer.embeddings) != len(texts):
            message = f"{self.http.host} gave {len(answer.embeddings)} vectors for {len(texts)} texts"
            raise OllamaTrouble(Trouble.RUNNER, message)
        self.pace.answered(sum(map(estimate_tokens, texts)), self._clock() - started)
        return [unit_vector(vector, known.dimension) for vector in answer.embeddings]

    async def verify(self, *, trust_s: float = 0.0) -> None:
        """Raises EmbedderMismatch when the tag means another model by now.

        Asked after the vectors came, so that they are known to be the old model's.  No answer, or a
        deleted model, is no evidence against them.
        """
        if self.known is None or self._clock() - self._verified_at < trust_s:
            return
        try:
            digest = await installed_digest(self.http, self.model)
        except OllamaTrouble:
            return
        if digest is not None and digest != self.known.digest:
            # The next question must ask too: trust in an earlier look would let the other model answer it.
            self._verified_at = 0.0
            raise EmbedderMismatch(
                f"The model {self.model} at {self.http.host} was replaced by another one under the same name. "
                "Its vectors are not used; embed everything anew with it, or put the old one back."
            )
        self._verified_at = self._clock()

    def warm(self) -> None:
        """Have the model loaded in the background, for the callers that could not wait for it."""
        if self.known is not None:
            self._once("warm", self._load)

    async def close(self) -> None:
        """End what runs in the background and close the connections."""
        tasks = list(self._background.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.http.close()

    def _once(self, name: str, work: Callable[[], Any]) -> asyncio.Task[None]:
        task = self._background.get(name)
        if task is None or task.done():
            task = asyncio.create_task(work())
            # Its callers may be gone by the time it fails; the next call meets the same trouble.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._background[name] = task
        return task

    async def _learn(self) -> None:
        self.known = await learn(
            self.http, self.model, self._request, self._options, timeout_s=self._load_timeout_s
        )
        self.breaker.succeeded()
        self._verified_at = self._clock()

    async def _load(self) -> None:
        # An embedding request without input only loads the model.
        await self.http.post("/api/embed", self._request, Embedded, timeout_s=self._load_timeout_s)
