"""Embed a batch so that a text which breaks the model fails alone.

`send` posts texts and gives one result each, or raises OllamaTrouble for all of them; the answer to
a failed batch does not say which text was at fault, so halves are tried until it stands alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from noesis.embedding.base import EmbeddingFailure, Vector
from noesis.embedding.ollama_wire import OllamaTrouble, Trouble
from noesis.embedding.vectors import join_windows
from noesis.embedding.windows import estimate_tokens, split_text

Result = Vector | EmbeddingFailure
Send = Callable[[Sequence[str]], Awaitable[list[Result]]]
Pause = Callable[[], Awaitable[None]]

# Estimated tokens; a model that refuses so little is not helped by less.
SMALLEST_PIECE = 16
OVERLAP_SHARE = 8

_ABOUT_ITS_TEXTS = (Trouble.RUNNER, Trouble.TOO_LONG, Trouble.INVALID)
_HARMLESS = "river"


async def embed_batch(send: Send, texts: Sequence[str], pause: Pause) -> list[Result]:
    """One result per text.  Raises OllamaTrouble when the trouble is not with the texts."""
    try:
        return await _send_twice(send, texts, pause)
    except OllamaTrouble as trouble:
        if trouble.kind not in _ABOUT_ITS_TEXTS:
            raise
        if trouble.kind is Trouble.RUNNER:
            await _must_work(send)
        return await _isolate(send, texts, trouble)


async def embed_alone(send: Send, text: str) -> Result:
    """One text without a second try, in smaller pieces if it is too long.  Raises like `embed_batch`."""
    return (await _attempt(send, [text]))[0]


async def _send_twice(send: Send, texts: Sequence[str], pause: Pause) -> list[Result]:
    try:
        return await send(texts)
    except OllamaTrouble as trouble:
        if trouble.kind not in (Trouble.RUNNER, Trouble.NO_ANSWER):
            raise
    await pause()
    return await send(texts)


async def _must_work(send: Send) -> None:
    """Raises OllamaTrouble when not even a harmless text can be embedded: no text is to blame then."""
    try:
        await send([_HARMLESS])
    except OllamaTrouble as trouble:
        if trouble.kind is not Trouble.RUNNER:
            raise
        raise OllamaTrouble(Trouble.NO_ANSWER, f"{trouble.message}; plain words fail as well.") from trouble


async def _isolate(send: Send, texts: Sequence[str], trouble: OllamaTrouble) -> list[Result]:
    if len(texts) == 1:
        return [await _settle(send, texts[0], trouble)]
    middle = len(texts) // 2
    results: list[Result] = []
    for half in (texts[:middle], texts[middle:]):
        results += await _attempt(send, half)
    return results


async def _attempt(send: Send, texts: Sequence[str]) -> list[Result]:
    try:
        return await send(texts)
    except OllamaTrouble as trouble:
        if trouble.kind not in _ABOUT_ITS_TEXTS:
            raise
        return await _isolate(send, texts, trouble)


async def _settle(send: Send, text: str, trouble: OllamaTrouble) -> Result:
    """What becomes of one text that fails alone: smaller pieces if it is too long, else its failure."""
    estimate = estimate_tokens(text)
    if trouble.kind is not Trouble.TOO_LONG or estimate <= SMALLEST_PIECE:
        return EmbeddingFailure(trouble.message, permanent=trouble.kind is not Trouble.RUNNER)
    half = estimate // 2 + 1
    pieces = split_text(text, half, half // OVERLAP_SHARE)
    results: list[Result] = []
    for piece in pieces:
        results += await _attempt(send, [piece])
    return join_windows(results, [estimate_tokens(piece) + 1 for piece in pieces])
