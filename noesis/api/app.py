"""The application: every route in one list, behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from noesis import __version__
from noesis.api import (
    admin,
    archive,
    backups,
    cleanup,
    context,
    dedup,
    export,
    forgetting,
    history,
    imports,
    inbox,
    jobs,
    mcp,
    memories,
    metrics,
    plugin_package,
    reembedding,
    related,
    search,
    selection,
    snapshots,
    sources,
    system,
)
from noesis.api.access import authorise
from noesis.api.bodies import StrictRequest
from noesis.api.described import Described
from noesis.api.metrics import Counted
from noesis.api.middleware import Perimeter
from noesis.api.problems import HANDLERS
from noesis.dashboard import pages
from noesis.runtime import Noesis
from noesis.settings import Settings

MAX_BODY_BYTES = 2 << 20

ROUTES = [
    *memories.HANDLERS,
    *history.HANDLERS,
    *selection.HANDLERS,
    *forgetting.HANDLERS,
    *related.HANDLERS,
    *dedup.HANDLERS,
    *search.HANDLERS,
    *snapshots.HANDLERS,
    *sources.HANDLERS,
    *context.HANDLERS,
    *imports.HANDLERS,
    *export.HANDLERS,
    *inbox.HANDLERS,
    *archive.HANDLERS,
    *cleanup.HANDLERS,
    *backups.HANDLERS,
    *reembedding.HANDLERS,
    *jobs.HANDLERS,
    *admin.HANDLERS,
]
"""Everything under /api/v1 that is not about the system as a whole."""


def build_app(settings: Settings, runtime: AbstractAsyncContextManager[Noesis]) -> Litestar:
    """The application around a runtime, which it opens at its start and closes at its end."""

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        async with runtime as noesis:
            app.state.noesis = noesis
            yield

    app = Litestar(
        route_handlers=[
            Router("/api/v1", route_handlers=ROUTES),
            *system.HANDLERS,
            *mcp.HANDLERS,
            *metrics.HANDLERS,
            *plugin_package.HANDLERS,
            *pages.HANDLERS,
        ],
        guards=[authorise],
        dependencies={"noesis": Provide(provide_noesis, sync_to_thread=False)},
        exception_handlers={**HANDLERS, **pages.ERROR_HANDLERS},
        request_class=StrictRequest,
        request_max_body_size=MAX_BODY_BYTES,
        lifespan=[lifespan],
        openapi_config=_openapi(),
        plugins=[Described()],
        logging_config=None,
        debug=False,
    )
    # Not as a route's middleware: answers that no route gives, 404 and 405, pass through it as well.
    app.asgi_handler = Counted(Perimeter(app.asgi_handler, settings.allowed_hosts))
    return app


def provide_noesis(state: State) -> Noesis:
    """The runtime, for handlers."""
    noesis: Noesis = state.noesis
    return noesis


def _openapi() -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Noesis",
        version=__version__,
        description="Local-first semantic memory for AI agents.",
        path="/api/v1/schema",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"token": []}],
    )
