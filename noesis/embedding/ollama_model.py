"""Learn what a model in Ollama is: its digest, width, context, and whether its batches can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from noesis.embedding.ollama_http import OllamaHttp
from noesis.embedding.ollama_wire import Embedded, OllamaTrouble, Shown, Tags, Trouble
from noesis.embedding.vectors import unit_vector

# llama-server is started with a batch of at most this many tokens for embedding models, and a longer
# text crashes some versions.
RUNNER_BATCH = 2048
UNKNOWN_CONTEXT = 512
SHORT_TIMEOUT_S = 10.0

_PROBES = ("river", "seven o'clock", "a green bicycle", "to forgive")


class LearntModel(msgspec.Struct, frozen=True):
    """`context` is in tokens; `ordered` is whether a batch came back in the order of its texts."""

    digest: str
    dimension: int
    context: int
    ordered: bool


def canonical_name(model: str) -> str:
    """One spelling for the names that Ollama takes as the same model."""
    return model.lower().removesuffix(":latest")


async def installed_digest(http: OllamaHttp, model: str) -> str | None:
    """The digest of the installed model, or None when it is not there."""
    tags = await http.get("/api/tags", Tags, timeout_s=SHORT_TIMEOUT_S)
    wanted = canonical_name(model)
    return next((tag.digest for tag in tags.models if canonical_name(tag.name) == wanted), None)


async def learn(
    http: OllamaHttp, model: str, request: Mapping[str, Any], options: Mapping[str, Any], *, timeout_s: float
) -> LearntModel:
    """Ask about a model, then embed a few words with it; the first time loads it, within `timeout_s`.

    `request` is what every embedding request carries.  Raises OllamaTrouble.
    """
    digest = await installed_digest(http, model)
    if digest is None:
        raise OllamaTrouble(Trouble.MISSING, f"{http.host} does not have the model.")
    shown = await http.post("/api/show", {"model": model}, Shown, timeout_s=SHORT_TIMEOUT_S)
    if shown.capabilities and "embedding" not in shown.capabilities:
        raise OllamaTrouble(
            Trouble.UNSUITABLE, f"the model at {http.host} generates text and makes no embeddings."
        )
    alone = [await _embed(http, request, [probe], timeout_s) for probe in _PROBES]
    vectors = np.array([answer[0] for answer in alone])
    together = np.array(await _embed(http, request, list(_PROBES), timeout_s))
    dimension = vectors.shape[1]
    for vector in vectors:
        if not isinstance(unit_vector(vector, dimension), np.ndarray):
            raise OllamaTrouble(
                Trouble.RUNNER, f"the model at {http.host} gives unusable vectors for plain words."
            )
    return LearntModel(digest, dimension, context_of(shown, options), _in_order(vectors, together))


def context_of(shown: Shown, options: Mapping[str, Any]) -> int:
    """The longest input in tokens: the least of what was trained, configured, asked for and batched.

    A Modelfile may ask for more than the model was trained with; Ollama then silently uses less.
    """
    architecture = shown.model_info.get("general.architecture", "")
    trained = shown.model_info.get(f"{architecture}.context_length")
    stated = [trained, _parameter(shown.parameters, "num_ctx"), options.get("num_ctx")]
    known = [value for value in stated if isinstance(value, int) and value > 0]
    return min([*known, RUNNER_BATCH]) if known else UNKNOWN_CONTEXT


def _parameter(parameters: str, name: str) -> int | None:
    for line in parameters.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return None


async def _embed(
    http: OllamaHttp, request: Mapping[str, Any], texts: list[str], timeout_s: float
) -> list[list[float]]:
    answer = await http.post("/api/embed", {**request, "input": texts}, Embedded, timeout_s=timeout_s)
    widths = {len(vector) for vector in answer.embeddings}
    if len(answer.embeddings) != len(texts) or len(widths) != 1 or widths == {0}:
        raise OllamaTrouble(Trouble.RUNNER, f"{http.host} does not give one vector for each text.")
    return answer.embeddings


def _in_order(alone: np.ndarray[Any, Any], together: np.ndarray[Any, Any]) -> bool:
    # A batch drifts a little from single texts in some versions, so the nearest must be its own.
    if alone.shape != together.shape:
        return False
    nearest = (together @ alone.T).argmax(axis=1)
    return bool((nearest == np.arange(len(alone))).all())
