"""Cut what is longer than a model reads into overlapping windows that cover all of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# Cost of a character in thirds of a token: prose runs at three or more letters a token, digits and
# punctuation may take a token each, characters outside the basic plane become byte tokens.
THIRDS_LETTER = 1
THIRDS_OTHER = 3
THIRDS_ASTRAL = 9


def clean_text(text: str) -> str:
    """`text` without what no tokenizer or JSON writer takes: lone surrogates and NUL."""
    text = text.replace("\0", " ")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def window_spans(count: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Half-open spans of `size` that cover `range(count)` and overlap by at least `overlap`.

    They are spread evenly, so that the last one is no stub that would weigh as much as a full one.
    """
    if count <= size:
        return [(0, count)]
    stride = size - overlap
    last = -(-(count - size) // stride)
    return [(start, start + size) for start in (round(i * (count - size) / last) for i in range(last + 1))]


def estimate_tokens(text: str) -> int:
    """About how many tokens a model reads for `text`, on the high side for prose."""
    return -(-int(_costs(text).sum()) // 3)


def split_text(text: str, limit: int, overlap: int) -> list[str]:
    """Pieces of `text` of at most `limit` estimated tokens that overlap by about `overlap`.

    Pieces end at white space when there is some in their last quarter.  Every character is in at
    least one piece.  `limit` is at least 4 tokens and more than `overlap`.
    """
    totals = np.concatenate(([0], np.cumsum(_costs(text))))
    if totals[-1] <= limit * 3:
        return [text]
    pieces: list[str] = []
    start = 0
    while True:
        end = _reach(totals, start, limit * 3)
        if end >= len(text):
            pieces.append(text[start:])
            return pieces
        end = _at_space(text, start, end)
        pieces.append(text[start:end])
        start = max(start + 1, _back(totals, end, overlap * 3))


def _costs(text: str) -> npt.NDArray[np.int64]:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    folded = points | 0x20
    letters = (folded >= ord("a")) & (folded <= ord("z"))
    spaces = points == ord(" ")
    costs = np.where(letters | spaces, THIRDS_LETTER, THIRDS_OTHER)
    return np.where(points > 0xFFFF, THIRDS_ASTRAL, costs).astype(np.int64)


def _reach(totals: npt.NDArray[np.int64], start: int, budget: int) -> int:
    """The furthest end whose characters from `start` cost at most `budget`."""
    return int(np.searchsorted(totals, totals[start] + budget, side="right")) - 1


def _back(totals: npt.NDArray[np.int64], end: int, budget: int) -> int:
    """The earliest start whose characters up to `end` cost at most `budget`."""
    return int(np.searchsorted(totals, totals[end] - budget, side="left"))


def _at_space(text: str, start: int, end: int) -> int:
    """`end`, moved back behind the last white space in the final quarter if there is any."""
    for at in range(end, end - (end - start) // 4, -1):
        if text[at - 1].isspace():
            return at
    return end
