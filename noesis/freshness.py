"""Compare what lies on the disk with what was read of it; pure, so that a scan and a question see the same.

Both come in order of paths and are gone through side by side: of what is as it was read nothing is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from noesis.sources.book import Known, Stamp
from noesis.sources.looking import SeenFile, Unseen
from noesis.sources.packed import Packed

HELD_SHARE = 0.5
HELD_FILES = 20
"""When more than so many files and this share of all vanish at once, a person is asked first: an
unmounted or half-synchronised folder looks the same as one that was emptied."""

PROBLEMS_SHOWN = 20


class Changed(msgspec.Struct, frozen=True, array_like=True):
    """A file to read, whether there is a note of it, and whether it is only tried again, being as it was."""

    path: str
    stamp: Stamp
    is_known: bool
    is_again: bool


class Renamed(msgspec.Struct, frozen=True, array_like=True):
    """A file that lay elsewhere when it was read, and whether its content was another then."""

    path: str
    old: str
    stamp: Stamp
    is_changed: bool


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be done for a root.

    `changed` are files to read, new ones among them, `gone` paths whose file is no more; all in order of
    paths.  `on_disk` and `known` count files and notes, `indexed` those that are in memory as they lie
    there, `refused` and `failed` those that cannot be read; `problems` say why of the first of these.
    """

    changed: Packed[Changed]
    renamed: Packed[Renamed]
    gone: Packed[str]
    on_disk: int
    known: int
    indexed: int
    refused_on_disk: int
    refused: int
    failed: int
    problems: tuple[tuple[str, str], ...]


def compare(seen: Iterable[SeenFile | Unseen], known: Iterable[Known], now_ms: int) -> Difference:
    """What is on the disk against what is known of it, both in order of paths.

    Of a file that is unseen nothing can be said now.
    """
    found = _Comparison(now_ms)
    for file, note in _side_by_side(found.files_of(seen), iter(known)):
        found.add(file, note)
    return found.difference()


def too_many_gone(gone: int, known: int) -> bool:
    """Whether so many files vanished at once that a person should say whether they are meant to be gone."""
    return gone > HELD_FILES and gone > HELD_SHARE * known


class _Missing(msgspec.Struct, frozen=True, array_like=True):
    """A note without a file."""

    path: str
    stamp: Stamp


class _Comparison:
    """What was found until now."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._changed = Packed(Changed)
        self._missing = Packed(_Missing)
        self._unseen = Packed(Unseen)
        self._counts: Counter[str] = Counter()
        self._problems: dict[str, str] = {}

    def files_of(self, seen: Iterable[SeenFile | Unseen]) -> Iterator[SeenFile]:
        for each in seen:
            if isinstance(each, Unseen):
                self._unseen.append(each)
                if each.path not in self._problems:
                    self._tell(each.path, each.reason)
            else:
                yield each

    def add(self, file: SeenFile | None, note: Known | None) -> None:
        self._counts["on_disk"] += file is not None
        if note is not None:
            self._count(file, note)
        if file is None and note is not None:
            self._missing.append(_Missing(note.path, note.stamp))
        elif file is not None and (note is None or note.stamp != file.stamp or self._is_due(note)):
            is_again = note is not None and note.stamp == file.stamp
            self._changed.append(Changed(file.path, file.stamp, note is not None, is_again))

    def difference(self) -> Difference:
        changed, missing = self._changed, self._without_unseen()
        renamed = _renamed(changed, missing)
        if renamed:
            read = {each.path: each.is_changed for each in renamed}
            changed = Packed(Changed, (each for each in changed if read.get(each.path, True)))
            olds = {each.old for each in renamed}
            missing = Packed(_Missing, (each for each in missing if each.path not in olds))
        return Difference(
            changed=changed,
            renamed=renamed,
            gone=Packed(str, (each.path for each in missing)),
            on_disk=self._counts["on_disk"],
            known=self._counts["known"],
            indexed=self._counts["indexed"],
            refused_on_disk=len(self._unseen),
            refused=len(self._unseen) + self._counts["refused"],
            failed=self._counts["failed"],
            problems=tuple(sorted(self._problems.items())[:PROBLEMS_SHOWN]),
        )

    def _count(self, file: SeenFile | None, note: Known) -> None:
        self._counts["known"] += 1
        self._counts["indexed"] += note.state == "indexed" and file is not None and file.stamp == note.stamp
        if note.state == "refused" or (note.state == "failed" and file is not None):
            self._counts[note.state] += 1
            self._tell(note.path, note.reason or "")

    def _is_due(self, note: Known) -> bool:
        """Whether a file that could not be read is to be tried again."""
        return note.state == "failed" and note.retry_at <= self._now_ms

    def _tell(self, path: str, reason: str) -> None:
        self._problems[path] = reason
        # What is refused may come after paths that follow it: the last in order goes, not the last that came.
        if len(self._problems) > PROBLEMS_SHOWN:
            del self._problems[max(self._problems)]

    def _without_unseen(self) -> Packed[_Missing]:
        """The notes whose file was looked for and is not there."""
        if not (self._missing and self._unseen):
            return self._missing
        paths = {each.path for each in self._unseen}
        folders = {each.folder for each in self._unseen if each.folder is not None}
        return Packed(
            _Missing,
            (
                each
                for each in self._missing
                if each.path not in paths and folders.isdisjoint(_above(each.path))
            ),
        )


def _side_by_side(
    files: Iterator[SeenFile], notes: Iterator[Known]
) -> Iterator[tuple[SeenFile | None, Known | None]]:
    """Each file with its note, a None for what is missing."""
    file, note = next(files, None), next(notes, None)
    while file is not None or note is not None:
        if note is None or (file is not None and file.path < note.path):
            yield file, None
            file = next(files, None)
        elif file is None or note.path < file.path:
            yield None, note
            note = next(notes, None)
        else:
            yield file, note
            file, note = next(files, None), next(notes, None)


def _above(path: str) -> Iterator[str]:
    """The folders that a file lies in, each with a / at its end but for the root."""
    yield ""
    yield from (path[: at + 1] for at, char in enumerate(path) if char == "/")


def _renamed(changed: Packed[Changed], missing: Packed[_Missing]) -> Packed[Renamed]:
    """The new files that are missing ones under another path; what is kept for it is as long as the shorter list."""
    renamed = Packed(Renamed)
    if not (changed and missing):
        return renamed
    few = len(missing) <= len(changed)
    wanted = set() if few else {_identity(each.stamp) for each in changed if not each.is_known}
    olds = {_identity(each.stamp): each for each in missing if few or _identity(each.stamp) in wanted}
    for each in changed:
        old = None if each.is_known else olds.pop(_identity(each.stamp), None)
        if old is not None:
            is_changed = not _same_content(old.stamp, each.stamp)
            renamed.append(Renamed(each.path, old.path, each.stamp, is_changed))
    return renamed


def _identity(stamp: Stamp) -> tuple[int, int]:
    return stamp.device, stamp.inode


def _same_content(before: Stamp, now: Stamp) -> bool:
    """Whether a renamed file still has the content: a rename changes none of these."""
    return (before.size, before.modified_ns) == (now.size, now.modified_ns)
