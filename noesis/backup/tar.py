"""The one form of tar archive that backups have: plain files in the order of a list, and nothing else.

A reader that takes whatever tar can hold has to defend itself against links, devices, paths that
climb out, extended headers of any size.  This one knows what must come next and compares its header
byte for byte; whatever differs is refused before it is looked at.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator

from noesis.errors import BackupRefused

BLOCK = 512
END = bytes(2 * BLOCK)
_PIECE = 1 << 20

Read = Callable[[int], bytes]


def header(name: str, size: int) -> bytes:
    """The 512 bytes before a file of this name (at most 255 characters) and size.  Raises BackupRefused."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    try:
        return entry.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
    except (ValueError, UnicodeEncodeError) as error:
        raise BackupRefused(f"A file of a backup cannot be called {name[:80]!r}.") from error


def padding(size: int) -> bytes:
    """What fills a file's last block."""
    return bytes(-size % BLOCK)


def first_size(block: bytes, name: str, most: int) -> int:
    """The size of an archive's first file, which must be the one called `name`.  Raises BackupRefused."""
    try:
        size = int(block[124:135], 8)
    except ValueError:
        size = -1
    if len(block) != BLOCK or not 0 <= size <= most or block != header(name, size):
        raise BackupRefused(f"This is no backup of Noesis: it begins with {named(block)}, not with {name}.")
    return size


def expect_header(block: bytes, name: str, size: int) -> None:
    """Raise BackupRefused unless the block announces exactly this file."""
    if block != header(name, size):
        raise BackupRefused(
            f"The archive holds {named(block)} where {name} with {size:,} bytes should come; nothing was restored."
        )


def named(block: bytes) -> str:
    """What a block that should be a header says it is, fit to be shown."""
    if len(block) < BLOCK:
        return "its end"
    name = block[:100].split(b"\0", 1)[0].decode("ascii", "replace")
    kind = {b"1": "a hard link ", b"2": "a link ", b"3": "a device ", b"4": "a device "}
    kind |= {b"5": "a folder ", b"6": "a pipe ", b"x": "an extended header ", b"L": "a long name "}
    return f"{kind.get(block[156:157], '')}{name[:80]!r}"


def pieces(read: Read, size: int) -> Iterator[bytes]:
    """The `size` bytes of a file, and over its padding.  Raises BackupRefused when they end too early."""
    left = size
    while left:
        piece = read(min(left, _PIECE))
        if not piece:
            raise BackupRefused("The archive ends in the middle of a file; nothing was restored.")
        left -= len(piece)
        yield piece
    if read_exactly(read, len(padding(size))) != padding(size):
        raise BackupRefused("The archive is damaged between two files; nothing was restored.")


def read_exactly(read: Read, size: int) -> bytes:
    """So many bytes, or fewer at the end."""
    found = b""
    while len(found) < size and (piece := read(size - len(found))):
        found += piece
    return found
