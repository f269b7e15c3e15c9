"""What is known of each source file: how it was when it was last read, and which memories it gave."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from noesis.collecting import Collector
from noesis.control import Control, metadata
from noesis.sources.roots import KEY_CHARS
from noesis.sources.safe_files import Found

_WHOLE = 2**63 - 1
_NOTES_AT_ONCE = 256
_PAGE = 1000

State = Literal["indexed", "failed", "refused"]

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""In order of bytes, as SQLite has it by itself."""

files = sa.Table(
    "source_files",
    metadata,
    sa.Column("root", sa.String(KEY_CHARS), primary_key=True),
    sa.Column("path", _PATH, primary_key=True),
    sa.Column("device", sa.BigInteger, nullable=False),
    sa.Column("inode", sa.BigInteger, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("modified_ns", sa.BigInteger, nullable=False),
    sa.Column("changed_ns", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("digest", sa.String(64)),
    sa.Column("progress", sa.Text),
    sa.Column("skipped", sa.Integer, nullable=False),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("retry_at", sa.BigInteger, nullable=False),
    sa.Column("read_at", sa.BigInteger, nullable=False),
)

sections = sa.Table(
    "source_sections",
    metadata,
    sa.Column("root", sa.String(KEY_CHARS), primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("memory_id", sa.String(36), primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("front", sa.String(64), nullable=False),
    sa.Column("heading", sa.Text, nullable=False),
)


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """What tells a file's version without reading it: device, inode, bytes, and both times (ns)."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a file by its status."""
        return cls(
            cls.whole(status.st_dev),
            cls.whole(status.st_ino),
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )

    @classmethod
    def found(cls, file: Found) -> Stamp:
        """The stamp of a file by what a walk saw of it."""
        return cls(
            cls.whole(file.device), cls.whole(file.inode), file.size, file.modified_ns, file.changed_ns
        )

    @staticmethod
    def whole(number: int) -> int:
        """A device's or inode's number as the database can hold it: some have all 64 bits, it has one less."""
        return number & _WHOLE

    @classmethod
    def unread(cls, stamp: Stamp) -> Stamp:
        """The same file, but no version of it: it has not been read to its end."""
        return cls(stamp.device, stamp.inode, -1, 0, 0)


class FileNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a file.

    `progress` (JSON) says where reading a transcript goes on; `skipped` counts lines that could not be read.  A file that failed is tried again at `retry_at` (ms),
    whether or not it changes.
    """

    path: str
    stamp: Stamp
    state: State
    reason: str | None = None
    digest: str | None = None
    progress: str | None = None
    skipped: int = 0
    tries: int = 0
    retry_at: int = 0
    read_at: int = 0


class Known(msgspec.Struct, frozen=True):
    """What a look at a place compares: the part of a file's note that says how it was found."""

    path: str
    stamp: Stamp
    state: State
    reason: str | None = None
    retry_at: int = 0


class SectionNote(msgspec.Struct, frozen=True, kw_only=True):
    """A section of a file as it was filed: its memory, place, digests of its text and of what the file's
    head said, and the headings above it."""

    memory_id: str
    number: int
    digest: str
    front: str
    heading: tuple[str, ...] = ()


class _Entry(msgspec.Struct, frozen=True):
    """A note to write; `sections` None leaves those of the file as they are."""

    root: str
    note: FileNote
    sections: Sequence[SectionNote] | None


class Book:
    """Keeps the notes."""

    def __init__(self, control: Control) -> None:
        self._control = control
        # Each commit waits for the disk: notes that come together go in one.
        self._writing: Collector[_Entry, None] = Collector(self._put, most=_NOTES_AT_ONCE)

    def in_order(self, root: str) -> Iterator[Known]:
        """All files of a root in order of their paths' bytes, read in pages; for a thread that may wait.

        What is written meanwhile may be among them or not.
        """
        after: str | None = None
        while True:
            page = self._control.read_sync(partial(_page, root=root, after=after))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].path

    async def note(self, root: str, path: str) -> FileNote | None:
        """One file, None when it was never read."""
        query = sa.select(files).where(files.c.root == root, files.c.path == path)
        row = await self._control.read(lambda connection: connection.execute(query).mappings().first())
        return None if row is None else _note(row)

    async def write(self, root: str, note: FileNote) -> None:
        """Note a file as it was read; its sections stay."""
        await self._writing.submit(_Entry(root, note, None))

    async def file(self, root: str, note: FileNote, filed: Sequence[SectionNote]) -> None:
        """Note a file and the sections that it gave, in place of those before."""
        await self._writing.submit(_Entry(root, note, filed))

    async def _put(self, entries: list[_Entry]) -> list[None]:
        await self._control.run(lambda connection: _put_entries(connection, entries))
        return [None] * len(entries)

    async def sections(self, root: str, path: str) -> list[SectionNote]:
        """The filed sections of a file, in order."""
        query = (
            sa.select(sections)
            .where(sections.c.root == root, sections.c.path == path)
            .order_by(sections.c.number)
        )
        rows = await self._control.read(lambda connection: connection.execute(query).all())
        return [
            SectionNote(
                memory_id=row.memory_id,
                number=row.number,
                digest=row.digest,
                front=row.front,
                heading=tuple(msgspec.json.decode(row.heading, type=list[str])),
            )
            for row in rows
        ]

    async def filed_ids(self) -> frozenset[str]:
        """The memories of all sections that files hold, whatever became of them."""
        query = sa.select(sections.c.memory_id).distinct()
        return await self._control.read(lambda connection: frozenset(connection.execute(query).scalars()))

    async def forget(self, root: str, paths: Sequence[str]) -> None:
        """Drop the notes of files that are gone."""

        def drop(connection: sa.Connection) -> None:
            for path in paths:
                connection.execute(sa.delete(files).where(files.c.root == root, files.c.path == path))
            _drop_sections(connection, root, paths)

        await self._control.run(drop)

    async def forget_root(self, root: str) -> list[str]:
        """Drop all notes of a root; the ids of the memories that its files gave."""

        def drop(connection: sa.Connection) -> list[str]:
            query = sa.select(sections.c.memory_id).where(sections.c.root == root)
            ids = list(connection.execute(query).scalars())
            for each in (files, sections):
                connection.execute(sa.delete(each).where(each.c.root == root))
            return ids

        return await self._control.run(drop)

    async def rename(self, root: str, old: str, new: str, stamp: Stamp) -> None:
        """A file has another path now; what is known of it goes with it."""

        def move(connection: sa.Connection) -> None:
            for each in (files, sections):
                connection.execute(sa.delete(each).where(each.c.root == root, each.c.path == new))
                moved = sa.update(each).where(each.c.root == root, each.c.path == old)
                connection.execute(moved.values(path=new))
            same = sa.update(files).where(files.c.root == root, files.c.path == new)
            connection.execute(same.values(**_stamp_values(stamp)))

        await self._control.run(move)


def _page(connection: sa.Connection, root: str, after: str | None) -> list[Known]:
    # Another order than that of the paths on the disk would make files new and gone that are there.
    path = files.c.path.collate("C" if connection.dialect.name == "postgresql" else "BINARY")
    columns = (files.c.path, *(files.c[name] for name in Stamp.__struct_fields__))
    query = sa.select(*columns, files.c.state, files.c.reason, files.c.retry_at).where(files.c.root == root)
    if after is not None:
        query = query.where(path > after)
    rows = connection.execute(query.order_by(path).limit(_PAGE))
    return [Known(name, Stamp(*stamp), state, reason, due) for name, *stamp, state, reason, due in rows]


def _put_entries(connection: sa.Connection, entries: Sequence[_Entry]) -> None:
    """Several notes at once; of one file the last counts."""
    notes = {(entry.root, entry.note.path): entry.note for entry in entries}
    filed = {(entry.root, entry.note.path): entry.sections for entry in entries if entry.sections is not None}
    for root, path in notes:
        connection.execute(sa.delete(files).where(files.c.root == root, files.c.path == path))
    connection.execute(sa.insert(files), [_file_values(root, note) for (root, _), note in notes.items()])
    for root, path in filed:
        _drop_sections(connection, root, [path])
    rows = [_section_values(*place, section) for place, found in filed.items() for section in found]
    if rows:
        connection.execute(sa.insert(sections), rows)


def _drop_sections(connection: sa.Connection, root: str, paths: Iterable[str]) -> None:
    for path in paths:
        connection.execute(sa.delete(sections).where(sections.c.root == root, sections.c.path == path))


def _stamp_values(stamp: Stamp) -> dict[str, Any]:
    return msgspec.structs.asdict(stamp)


def _file_values(root: str, note: FileNote) -> dict[str, Any]:
    values = msgspec.structs.asdict(note)
    del values["stamp"]
    return {"root": root, **values, **_stamp_values(note.stamp)}


def _section_values(root: str, path: str, section: SectionNote) -> dict[str, Any]:
    values = msgspec.structs.asdict(section)
    return {"root": root, "path": path, **values, "heading": msgspec.json.encode(section.heading).decode()}


def _note(row: Any) -> FileNote:
    stamp = Stamp(**{name: row[name] for name in Stamp.__struct_fields__})
    names = [name for name in FileNote.__struct_fields__ if name != "stamp"]
    return FileNote(stamp=stamp, **{name: row[name] for name in names})
