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
]

HANDLERS: list[ControllerRouterHandler] = [
    Router("/", route_handlers=PAGES, before_request=count_waiting),
    static.serve_static,
]

__all__ = ["ERROR_HANDLERS", "HANDLERS"]
