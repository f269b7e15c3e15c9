"""The dashboard's routes."""

from __future__ import annotations

from litestar.types import ControllerRouterHandler

from noesis.dashboard import docs_page, entry, memory_pages, searching, static
from noesis.dashboard.error_pages import ERROR_HANDLERS

HANDLERS: list[ControllerRouterHandler] = [
    *searching.HANDLERS,
    *memory_pages.HANDLERS,
    *docs_page.HANDLERS,
    *entry.HANDLERS,
    static.serve_static,
]

__all__ = ["ERROR_HANDLERS", "HANDLERS"]
