"""Where on the server an import may read, and which parts of what formats lie there."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from noesis.errors import Forbidden, InvalidInput, NotFound
from noesis.following import Following
from noesis.importing.values import Recipients, What
from noesis.settings import Settings
from noesis.sources import safe_files
from noesis.sources.archives import ArchiveLimits, Kind, archive_kind, unpack
from noesis.sources.foreign import Format, detect, detect_content
from noesis.sources.foreign.detect import HEAD_BYTES
from noesis.sources.safe_files import Found, Limits
from noesis.uploads import Uploads

JSON_FORMATS = frozenset(
    (Format.NOESIS, Format.MEM0, Format.MCP_MEMORY_SERVICE, Format.CHATGPT, Format.CLAUDE)
)
FOLDER_FORMATS = frozenset((Format.ORIGINAL, Format.BASIC_MEMORY, Format.MARKDOWN, Format.OPENCLAW))

_TEXTS = (".md", ".markdown", ".txt")
_JSONS = (".json", ".ndjson", ".jsonl")
_NAMED = frozenset((Format.MARKDOWN, Format.BASIC_MEMORY))
_SQLITE = b"SQLite format 3\0"
_MARKED = (".json", ".jsonl", ".ndjson", ".sqlite", *_TEXTS)
_LONGEST_NAME = 128
_MOST_FILES = 250_000
"""In an archive: our own export as Markdown has a file for each memory."""
_OUTSIDE = (
    "path lies in no folder that may be imported from: those of NOESIS_IMPORT_ROOTS, OpenClaw's, and the"
    " ones that are followed for the agent."
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A file, or a folder when `relative` is empty, that is read through `folder` without following links.

    `label` is what it is called; `upload` says that its path means nothing beyond this import.
    """

    folder: Path
    label: str
    relative: str = ""
    hard_links: bool = False
    upload: bool = False

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.folder / self.relative if self.relative else self.folder

    @property
    def limits(self) -> Limits:
        """What is read of it."""
        return Limits(file_bytes=None, hard_links=self.hard_links)

    def open(self) -> BinaryIO:
        """The file.  Raises NotFound, Forbidden, or a StoreError."""
        with safe_files.open_root(self.folder) as root:
            return safe_files.open_file(root, self.relative, self.limits)[0]


class Part(msgspec.Struct, frozen=True):
    """What is read in one go, and its format."""

    place: Place
    format: Format


class Places:
    """Finds what is to be imported."""

    def __init__(self, following: Following, uploads: Uploads, settings: Settings) -> None:
        self._following = following
        self._uploads = uploads
        self._settings = settings

    @asynccontextmanager
    async def parts(self, what: What, to: Recipients) -> AsyncIterator[list[Part]]:
        """The parts of what is imported; archives are unpacked for as long as they are read.

        Raises Forbidden for a path where nothing may be imported from, NotFound, and InvalidInput when
        there is nothing of a known format.
        """
        place = await self.place(what, to)
        async with AsyncExitStack() as stack:
            if place.relative and (kind := await asyncio.to_thread(_archive_kind, place)):
                folder = stack.enter_context(self._uploads.folder())
                place = await asyncio.to_thread(self._unpacked, place, kind, folder)
            found = await asyncio.to_thread(parts_of, place, what.format)
            if not found:
                raise InvalidInput("Nothing there is of a format that can be imported.", field="format")
            if place.upload and place.relative and found[0].format in _NAMED:
                folder = stack.enter_context(self._uploads.folder())
                found = [Part(await asyncio.to_thread(_named, place, folder), found[0].format)]
            yield found

    async def place(self, what: What, to: Recipients) -> Place:
        """Where it lies.  Raises Forbidden, NotFound or InvalidInput."""
        if what.upload is not None:
            path = self._uploads.path(what.upload)
            label = upload_name(what.name)
            return Place(folder=path.parent, relative=path.name, label=label, upload=True)
        if what.path is None:
            raise InvalidInput("Name a path or send a file.", field="path")
        if what.trusted:
            return _place(Path(what.path).absolute(), hard_links=True)
        return await self._allowed(Path(what.path), to)

    async def _allowed(self, path: Path, to: Recipients) -> Place:
        if not path.is_absolute():
            raise InvalidInput("path must be absolute: it is a path of the server.", field="path")
        real = await asyncio.to_thread(_real, path)
        data = self._settings.data_dir.resolve()
        followed = await self._following.followed(also_unwatched=True)
        roots = [Path(root).expanduser().resolve() for root in self._settings.import_roots]
        # Another agent's notes may be read into its own memories only.
        own = (
            root for root in followed if (to.admits(root.agent) if to.as_given else root.agent == to.agent)
        )
        roots += [Path(root.path) for root in own]
        inside = any(real.is_relative_to(root) for root in roots)
        if not inside or real.is_relative_to(data) or data.is_relative_to(real):
            raise Forbidden(_OUTSIDE, field="path")
        return _place(real, hard_links=False)

    def _unpacked(self, place: Place, kind: Kind, folder: Path) -> Place:
        limits = ArchiveLimits(bytes=self._settings.import_max_mb << 20, entries=_MOST_FILES)
        with place.open() as file:
            files = unpack(file, kind, place.label, folder, _is_wanted, limits)
        if kind == "gzip":
            return Place(folder=folder, relative=files[0], label=files[0], upload=True)
        return Place(folder=folder, label=stem_of(place.label), upload=True)


def parts_of(place: Place, wanted: Format | None) -> list[Part]:
    """The parts of a file or folder; those of one format alone when it is `wanted`."""
    if place.relative:
        found = wanted or _format_of(place)
        return [] if found is None else [Part(place, found)]
    if wanted is not None and wanted in FOLDER_FORMATS:
        return [Part(place, wanted)]
    parts = [Part(place, found) for found in _folder_formats(place) if wanted in (None, found)]
    return [*parts, *_files_of(place, wanted)]


def _folder_formats(place: Place) -> list[Format]:
    found = detect(place.path)
    if found is Format.OPENCLAW:
        # Transcripts do not keep notes beside them from being notes.
        return [found, Format.MARKDOWN]
    return [] if found is None else [found]


def _files_of(place: Place, wanted: Format | None) -> Iterator[Part]:
    """The files of a folder that are exports of their own."""
    with safe_files.open_root(place.folder) as root:
        names = [
            entry.relative
            for entry in safe_files.walk(root, lambda path: path.lower().endswith(_JSONS), place.limits)
            if isinstance(entry, Found)
        ]
    for name in names:
        file = msgspec.structs.replace(place, relative=name, label=PurePosixPath(name).name)
        found = _format_of(file)
        if found in JSON_FORMATS and wanted in (None, found):
            yield Part(file, found)


def _format_of(place: Place) -> Format | None:
    with place.open() as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_SQLITE):
        return detect(place.path)
    return detect_content(place.label, head)


def _archive_kind(place: Place) -> Kind | None:
    with place.open() as file:
        return archive_kind(file)


def _named(place: Place, folder: Path) -> Place:
    """A copy of an upload under the name that it came with, which its memories are to name as their source."""
    with place.open() as file, (folder / place.label).open("xb") as copy:
        shutil.copyfileobj(file, copy)
    return msgspec.structs.replace(place, folder=folder, relative=place.label)


def _real(path: Path) -> Path:
    """The path without links.  Raises Forbidden when there can be no such path."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        raise Forbidden(_OUTSIDE, field="path") from None


def _place(path: Path, *, hard_links: bool) -> Place:
    """The place of an existing path.  Raises NotFound."""
    real = path.resolve()
    if real.is_dir():
        return Place(folder=real, label=real.name or "root", hard_links=hard_links)
    if not real.exists():
        raise NotFound("There is no such file or folder.", field="path")
    return Place(folder=real.parent, relative=real.name, label=path.name, hard_links=hard_links)


def upload_name(raw: str | None) -> str:
    """What an upload is called: the last step of the name it came with, as far as it is plain."""
    name = (raw or "").replace("\\", "/").rpartition("/")[2].strip()
    kept = "".join(char for char in name if char.isprintable())[-_LONGEST_NAME:].strip(". ")
    return kept or "upload"


def stem_of(name: str) -> str:
    """A file's name without its endings."""
    lower = name.lower()
    for ending in (".tar.gz", ".tgz", ".zip", ".gz", *_MARKED):
        if lower.endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return name


def _is_wanted(name: str) -> bool:
    return name.lower().endswith((*_TEXTS, *_JSONS, ".jsonl.zst")) or ".jsonl." in name.lower()
