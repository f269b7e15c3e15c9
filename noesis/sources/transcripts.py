"""Reads the turns of a transcript file, JSON lines or a zstd archive of them, from where it was left."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from noesis.errors import NoesisError
from noesis.sources.entries import Talk, follow, read_entry
from noesis.sources.inflating import MAX_INFLATED_BYTES, ArchiveTooLarge, DamagedArchive, Inflated
from noesis.sources.lines import MAX_LINE_BYTES, Line, Place, Skipped, Source, read_lines
from noesis.sources.transcript_names import transcript_name
from noesis.turns import Turn

_MARK_BYTES = 4096
_READ_BYTES = 65_536

DAMAGED = "the archive is damaged"
TOO_MUCH = "the archive inflates to too much"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The longest line (or event) and the most that one archive may inflate to, in bytes."""

    line_bytes: int = MAX_LINE_BYTES
    inflated_bytes: int = MAX_INFLATED_BYTES


class Mark(msgspec.Struct, frozen=True):
    """A line that was read, by the SHA-256 of its first 4 kB; whoever rewrites a file moves or changes it."""

    offset: int
    length: int
    digest: str


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where reading a transcript goes on; JSON of it can be kept.

    `first` and `last` are the first and the last line that were read, `inode` and `device` the file they
    were read from, `size` (bytes) and `modified_ns` how that file was.  Offsets are in bytes, in those of
    the inflated text for an archive.  `talk` is what was known of the session there.
    """

    place: Place = Place()
    talk: Talk | None = None
    first: Mark | None = None
    last: Mark | None = None
    device: int = 0
    inode: int = 0
    size: int = 0
    modified_ns: int = 0


class Reading:
    """One pass over a transcript: iterate over it once; `progress` is true after every item.

    `restarted` says that the file is not the one the earlier progress was made in, or was rewritten, so
    that this pass begins at its start: turns that were given before come again, with the same entry ids.
    """

    def __init__(
        self,
        file: BinaryIO,
        status: os.stat_result,
        name: str,
        progress: Progress | None = None,
        *,
        limits: Limits | None = None,
        finished: bool = False,
    ) -> None:
        named = transcript_name(name)
        self._file = file
        self._compressed = named.compressed
        self._limits = limits or Limits()
        self._finished = finished or named.finished
        earlier = progress or Progress()
        goes_on = _goes_on(file, status, earlier, compressed=named.compressed)
        self.restarted = progress is not None and not goes_on
        start = earlier if goes_on else Progress()
        self._talk = start.talk or Talk(named.session)
        self.progress = msgspec.structs.replace(
            start,
            device=status.st_dev,
            inode=status.st_ino,
            size=status.st_size,
            modified_ns=status.st_mtime_ns,
        )

    def __iter__(self) -> Iterator[Turn | Skipped]:
        """Give every turn, and every entry that could not be read, in the order of the file."""
        place = self.progress.place
        try:
            source = self._source(place.offset)
            lines = read_lines(source, place, most=self._limits.line_bytes, finished=self._finished)
            for behind, line in lines:
                item = self._item(behind, line)
                if item is not None:
                    yield item
        except (DamagedArchive, ArchiveTooLarge) as error:
            yield self._broken(error)

    def _source(self, offset: int) -> Source:
        if not self._compressed:
            self._file.seek(offset)
            return self._file
        self._file.seek(0)
        source = Inflated(self._file, most=self._limits.inflated_bytes)
        while offset > 0 and (piece := source.read(min(offset, _READ_BYTES))):
            offset -= len(piece)
        return source

    def _item(self, behind: Place, line: Line | Skipped) -> Turn | Skipped | None:
        if isinstance(line, Skipped):
            self._go_on(behind)
            return msgspec.structs.replace(line, session_id=self._talk.session_id)
        entry = read_entry(line.data)
        if isinstance(entry, str):
            if not line.torn:
                self._go_on(behind, line)
            return self._skipped(entry, line.number, line.offset)
        turn, self._talk = follow(entry, line.number, self._talk)
        self._go_on(behind, line)
        return turn

    def _go_on(self, behind: Place, line: Line | None = None) -> None:
        first, last = self.progress.first, self.progress.last
        if line is not None:
            last = _mark(line)
            first = first or last
        self.progress = msgspec.structs.replace(
            self.progress, place=behind, talk=self._talk, first=first, last=last
        )

    def _broken(self, error: NoesisError) -> Skipped:
        reason = TOO_MUCH if isinstance(error, ArchiveTooLarge) else DAMAGED
        place = self.progress.place
        return self._skipped(reason, place.number, place.offset)

    def _skipped(self, reason: str, number: int, offset: int) -> Skipped:
        return Skipped(reason=reason, number=number, offset=offset, session_id=self._talk.session_id)


def read_file(
    file: BinaryIO,
    status: os.stat_result,
    name: str,
    progress: Progress | None = None,
    *,
    limits: Limits | None = None,
    finished: bool = False,
) -> Reading:
    """Read the transcript `file` (seekable, its `os.stat_result`, its name) from `progress` on.

    A last line without an end waits for the next pass, unless the file is `finished`, which archives are
    by their names: then it is taken if it is whole, and given as Skipped, to be tried again, if not.
    """
    return Reading(file, status, name, progress, limits=limits, finished=finished)


def _goes_on(file: BinaryIO, status: os.stat_result, earlier: Progress, *, compressed: bool) -> bool:
    """Tell whether what was read earlier is still there in front.

    A file's device is not compared: it changes when a disk is mounted anew.
    """
    if earlier.inode != status.st_ino:
        return False
    if compressed:
        return (earlier.size, earlier.modified_ns) == (status.st_size, status.st_mtime_ns)
    if status.st_size < earlier.place.offset:
        return False
    return all(mark is None or _holds(file, mark) for mark in (earlier.first, earlier.last))


def _holds(file: BinaryIO, mark: Mark) -> bool:
    file.seek(mark.offset)
    data = file.read(mark.length)
    return hashlib.sha256(data).hexdigest() == mark.digest


def _mark(line: Line) -> Mark:
    head = line.data[:_MARK_BYTES]
    return Mark(line.offset, len(head), hashlib.sha256(head).hexdigest())
