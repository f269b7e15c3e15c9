"""What brings memories in, put together."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from noesis.capturing import Capturing
from noesis.erasing import Forgotten
from noesis.following import Following
from noesis.importing.documents import DocumentImport
from noesis.importing.openclaw import OpenClawImport
from noesis.importing.operation import Importing
from noesis.importing.places import Places
from noesis.importing.records import RecordImport
from noesis.importing.turns import TurnImport
from noesis.inbox import Inbox
from noesis.indexing import Indexing
from noesis.lifetimes import Lifetimes
from noesis.mirroring import Mirror
from noesis.opened import Opened
from noesis.quotas import Quotas
from noesis.reading import FileReader
from noesis.redacting import Redacting
from noesis.scanning import Scanning
from noesis.settings import Settings
from noesis.source_health import SourceHealth
from noesis.sources.book import Book
from noesis.sources.roots import Roots
from noesis.superseding import Superseding
from noesis.tombstones import Tombstones
from noesis.uploads import Uploads
from noesis.watch_signs import WatchSigns


class Inflow(msgspec.Struct, kw_only=True):
    """What brings memories in: capture, the inbox, the places that are followed, and imports."""

    inbox: Inbox
    capturing: Capturing
    roots: Roots
    following: Following
    scanning: Scanning
    signs: WatchSigns
    health: SourceHealth
    uploads: Uploads
    importing: Importing


def inflow(
    opened: Opened,
    indexing: Indexing,
    redacting: Redacting,
    quotas: Quotas,
    lifetimes: Lifetimes,
    superseding: Superseding,
    settings: Settings,
    environ: Mapping[str, str],
) -> Inflow:
    """All that brings memories in by itself."""
    control, now_ms = opened.control, opened.now_ms
    inbox = Inbox(control, indexing, now_ms)
    forgotten = Forgotten(opened.store, Tombstones(control, now_ms))
    capturing = Capturing(control, indexing, inbox, redacting, forgotten, now_ms)
    mirror = Mirror(opened.store, opened.vectors, redacting, quotas, forgotten, settings, now_ms)
    roots, book = Roots(control), Book(control)
    reader = FileReader(book, mirror, capturing, now_ms)
    scanning = Scanning(roots, book, reader, mirror, opened.activity, now_ms, settings)
    signs = WatchSigns(control, now_ms)
    following = Following(roots, book, mirror, settings, environ, now_ms)
    uploads = Uploads(settings.data_dir / "uploads", now_ms, most_bytes=settings.import_max_mb << 20)
    documents = DocumentImport(opened.store, roots, book, reader, redacting, settings)
    turns = TurnImport(control, capturing)
    return Inflow(
        inbox=inbox,
        capturing=capturing,
        roots=roots,
        following=following,
        scanning=scanning,
        signs=signs,
        health=SourceHealth(scanning, signs, now_ms),
        uploads=uploads,
        importing=Importing(
            Places(following, uploads, settings),
            records=RecordImport(
                opened.store,
                opened.vectors,
                redacting,
                quotas,
                lifetimes,
                settings,
                now_ms,
                superseding,
                forgotten,
            ),
            turns=turns,
            documents=documents,
            openclaw=OpenClawImport(following, scanning, reader, redacting, documents=documents, turns=turns),
        ),
    )
