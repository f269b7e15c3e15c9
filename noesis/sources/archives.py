"""Unpacks archives from strangers: regular files with plain names only, counted while they stream.

An archive is refused as a whole, by the name of its first bad entry; whoever unpacks into a folder
throws that folder away then.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

import msgspec

from noesis.errors import InvalidInput, StoreError, StoreFull, TooLarge

Kind = Literal["zip", "tar.gz", "gzip"]
Wanted = Callable[[str], bool]

_PIECE = 1 << 16
_TAR_MAGIC_AT = 257
_LONGEST_NAME = 1024
_LONGEST_STEP = 255
_LONGEST_SHOWN = 100
# So much may come of any archive before the ratio counts: a small one compresses well by chance.
_FREE_BYTES = 1 << 20
_LONGEST_HEADER = 64 << 10
_HEADER_TYPES = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, b"L", b"K")
_END_BYTES = 22
_CENTRAL_BYTES_AN_ENTRY = 200
_MAC_FOLDER = "__MACOSX"


class ArchiveLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The most that may come of an archive: bytes in all, entries, and bytes for each compressed byte."""

    bytes: int
    entries: int = 20_000
    ratio: int = 200


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class BadArchive(InvalidInput):
    """An archive that is damaged, or holds what no archive of notes has to hold."""

    code = "bad_archive"
    title = "The archive is refused"


def archive_kind(file: BinaryIO) -> Kind | None:
    """Which kind of archive a file is by its first bytes; None for any other.  The file is at its start after."""
    head = file.read(4)
    file.seek(0)
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    if not head.startswith(b"\x1f\x8b"):
        return None
    try:
        start = gzip.GzipFile(fileobj=file).read(_TAR_MAGIC_AT + 5)
    except (OSError, EOFError, zlib.error):
        start = b""
    file.seek(0)
    return "tar.gz" if start[_TAR_MAGIC_AT:] == b"ustar" else "gzip"


def unpack(
    file: BinaryIO, kind: Kind, name: str, folder: Path, wanted: Wanted, limits: ArchiveLimits
) -> list[str]:
    """Put the `wanted` files of an archive called `name` into an empty folder, and return their paths in it.

    A gzip of one file becomes that file, named like the archive without its ending.  Raises BadArchive,
    TooLarge, or a StoreError when the disk takes no more.
    """
    budget = _Budget(file, limits)
    readers = {"zip": _unzip, "tar.gz": _untar, "gzip": _gunzip}
    try:
        return list(readers[kind](file, name, folder, wanted, budget))
    except (zlib.error, EOFError, tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise BadArchive("The archive is damaged or ends too early.") from error
    except (ValueError, NotImplementedError, RecursionError, RuntimeError) as error:
        raise BadArchive("The archive has a form that is not read.") from error
    except OSError as error:
        if error.errno == 28:
            raise StoreFull("There is no room left on the disk to unpack the archive.") from error
        raise StoreError(f"The archive could not be unpacked: {error.strerror}.") from error


class _Budget:
    """What an archive may still become."""

    def __init__(self, file: BinaryIO, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._bytes = min(limits.bytes, _FREE_BYTES + limits.ratio * _size(file))
        self._entries = limits.entries
        self._names: set[str] = set()

    def entry(self, raw: str) -> tuple[str, ...]:
        """The steps of an entry's name, which must be plain and new.  Raises BadArchive or TooLarge."""
        self._entries -= 1
        if self._entries < 0:
            raise TooLarge(f"The archive has more than {self._limits.entries:,} entries.")
        steps = _steps(raw)
        twin = unicodedata.normalize("NFC", "/".join(steps)).casefold()
        if twin in self._names:
            raise _bad(raw, "has a name that another entry has, perhaps in other letters")
        self._names.add(twin)
        return steps

    def spend(self, count: int, raw: str) -> None:
        """Count bytes that came out.  Raises TooLarge."""
        self._bytes -= count
        if self._bytes < 0:
            raise TooLarge(f"{_shown(raw)} makes the archive inflate to more than the limit.")


class _Counted(io.RawIOBase):
    """What a gzip inflates to, all of it counted: the data of entries that are passed over as well."""

    def __init__(self, file: BinaryIO, budget: _Budget, name: str) -> None:
        self._inflated = gzip.GzipFile(fileobj=file)
        self._budget = budget
        self._name = name

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        piece = self._inflated.read(_PIECE if size < 0 else min(size, _PIECE))
        self._budget.spend(len(piece), self._name)
        return piece


class _Header(tarfile.TarInfo):
    """A tar header; one that says it is followed by a long name is believed up to a length."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        made = super().frombuf(buf, encoding, errors)
        if made.type in _HEADER_TYPES and not 0 <= made.size <= _LONGEST_HEADER:
            raise _bad(made.name, "has a header of a length that no name needs")
        return made


def _untar(file: BinaryIO, name: str, folder: Path, wanted: Wanted, budget: _Budget) -> Iterator[str]:
    stream = cast("BinaryIO", _Counted(file, budget, name))
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as archive:
        for entry in archive:
            steps = budget.entry(entry.name)
            if entry.isdir():
                continue
            if not entry.isreg() or entry.issparse():
                raise _bad(entry.name, "is no regular file")
            if entry.mode & (stat.S_ISUID | stat.S_ISGID):
                raise _bad(entry.name, "wants to run as somebody else")
            if _is_for_us(steps, wanted):
                content = archive.extractfile(entry)
                assert content is not None
                with content:
                    yield _write(folder, steps, _pieces(content), entry.name)


def _unzip(file: BinaryIO, _name: str, folder: Path, wanted: Wanted, budget: _Budget) -> Iterator[str]:
    _refuse_long_list(file, budget)
    with zipfile.ZipFile(file) as archive:
        # All names before any data: a refusal that comes late has cost nothing yet.
        entries = [(entry, budget.entry(entry.filename)) for entry in archive.infolist()]
        for entry, _ in entries:
            _refuse_odd_zip_entry(entry)
        for entry, steps in entries:
            if entry.is_dir() or not _is_for_us(steps, wanted):
                continue
            with archive.open(entry) as content:
                pieces = _spent(_pieces(content), budget, entry.filename)
                yield _write(folder, steps, pieces, entry.filename)


def _gunzip(file: BinaryIO, name: str, folder: Path, _wanted: Wanted, budget: _Budget) -> Iterator[str]:
    plain = name[:-3] if name.lower().endswith(".gz") else name
    content = _Counted(file, budget, name)
    yield _write(folder, budget.entry(plain), _pieces(content), name)


def _pieces(content: _Readable) -> Iterator[bytes]:
    return iter(lambda: content.read(_PIECE), b"")


def _spent(pieces: Iterator[bytes], budget: _Budget, raw: str) -> Iterator[bytes]:
    for piece in pieces:
        budget.spend(len(piece), raw)
        yield piece


def _refuse_long_list(file: BinaryIO, budget: _Budget) -> None:
    """Look at the size of the list of entries before zipfile holds all of it."""
    size = _size(file)
    file.seek(max(size - _END_BYTES - (1 << 16), 0))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    listed = int.from_bytes(tail[end + 12 : end + 16], "little")
    file.seek(0)
    if end < 0:
        raise BadArchive("The archive is damaged or ends too early.")
    if b"PK\x06\x07" in tail[max(end - 20, 0) : end] or listed > _CENTRAL_BYTES_AN_ENTRY * budget._entries:
        raise TooLarge(f"The archive has more than {budget._limits.entries:,} entries.")


def _refuse_odd_zip_entry(entry: zipfile.ZipInfo) -> None:
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _bad(entry.filename, "is no regular file")
    if mode & (stat.S_ISUID | stat.S_ISGID):
        raise _bad(entry.filename, "wants to run as somebody else")
    if entry.flag_bits & 1:
        raise _bad(entry.filename, "is encrypted")
    # Others can ask for gigabytes of memory to be read.
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _bad(entry.filename, "is compressed in a way that is not read")


def _steps(raw: str) -> tuple[str, ...]:
    """The folders and the name of an entry.  Raises BadArchive."""
    name = raw.removesuffix("/")
    while name.startswith("./"):
        name = name[2:]
    if name == ".":
        return (".",)
    steps = tuple(name.split("/"))
    if len(name) > _LONGEST_NAME or any(len(os.fsencode(step)) > _LONGEST_STEP for step in steps):
        raise _bad(raw, "has a name that is too long")
    if any(step in ("", ".", "..") for step in steps) or "\\" in name or name[1:2] == ":":
        raise _bad(raw, "has a name that leads elsewhere")
    if not name.isprintable():
        raise _bad(raw, "has a name that is not plain text")
    return steps


def _is_for_us(steps: tuple[str, ...], wanted: Wanted) -> bool:
    hidden = any(step.startswith(".") or step == _MAC_FOLDER for step in steps)
    return not hidden and wanted(steps[-1])


def _write(folder: Path, steps: tuple[str, ...], pieces: Iterator[bytes], raw: str) -> str:
    path = folder.joinpath(*steps)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except (FileExistsError, NotADirectoryError):
        raise _bad(raw, "is a file in one place and a folder in another") from None
    with os.fdopen(descriptor, "wb") as out:
        for piece in pieces:
            out.write(piece)
    return "/".join(steps)


def _size(file: BinaryIO) -> int:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _bad(raw: str, what: str) -> BadArchive:
    return BadArchive(f"{_shown(raw)} {what}; nothing of the archive was taken.")


def _shown(raw: str) -> str:
    """An entry's name as it can be shown."""
    text = raw[:_LONGEST_SHOWN].encode("utf-8", "backslashreplace").decode()
    return text if text.isprintable() else ascii(text)[1:-1]
