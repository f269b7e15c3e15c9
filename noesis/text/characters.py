"""What single characters are, for those who cut or fold text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

# The longest run of combining characters that real text needs, as Unicode's stream-safe format
# (UAX #15, section 13) has it: what is longer may be cut inside.
MAX_CLUSTER = 30

_WITHOUT_SPACES = (
    (0x2E80, 0x303F),  # radicals, CJK punctuation
    (0x3040, 0x30FF),  # kana
    (0x3100, 0x312F),  # bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width kana
    (0x20000, 0x3FFFF),
)


def is_cjk(char: str) -> bool:
    """Whether `char` is of a script that writes without spaces and where one character is about a word."""
    code = ord(char)
    return any(first <= code <= last for first, last in _WITHOUT_SPACES)


def is_extender(char: str) -> bool:
    """Whether `char` belongs to the one before it: a mark, joiner, variation selector, skin tone, tag."""
    code = ord(char)
    if code < 0x300:
        return False
    return (
        unicodedata.category(char)[0] == "M"
        or code == 0x200D
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0000 <= code <= 0xE007F
        or 0x1160 <= code <= 0x11FF  # the vowels and finals of a Hangul syllable written in parts
    )


def is_space(char: str) -> bool:
    """Whether `char` is white space."""
    return char.isspace()


def codes_of(text: str) -> Codes:
    """The code points of `text`, one per character; lone surrogates are kept as they are."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def mask_of(codes: Codes, test: Callable[[str], bool]) -> Mask:
    """Where `test` holds.  It is asked once per different character, so a long text costs little."""
    if not codes.size:
        return np.zeros(0, dtype=np.bool_)
    table = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    table[codes] = True
    for code in np.flatnonzero(table):
        table[code] = test(chr(int(code)))
    mask: Mask = table[codes]
    return mask


def cluster_starts(codes: Codes) -> Mask:
    """Where a text may be cut: True at each character that starts what a reader sees as one.

    Close to Unicode's extended grapheme clusters (UAX #29), and never more than MAX_CLUSTER
    characters without a place to cut.
    """
    glued = mask_of(codes, is_extender)
    if codes.size > 1:
        glued[1:] |= codes[:-1] == 0x200D
        glued[1:] |= (codes[1:] == 0x0A) & (codes[:-1] == 0x0D)
        glued |= _second_of_flag(codes)
    if codes.size:
        glued[0] = False
    starts: Mask = ~glued | (run_index(glued) % MAX_CLUSTER == MAX_CLUSTER - 1)
    return starts


def run_index(mask: Mask) -> npt.NDArray[np.int64]:
    """At each True its 0-based place in its run of Trues; -1 at each False."""
    places = np.arange(mask.size)
    last_false = np.maximum.accumulate(np.where(mask, -1, places)) if mask.size else places
    return np.where(mask, places - last_false - 1, -1)


def _second_of_flag(codes: Codes) -> Mask:
    """A flag is two regional indicators: never cut between the first and the second."""
    regional = (codes >= 0x1F1E6) & (codes <= 0x1F1FF)
    place = run_index(regional)
    second: Mask = (place > 0) & (place % 2 == 1)
    return second
