"""What Ollama says over HTTP, as structs, and what its errors mean."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import msgspec

from noesis.errors import EmbedderError


class Version(msgspec.Struct, frozen=True):
    """`GET /api/version`."""

    version: str = ""


class Tag(msgspec.Struct, frozen=True):
    """One installed model; `digest` is 64 hex digits."""

    name: str
    digest: str


class Tags(msgspec.Struct, frozen=True):
    """`GET /api/tags`."""

    models: list[Tag] = []


class Shown(msgspec.Struct, frozen=True):
    """`POST /api/show`; versions before 0.6 state no capabilities."""

    parameters: str = ""
    model_info: dict[str, Any] = {}
    capabilities: list[str] = []


class Embedded(msgspec.Struct, frozen=True):
    """`POST /api/embed`: one vector per input, in order."""

    embeddings: list[list[float]]


class PullLine(msgspec.Struct, frozen=True):
    """One line of `POST /api/pull`; an error arrives as a line too, after a status of 200."""

    status: str = ""
    digest: str = ""
    total: int = 0
    completed: int = 0
    error: str = ""


class ErrorBody(msgspec.Struct, frozen=True):
    """Every error of the API."""

    error: str = ""


class Trouble(Enum):
    """What a failed exchange means for what to do next."""

    NO_ANSWER = auto()  # cannot connect, too slow, overloaded: nothing works now
    TIMEOUT = auto()  # the same, but perhaps because too much was asked at once
    REFUSED = auto()  # answers, but will not serve this client or this address
    MISSING = auto()  # the model is not installed
    UNSUITABLE = auto()  # the model generates text
    TOO_LONG = auto()  # a text is over the model's context
    INVALID = auto()  # will fail again in the same way
    RUNNER = auto()  # the process behind the model failed; perhaps on one text only


class OllamaTrouble(EmbedderError):
    """A failed exchange inside this package; callers of the embedder meet the public errors."""

    def __init__(self, kind: Trouble, message: str) -> None:
        super().__init__(message)
        self.kind = kind


_OVERLOADED = (408, 429, 499, 502, 503, 504)
_REFUSALS = (401, 403, 405)
_TOO_LONG = (
    "exceeds the context length",
    "maximum context length",
    "cannot be truncated further",
    "is too large to process",
)
_INVALID = ("invalid input type", "missing request body", "model is required", "cannot normalize embedding")


def trouble_of(status: int, error: str, host: str) -> OllamaTrouble:
    """Sort an error answer.

    A 400 is not proof of a bad request: a crashed runner is reported as 400 with `EOF`, and NaN as
    400 or 500 by version.  Only known texts are permanent.  The error's own text is used to decide
    and never repeated, as it may quote the input.
    """
    text = error.lower()
    if 300 <= status < 400:
        return OllamaTrouble(
            Trouble.REFUSED, f"{host} answers with a redirect ({status}), which is not followed."
        )
    if status in _REFUSALS:
        return OllamaTrouble(Trouble.REFUSED, f"{host} refuses this client (status {status}).")
    if status == 404 and not error:
        return OllamaTrouble(Trouble.REFUSED, f"{host} does not speak Ollama's API (status 404).")
    if status == 404:
        return OllamaTrouble(Trouble.MISSING, f"{host} does not have the model (status 404).")
    if status in _OVERLOADED:
        return OllamaTrouble(
            Trouble.NO_ANSWER, f"{host} is overloaded or its backend is away (status {status})."
        )
    if "not support embed" in text:
        return OllamaTrouble(
            Trouble.UNSUITABLE, f"the model at {host} makes no embeddings (status {status})."
        )
    if any(known in text for known in _TOO_LONG):
        return OllamaTrouble(Trouble.TOO_LONG, f"longer than the model's context ({host}, status {status})")
    if 400 <= status < 500 and any(known in text for known in _INVALID):
        return OllamaTrouble(Trouble.INVALID, f"{host} does not take it as input (status {status})")
    what = "gave NaN or infinity" if "nan" in text else "failed"
    return OllamaTrouble(Trouble.RUNNER, f"the model at {host} {what} (status {status})")
