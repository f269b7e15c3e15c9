"""Imports Markdown: its sections become memories that follow the files at every later import or scan."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from noesis.errors import InvalidInput, NoesisError, StoreError
from noesis.importing.places import Part, Place
from noesis.importing.values import Course, Recipients
from noesis.mirroring import bounded
from noesis.reading import FileReader
from noesis.redacting import Redacting, Redactor
from noesis.settings import Settings
from noesis.sources import safe_files
from noesis.sources.book import Book, SectionNote
from noesis.sources.foreign import Unreadable
from noesis.sources.looking import OpenedRoot, is_wanted
from noesis.sources.roots import Root, Roots, key_of, labelled
from noesis.sources.safe_files import Found
from noesis.store import Column, Store
from noesis.store.filters import one_of
from noesis.text.documents import Document, memory_type_of, read_document
from noesis.text.normalise import content_hash

_AT_ONCE = 16
"""Files whose sections are embedded and committed together."""

SINGLE = "upload"
"""What begins the source of a note that was uploaded alone."""


class DocumentImport:
    """Reads folders of notes, and single ones, with the same notebook as the followed folders."""

    def __init__(
        self,
        store: Store,
        roots: Roots,
        book: Book,
        reader: FileReader,
        redacting: Redacting,
        settings: Settings,
    ) -> None:
        self._store = store
        self._roots = roots
        self._book = book
        self._reader = reader
        self._redacting = redacting
        self._most_bytes = settings.max_file_mb << 20

    async def read(self, part: Part, to: Recipients, course: Course) -> None:
        """Import the notes of a part, or count what would be; a file that cannot be read is tried the next time.

        Files that are gone since an earlier import are left alone.  Raises a StoreError.
        """
        agent = to.one()
        root, below = await self._root(part.place, agent)
        redactor = await self._redacting.redactor(agent)
        handle = await asyncio.to_thread(safe_files.open_root, Path(root.path))
        with OpenedRoot(root, handle) as opened:
            paths = await asyncio.to_thread(self._paths, opened, part.place, below, course)
            for start in range(0, len(paths), _AT_ONCE):
                some = paths[start : start + _AT_ONCE]
                await asyncio.gather(*(self._note(opened, path, redactor, course) for path in some))
                if not course.goes_on(start + len(some), len(paths)):
                    break

    async def _note(self, opened: OpenedRoot, path: str, redactor: Redactor, course: Course) -> None:
        try:
            if course.dry:
                await self.look(opened, path, redactor, course)
            else:
                await self._file(opened, path, course)
        except StoreError:
            raise
        except NoesisError as error:
            course.tally.fail(Unreadable(path, error.message))

    async def _root(self, place: Place, agent: str) -> tuple[Root, str]:
        """The place as a root, and the path in it below which files are imported.

        It is the followed root that it lies in, if there is one; else one that is not followed, with the
        key that it would have if it were, so that following it later brings nothing twice.
        """
        if place.upload:
            label = SINGLE if place.relative else place.label
            key = key_of("markdown", agent, f"upload:{label}")
            return Root(
                key=key, kind="markdown", agent=agent, path=str(place.folder), label=label
            ), place.relative
        known = await self._roots.all()
        for root in known:
            if root.kind != "markdown" or root.agent != agent or not place.path.is_relative_to(root.path):
                continue
            below = place.path.relative_to(root.path).as_posix()
            if not place.relative or is_wanted(root, below):
                return root, "" if below == "." else below
        key = key_of("markdown", agent, str(place.folder))
        root = Root(
            key=key, kind="markdown", agent=agent, path=str(place.folder), label=place.folder.name or "root"
        )
        return labelled(root, known), place.relative

    def _paths(self, opened: OpenedRoot, place: Place, below: str, course: Course) -> list[str]:
        """The files to read; those that are refused are counted."""
        if place.relative:
            return [below]
        assert opened.handle is not None
        paths: list[str] = []
        limits = msgspec.structs.replace(place.limits, file_bytes=self._most_bytes)
        for entry in safe_files.walk(opened.handle, lambda path: is_wanted(opened.root, path), limits):
            if below and not entry.relative.startswith(f"{below}/"):
                continue
            if isinstance(entry, Found):
                paths.append(entry.relative)
            else:
                course.tally.fail(Unreadable(entry.relative, entry.reason))
        return paths

    async def _file(self, opened: OpenedRoot, path: str, course: Course) -> None:
        root = opened.root
        note = await self._book.note(root.key, path)
        # An import looks at each memory, also of a file that is as it was when it was last read.
        unsure = None if note is None else msgspec.structs.replace(note, digest=None)
        read = await self._reader.document(root, opened, path, unsure, most_bytes=self._most_bytes)
        if read.refused is not None:
            raise InvalidInput(f"{read.refused[:1].upper()}{read.refused[1:]}.")
        tally, counts = course.tally, read.memories
        tally.entries += sum(counts.values()) - counts.get("removed", 0)
        tally.new += counts.get("added", 0)
        tally.by_agent[root.agent] += counts.get("added", 0)
        tally.changed += counts.get("changed", 0)
        tally.already += counts.get("unchanged", 0)
        tally.removed += counts.get("removed", 0)
        for _ in range(counts.get("left_out", 0)):
            tally.fail(Unreadable(path, "A section of it may not be stored."))

    async def look(self, opened: OpenedRoot, path: str, redactor: Redactor, course: Course) -> None:
        """Count what importing a file would do.  Raises UnreadableFile or a StoreError."""
        root = opened.root
        file = await asyncio.to_thread(opened.read_text, path, self._most_bytes)
        document = await asyncio.to_thread(read_document, path, file.text)
        filed = await self._book.sections(root.key, path)
        there = await self._there(filed)
        digests = {note.digest for note in filed if note.memory_id in there}
        fresh = _count(path, document, digests, redactor, root.agent, course)
        changed = min(
            fresh, sum(note.memory_id in there for note in filed) - len(digests & _digests(document))
        )
        course.tally.changed += changed
        course.tally.new += fresh - changed

    async def _there(self, filed: list[SectionNote]) -> set[str]:
        condition = one_of(Column.PARENT_ID, [note.memory_id for note in filed])
        tables = (self._store.active, self._store.archive)
        return {parent for table in tables for (parent,) in await table.values([Column.PARENT_ID], condition)}


def _digests(document: Document) -> set[str]:
    return {content_hash(section.text) for section in bounded(document.sections)}


def _count(
    path: str, document: Document, known: set[str], redactor: Redactor, agent: str, course: Course
) -> int:
    """Count the sections of a document; how many of them are not known yet."""
    tally, fresh = course.tally, 0
    for section in bounded(document.sections):
        tally.entries += 1
        try:
            redactor.clean(section.text)
        except InvalidInput as error:
            tally.fail(Unreadable(f"{path} section {section.number + 1}", error.message))
            continue
        tally.by_agent[agent] += 1
        tally.by_type[memory_type_of(section, path, document.front).value] += 1
        if content_hash(section.text) in known:
            tally.already += 1
        else:
            fresh += 1
    return fresh
