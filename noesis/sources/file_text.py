"""Reads an open file as text, whatever its bytes are."""

from __future__ import annotations

import codecs
import hashlib
from typing import BinaryIO

import msgspec

from noesis.errors import InvalidInput, TooLarge

_AT_ONCE = 64 * 1024
_REPLACEMENT = "\ufffd"
# The longer mark first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# gzip, zip, zstd, xz, PDF, PNG, JPEG, SQLite, ELF
_BINARY_STARTS = (
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\x00",
    b"%PDF-",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"SQLite format 3\x00",
    b"\x7fELF",
)
# A text in an old 8-bit encoding has fewer bytes that are not UTF-8 than this share.
_MOST_BROKEN = 0.3


class FileText(msgspec.Struct, frozen=True):
    """A file's text, the BLAKE2b-256 of its bytes (64 hex digits), and how many bytes it had.

    `replaced` counts the replacement characters that stand for what could not be decoded.
    """

    text: str
    content_hash: str
    size: int
    replaced: int


def read_text(file: BinaryIO, limit: int) -> FileText:
    """The whole file as text: UTF-8, or UTF-16 or UTF-32 with a byte order mark, which is dropped.

    Invalid bytes and NULs become U+FFFD.  At most `limit` bytes are read.  Raises TooLarge when there are
    more and InvalidInput when the bytes are no text.
    """
    data, content_hash = _read(file, limit)
    if data.startswith(_BINARY_STARTS):
        raise InvalidInput("The file is not text.")
    mark, encoding = next((each for each in _MARKS if data.startswith(each[0])), (b"", "utf-8"))
    text = data[len(mark) :].decode(encoding, "replace").replace("\0", _REPLACEMENT)
    replaced = text.count(_REPLACEMENT)
    if replaced > len(text) * _MOST_BROKEN:
        raise InvalidInput("The file is not text.")
    return FileText(text, content_hash, len(data), replaced)


def _read(file: BinaryIO, limit: int) -> tuple[bytes, str]:
    # Counted while reading: a file may grow, and the size of some says nothing.
    digest = hashlib.blake2b(digest_size=32)
    data = bytearray()
    while part := file.read(min(_AT_ONCE, limit + 1 - len(data))):
        data += part
        digest.update(part)
        if len(data) > limit:
            raise TooLarge(f"The file is larger than {limit} bytes.")
    return bytes(data), digest.hexdigest()
