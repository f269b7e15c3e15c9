"""The route of the metrics, and the count of what the application answers."""

from __future__ import annotations

from litestar import Response, get
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from noesis.api.access import ADMIN, Wired
from noesis.runtime import Noesis

_CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8"
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


@get("/metrics", opt=ADMIN, tags=["system"], summary="Figures for Prometheus", media_type="text/plain")
async def metrics(noesis: Wired) -> Response[bytes]:
    """All figures, in Prometheus' text format."""
    return Response(await noesis.metrics.text(), media_type=_CONTENT_TYPE)


class Counted:
    """ASGI middleware around the whole application: counts each answer by route and status."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on and count."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                _count(scope, message["status"])
            await send(message)

        await self._app(scope, receive, send_counted)


def _count(scope: Scope, status: int) -> None:
    noesis: Noesis | None = scope["litestar_app"].state.get("noesis")
    if noesis is None:
        return
    # An address or a method that no route has could be anything, and as many things as a caller likes.
    route = str(scope.get("path_template") or "none")
    method = str(scope.get("method"))
    noesis.metrics.answered(method if method in _METHODS else "other", route, status)


HANDLERS = [metrics]
