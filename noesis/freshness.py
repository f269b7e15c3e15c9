"""Compare what lies on the disk with what was read of it; pure, so that a scan and a question see the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from noesis.sources.book import FileNote, Stamp

HELD_SHARE = 0.5
HELD_FILES = 20
"""When more than so many files and this share of all vanish at once, a person is asked first: an
unmounted or half-synchronised folder looks the same as one that was emptied."""


class Difference(msgspec.Struct, frozen=True):
    """What has to be done for a root.

    `changed` are paths to read, new ones among them; `renamed` old paths by new ones; `gone` paths
    whose file is no more; `same` counts files that are as they were read.
    """

    changed: tuple[str, ...]
    renamed: dict[str, str]
    gone: tuple[str, ...]
    same: int

    @property
    def is_behind(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.changed or self.renamed or self.gone)


def compare(
    found: Mapping[str, Stamp],
    unseen: Callable[[str], bool],
    known: Mapping[str, FileNote],
    now_ms: int,
) -> Difference:
    """What is on the disk against what is known of it; of an `unseen` file nothing can be said now."""
    missing = {path: note for path, note in known.items() if path not in found and not unseen(path)}
    by_inode = {(note.stamp.device, note.stamp.inode): path for path, note in missing.items()}
    renamed: dict[str, str] = {}
    changed: list[str] = []
    for path, stamp in found.items():
        note = known.get(path)
        if note is None:
            old = by_inode.pop((stamp.device, stamp.inode), None)
            if old is not None:
                renamed[path] = old
            if old is None or not _same_content(missing[old].stamp, stamp):
                changed.append(path)
        elif note.stamp != stamp or is_due(note, now_ms):
            changed.append(path)
    left = set(missing) - set(renamed.values())
    same = len(found) - len(set(changed) | set(renamed))
    return Difference(tuple(sorted(changed)), renamed, tuple(sorted(left)), same)


def is_due(note: FileNote, now_ms: int) -> bool:
    """Whether a file that could not be read is to be tried again."""
    return note.state == "failed" and note.retry_at <= now_ms


def too_many_gone(gone: int, known: int) -> bool:
    """Whether so many files vanished at once that a person should say whether they are meant to be gone."""
    return gone > HELD_FILES and gone > HELD_SHARE * known


def _same_content(before: Stamp, now: Stamp) -> bool:
    """Whether a renamed file still has the content: a rename changes none of these."""
    return (before.size, before.modified_ns) == (now.size, now.modified_ns)
