"""The dashboard's routes."""

from __future__ import annotations

from litestar import Router
from litestar.types import ControllerRouterHandler

from noesis.dashboard import (
    activity_page,
    agents_page,
    archive_page,
    backup_part_page,
    backups_page,
    chosen_page,
    docs_page,
    duplicates_page,
    entry,
    inbox_page,
    language_page,
    memory_pages,
    searching,
    snapshots_page,
    sources_page,
    start_page,
    static,
    stats_page,
    system_page,
)
from noesis.dashboard.counts import count_waiting
from noesis.dashboard.error_pages import ERROR_HANDLERS
from noesis.dashboard.language import answer_in_its_language
from noesis.dashboard.rendering import PageRequest

PAGES = [
    *searching.HANDLERS,
    *memory_pages.HANDLERS,
    *chosen_page.HANDLERS,
    *inbox_page.HANDLERS,
    *duplicates_page.HANDLERS,
    *sources_page.HANDLERS,
    *archive_page.HANDLERS,
    *agents_page.HANDLERS,
    *stats_page.HANDLERS,
    *activity_page.HANDLERS,
    *backups_page.HANDLERS,
    *backup_part_page.HANDLERS,
    *snapshots_page.HANDLERS,
    *system_page.HANDLERS,
    *docs_page.HANDLERS,
    *start_page.HANDLERS,
    *entry.HANDLERS,
    *language_page.HANDLERS,
]


async def prepare(request: PageRequest) -> None:
    """Before a page is made: its language, and what waits behind the entries of the top bar."""
    answer_in_its_language(request)
    await count_waiting(request)


HANDLERS: list[ControllerRouterHandler] = [
    Router("/", route_handlers=PAGES, before_request=prepare),
    static.serve_static,
]

__all__ = ["ERROR_HANDLERS", "HANDLERS"]
