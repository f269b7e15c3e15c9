"""Have Ollama download a model, and tell how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing

from noesis.embedding.base import ModelStatus
from noesis.embedding.ollama_http import OllamaHttp
from noesis.embedding.ollama_wire import PullLine
from noesis.errors import EmbedderUnavailable

STALL_S = 300.0


class PullProgress:
    """Adds up the layers of one download."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._layers: dict[str, tuple[int, int]] = {}

    def take(self, line: PullLine) -> ModelStatus:
        """The status after one more line."""
        if line.digest:
            self._layers[line.digest] = (line.completed, line.total)
        completed = sum(done for done, _ in self._layers.values())
        total = sum(size for _, size in self._layers.values())
        share = f", {completed * 100 // total} %" if total else ""
        sentence = f"Ollama is downloading the model {self._model}{share}."
        return ModelStatus("pulling", sentence, completed, total)


async def pull_model(
    http: OllamaHttp,
    model: str,
    on_progress: Callable[[ModelStatus], None],
    *,
    stall_s: float = STALL_S,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Pull `model` to its end; Ollama goes on where an earlier pull stopped.

    Raises EmbedderUnavailable with the reason when the download fails, ends without success or
    makes no progress for `stall_s`, and OllamaTrouble when Ollama does not take the request.
    """
    progress = PullProgress(model)
    newest, changed_at = PullLine(), clock()
    async with aclosing(http.lines("/api/pull", {"model": model}, PullLine, stall_s=stall_s)) as lines:
        async for line in lines:
            if line.error:
                reason = _printable(line.error).rstrip(".")
                raise EmbedderUnavailable(f"Ollama could not download {model}: {reason}.")
            if line.status == "success":
                return
            if line != newest:
                newest, changed_at = line, clock()
            elif clock() - changed_at > stall_s:
                raise EmbedderUnavailable(f"Downloading {model} has made no progress for {stall_s:g} s.")
            on_progress(progress.take(line))
    raise EmbedderUnavailable(f"Downloading {model} stopped before its end; it goes on at the next try.")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:200])
