"""A gzip file that ends with the SHA-256 of all before it, so that any flipped bit and any cut is found.

gzip's own check covers what was compressed, not its header nor the bits between its parts.  The seal
is an empty gzip member whose comment holds the hash: `tar xzf` and `gunzip` read over it.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import BinaryIO

from noesis.errors import BackupRefused

_GZIP = 31
_LEVEL = 1
"""Vectors do not shrink and are most of it; higher levels cost several times the time for the texts alone."""
_PIECE = 1 << 20
_HEAD = b"\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff"
_EMPTY = b"\x03\x00" + bytes(8)


def seal(digest: str) -> bytes:
    """The member that ends a file with this SHA-256 (hex)."""
    return _HEAD + b"noesis sha256 " + digest.encode() + b"\x00" + _EMPTY


SEAL_BYTES = len(seal("0" * 64))


class SealedWriter:
    """Writes a gzip file and its seal."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Compress and write."""
        self._put(self._gzip.compress(data))

    def finish(self) -> None:
        """Write what is left and the seal, and have it on the disk."""
        self._put(self._gzip.flush())
        self._file.write(seal(self._digest.hexdigest()))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _put(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)


def check_seal(path: Path) -> int:
    """Read a file whole and compare its seal; returns how many bytes lie before it.  Raises BackupRefused."""
    body = path.stat().st_size - SEAL_BYTES
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = body
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            digest.update(piece)
            left -= len(piece)
        end = file.read(SEAL_BYTES + 1) if body > 0 else b""
    if end != seal(digest.hexdigest()):
        raise BackupRefused(
            f"{path.name} is damaged, was cut short, or is no backup of Noesis: its seal does not fit."
        )
    return body


class SealedReader:
    """Inflates the first `body` bytes of a file, never more at once than is asked for."""

    def __init__(self, file: BinaryIO, body: int) -> None:
        self._file = file
        self._left = body
        self._inflate = zlib.decompressobj(_GZIP)
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end.  Raises BackupRefused."""
        while size:
            piece = self._waiting or self._file.read(min(self._left, _PIECE))
            if not self._waiting:
                self._left -= len(piece)
            if not piece or self._inflate.eof:
                self._end(piece)
                return b""
            try:
                found = self._inflate.decompress(piece, size)
            except zlib.error as error:
                raise BackupRefused("The archive cannot be inflated.") from error
            self._waiting = self._inflate.unconsumed_tail
            if found:
                return found
        return b""

    def _end(self, piece: bytes) -> None:
        if not self._inflate.eof or piece or self._inflate.unused_data or self._left:
            raise BackupRefused("The archive is not one whole gzip file.")
