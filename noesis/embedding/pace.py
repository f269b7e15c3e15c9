"""How much to put into one request, so that a query never waits long behind documents."""

from __future__ import annotations

from collections.abc import Sequence

from noesis.embedding.windows import estimate_tokens

FIRST_GUESS = 1_000.0  # tokens a second: between a small board and a desktop processor


class Pace:
    """Learns tokens per second and keeps a request near `target_s` seconds of work.

    Ollama runs one embedding request of a model at a time, first come first served.
    """

    def __init__(self, target_s: float = 0.5) -> None:
        self._target_s = target_s
        self._rate = FIRST_GUESS

    @property
    def tokens(self) -> int:
        """Estimated tokens that one request should carry at present."""
        return max(64, min(int(self._rate * self._target_s), 8_192))

    def answered(self, tokens: int, seconds: float) -> None:
        """A request of so many tokens took so long."""
        measured = tokens / max(seconds, 1e-3)
        self._rate += 0.3 * (measured - self._rate)

    def timed_out(self) -> None:
        """A request took too long to be answered at all."""
        self._rate /= 2


def next_batch(texts: Sequence[str], start: int, most: int, tokens: int) -> int:
    """The end of the batch that begins at `start`: at most `most` texts and `tokens`, at least one text."""
    end = start
    spent = 0
    while end < len(texts) and end - start < most:
        spent += estimate_tokens(texts[end])
        if spent > tokens and end > start:
            break
        end += 1
    return end
