"""The one form in which text is stored and compared."""

from __future__ import annotations

import functools
import hashlib
import unicodedata

import numpy as np
import re2

from noesis.errors import InvalidInput
from noesis.text.characters import codes_of, mask_of

_AGENT_NAME = re2.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DIRECTION_MARKS = dict.fromkeys((0x200E, 0x200F, 0x61C))
_RIGHT_TO_LEFT = re2.compile(
    r"[\x{590}-\x{8ff}\x{fb1d}-\x{fdcf}\x{fdf0}-\x{fdff}\x{fe70}-\x{fefc}\x{10800}-\x{10fff}\x{1e800}-\x{1efff}]"
)
_INVISIBLE = (
    (0x00, 0x08),
    (0x0E, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x34F, 0x34F),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200B),
    (0x202A, 0x202E),  # bidi embeddings and overrides
    (0x2060, 0x206F),  # word joiner, invisible operators, bidi isolates
    (0x3164, 0x3164),
    (0xFDD0, 0xFDEF),
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),
    (0xFFF9, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE00FF),  # tags
    (0xE01F0, 0xE0FFF),
)
_REMOVED = {code: None for first, last in _INVISIBLE for code in range(first, last + 1)}

# Terminals give up on longer commands; so do we.
_LONGEST_COMMAND = 4096
_ZWNJ = 0x200C
_ZWJ = 0x200D
# Scripts whose spelling needs the joiners: Arabic to Mandaic, the Indic ones, Tibetan, Myanmar,
# Khmer to Mongolian, Arabic's presentation forms.
_JOINING_SCRIPTS = (
    (0x0600, 0x08FF),
    (0x0900, 0x0DFF),
    (0x0F00, 0x109F),
    (0x1780, 0x18AF),
    (0xA840, 0xA8FF),
    (0xFB50, 0xFDCF),
    (0xFE70, 0xFEFC),
    (0x11000, 0x1163F),
)


def clean_text(text: str) -> str:
    r"""`text` as it is stored: composed (NFC), lines ended by \n, without what nobody can see.

    Removed are the byte order mark, control characters but \n and \t (terminal escape sequences
    as a whole), bidi overrides and isolates, tag characters and zero-width characters; joiners and
    variation selectors stay where an emoji or a script needs them, direction marks where the text
    has a right-to-left script.  Cleaning twice changes nothing.  Raises InvalidInput when the
    text holds a lone surrogate, which no encoding can store.
    """
    refuse_surrogates(text)
    if text.isascii() and text.isprintable():
        return text
    removed = _REMOVED if _RIGHT_TO_LEFT.search(text) else _REMOVED | _DIRECTION_MARKS
    text = _one_line_end(_without_escapes(text)).translate(removed)
    return _drop_needless_joiners(unicodedata.normalize("NFC", text))


def refuse_surrogates(text: str, field: str = "text") -> None:
    """Raises InvalidInput, naming `field`, when `text` cannot be written as UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # The codec's own error would carry the text along.
        raise InvalidInput(
            f"{field} holds half of a surrogate pair, which is no character", field=field
        ) from None


def content_hash(text: str) -> str:
    """SHA-256 (64 hex digits) of the composed, trimmed text: equal for texts that read the same.

    Raises InvalidInput when the text holds a lone surrogate.
    """
    refuse_surrogates(text)
    return hashlib.sha256(unicodedata.normalize("NFC", text).strip().encode("utf-8")).hexdigest()


def agent_name(raw: str) -> str:
    """`raw` in lower case when it is an agent's name; raises InvalidInput (field `agent`) when not.

    Names are ASCII, so that no two agents can look alike.
    """
    # Asked before lowering: the Kelvin sign's lower case is an ordinary k.
    name = raw.lower() if raw.isascii() else ""
    if not _AGENT_NAME.fullmatch(name):
        raise InvalidInput(
            "An agent's name has 1 to 64 of a-z, 0-9, _ and -, and starts with a letter or digit",
            field="agent",
        )
    return name


def is_blank(text: str) -> bool:
    """Whether nothing of `text` can be seen."""
    return not text or text.isspace()


def _one_line_end(text: str) -> str:
    text = text.replace("\r\n", "\n")
    for other in "\r\x0b\x0c\x85":
        text = text.replace(other, "\n")
    return text


def _without_escapes(text: str) -> str:
    """Without a terminal's escape sequences as a whole: without ESC, their rest would stay as "[31m"."""
    if "\x1b" not in text and "\x9b" not in text:
        return text
    first, *pieces = text.replace("\x9b", "\x1b[").split("\x1b")
    kept = [first]
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        kept.append(_after_escape(piece, terminated=following.startswith("\\")))
    return "".join(kept)


def _after_escape(piece: str, *, terminated: bool) -> str:
    """What follows the sequence that an ESC before `piece` starts (ECMA-48: CSI, OSC and ST)."""
    if piece.startswith("["):
        rest = piece[1:].lstrip("0123456789;:<=>?").lstrip(" !\"#$%&'()*+,-./")
        return rest[1:] if rest and "@" <= rest[0] <= "~" else piece
    if piece.startswith("]"):
        bell = piece.find("\x07", 0, _LONGEST_COMMAND)
        if bell >= 0:
            return piece[bell + 1 :]
        return "" if terminated and len(piece) <= _LONGEST_COMMAND else piece
    return piece.removeprefix("\\")


def _drop_needless_joiners(text: str) -> str:
    if text.isascii():
        return text
    kept: list[str] = []
    previous = ""
    done = 0
    for place in np.flatnonzero(mask_of(codes_of(text), _is_conditional)).tolist():
        kept.append(text[done:place])
        previous = kept[-1][-1:] or previous
        if _is_needed(text[place], previous, text[place + 1 : place + 2]):
            previous = text[place]
            kept.append(previous)
        done = place + 1
    kept.append(text[done:])
    return "".join(kept)


def _is_conditional(char: str) -> bool:
    code = ord(char)
    return code in (_ZWNJ, _ZWJ) or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


@functools.lru_cache(maxsize=4096)
def _is_needed(char: str, before: str, after: str) -> bool:
    """Whether a joiner or variation selector does something between what is kept and what follows."""
    code, previous = ord(char), ord(before or "\0")
    if code >= 0xE0100:
        return _is_han(previous)
    if code >= 0xFE00:
        return not _is_conditional(before) and (_is_pictorial(previous) or _is_han(previous))
    if _is_joining(previous):
        return not (after and _is_conditional(after))
    return code == _ZWJ and _is_pictorial(previous) and _is_pictorial(ord(after or "\0"))


def _is_joining(code: int) -> bool:
    return any(first <= code <= last for first, last in _JOINING_SCRIPTS)


def _is_han(code: int) -> bool:
    return 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x3FFFF


def _is_pictorial(code: int) -> bool:
    """Emoji and the symbols that can become one, with what may stand between an emoji and a joiner."""
    if code == 0xFE0F or 0x1F3FB <= code <= 0x1F3FF:
        return True
    if code < 0x80:
        return chr(code) in "#*0123456789"
    return unicodedata.category(chr(code)) in ("So", "Sm", "Po", "Sk", "Cn")
