"""How the fake Ollama takes texts and spoils vectors, error texts as the real one words them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.fakes.ollama_faults import FakeModel, Faults

SPECIAL_TOKENS = 2


class Refusal(Exception):
    """An error answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class Crash(Exception):
    """The runner died; what Ollama then says."""

    def __init__(self) -> None:
        self.text = 'do embedding request: Post "http://127.0.0.1:39127/v1/embeddings": EOF'
        super().__init__(self.text)


def check_inputs(given: Any) -> list[str]:
    """The texts of a request; "" and [] are none, [""] is one empty text."""
    if given is None or given in ("", []):
        return []
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise Refusal(400, "invalid input type")
    return list(given)


def count_tokens(text: str, faults: Faults) -> int:
    """Words and marks; with `dense`, each character that is neither letter nor space."""
    if faults.dense:
        return len(re.findall(r"[A-Za-z]+|[^A-Za-z\s]", text))
    return len(re.findall(r"\w+|[^\w\s]", text))


def check_texts(texts: list[str], model: FakeModel, body: dict[str, Any], faults: Faults) -> list[str]:
    """The texts as the runner reads them, cut where the request allows.  Raises Refusal, Crash."""
    if faults.crash_after == 0:
        raise Crash
    faults.crash_after = max(faults.crash_after - 1, -1)
    limit = min(faults.context or model.context, body.get("options", {}).get("num_ctx", 1 << 20))
    fitted = [_fit(text, limit - SPECIAL_TOKENS, bool(body.get("truncate", True)), faults) for text in texts]
    for text in fitted:
        _check_poison(text, faults)
    return fitted


def _fit(text: str, limit: int, truncate: bool, faults: Faults) -> str:
    if count_tokens(text, faults) <= limit:
        return text
    if not truncate or faults.ignore_truncate:
        old = "input length exceeds maximum context length"
        raise Refusal(400, old if faults.oldest else "the input length exceeds the context length")
    return " ".join(re.findall(r"\S+", text)[:limit])


def _check_poison(text: str, faults: Faults) -> None:
    if _hit(faults.crash_on, text):
        raise Crash
    if _hit(faults.fail_on, text):
        raise Refusal(500, f"unexpected failure near {text[:40]!r}")
    if _hit(faults.nan_on, text):
        if faults.oldest:
            raise Refusal(500, "failed to encode response: json: unsupported value: NaN")
        raise Refusal(500 if faults.newer else 400, "embedding contains NaN or Inf values")
    if _hit(faults.zero_on, text) and faults.newer:
        raise Refusal(500, "embedding has zero norm")


def mangle(vectors: Sequence[Sequence[float]], texts: Sequence[str], faults: Faults) -> bytes:
    """The vectors as JSON, with what is switched on done to them."""
    rows = [_row(vector, text, faults) for vector, text in zip(vectors, texts, strict=True)]
    if faults.shuffle_batch:
        rows = rows[1:] + rows[:1]
    if faults.short_batch and len(rows) > 1:
        rows = rows[:-1]
    return b"[" + b",".join(rows) + b"]"


def _row(vector: Sequence[float], text: str, faults: Faults) -> bytes:
    if _hit(faults.zero_on, text):
        return msgspec.json.encode([0.0] * len(vector))
    encoded = msgspec.json.encode([faults.long_vector_norm * value for value in vector])
    if _hit(faults.bad_value_on, text):
        return b"[" + faults.bad_value.encode() + b"," + encoded[1:].split(b",", 1)[1]
    return encoded


def _hit(pattern: str, text: str) -> bool:
    return bool(pattern) and re.search(pattern, text) is not None
