"""Inflates zstd data from strangers within a bounded window and up to a bounded size."""

from __future__ import annotations

import io
from typing import BinaryIO

import zstandard

from noesis.errors import InvalidInput, TooLarge

MAX_INFLATED_BYTES = 512 * 1024 * 1024
"""The most that one compressed transcript may become."""

# Level 19 and below need no larger window; what asks for more would make us hold it.
_MAX_WINDOW_BYTES = 8 * 1024 * 1024


class DamagedArchive(InvalidInput):
    """Compressed data that cannot be inflated, or ends too early."""

    code = "damaged_archive"
    title = "The archive is damaged"


class ArchiveTooLarge(TooLarge):
    """Compressed data that becomes more than the limit."""

    code = "archive_too_large"
    title = "The archive inflates to too much"


class Inflated:
    """Reads `file` inflated.  `read` raises DamagedArchive and ArchiveTooLarge; `most` is in bytes.

    What `read` gives at once is never more than was asked for, however much the data would become.
    """

    def __init__(self, file: BinaryIO, *, most: int = MAX_INFLATED_BYTES) -> None:
        self._left = most
        self._expected, self._given = _content_size(file), 0
        inflate = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
        self._reader = inflate.stream_reader(file, read_across_frames=True, closefd=False)

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes of what the file holds; none at its end."""
        try:
            piece = self._reader.read(size)
        except zstandard.ZstdError as error:
            raise DamagedArchive("The archive cannot be inflated") from error
        self._left -= len(piece)
        self._given += len(piece)
        if self._left < 0:
            raise ArchiveTooLarge("The archive inflates to more than the limit")
        if size and not piece and self._given < self._expected:
            raise DamagedArchive("The archive ends too early")
        return piece


def inflate(data: bytes, most: int) -> bytes:
    """`data` inflated.  Raises DamagedArchive, and ArchiveTooLarge when that is more than `most` bytes."""
    source = Inflated(io.BytesIO(data), most=most)
    pieces = iter(lambda: source.read(min(most + 1, 65_536)), b"")
    return b"".join(pieces)


def _content_size(file: BinaryIO) -> int:
    """The size the first frame says it has, 0 when it does not say; the file stands at its start after."""
    head = file.read(18)
    file.seek(0)
    try:
        size = zstandard.get_frame_parameters(head).content_size
    except zstandard.ZstdError as error:
        raise DamagedArchive("This is no zstd archive") from error
    return 0 if size == zstandard.CONTENTSIZE_UNKNOWN else size
