"""Requests as raw ASGI messages, for what a well-behaved client would tidy up, and every route there is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from litestar import Litestar
from litestar.routes import HTTPRoute

Header = tuple[str, str]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
LOCAL = (("host", "localhost"),)


class Reply(msgspec.Struct, frozen=True):
    """An answer; `reads` counts how often the application asked for a piece of the body."""

    status: int
    headers: list[Header]
    body: bytes
    reads: int

    def header(self, name: str) -> str | None:
        """The header's value, or None."""
        return next((value for key, value in self.headers if key == name), None)

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def everything(self) -> str:
        """All that the client sees, as one text."""
        return f"{self.headers!r}{self.body.decode('utf-8', 'replace')}"


async def send(
    app: Litestar,
    method: str,
    path: str,
    *,
    headers: Sequence[Header] = (),
    query: str = "",
    body: Sequence[bytes] = (),
    host: Sequence[Header] = LOCAL,
) -> Reply:
    """One request, its body in the given pieces."""
    pieces = list(body)
    reads = 0
    started: dict[str, Any] = {}
    answer = bytearray()

    async def receive() -> dict[str, Any]:
        nonlocal reads
        reads += 1
        if reads > max(len(pieces), 1):
            return {"type": "http.disconnect"}
        piece = pieces[reads - 1] if pieces else b""
        return {"type": "http.request", "body": piece, "more_body": reads < len(pieces)}

    async def take(message: Any) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            answer.extend(message.get("body", b""))

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*host, *headers)],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8787),
        "state": {},
        "extensions": {},
    }
    await app(scope, receive, take)  # type: ignore[arg-type]
    shown = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in started["headers"]]
    return Reply(started["status"], shown, bytes(answer), reads)


class Endpoint(msgspec.Struct, frozen=True):
    """One method of one route; `path` has its parameters filled in, `pattern` shows their names."""

    method: str
    pattern: str
    path: str
    opt: dict[str, Any]

    @property
    def key(self) -> tuple[str, str]:
        return self.method, self.pattern


def endpoints(app: Litestar) -> list[Endpoint]:
    """Every method of every route that the application answers, OPTIONS included."""
    return [
        Endpoint(method, route.path_format, filled(route.path_format), dict(handler.opt))
        for route in http_routes(app)
        for method, (handler, _) in sorted(route.route_handler_map.items())
    ]


def http_routes(app: Litestar) -> Iterator[HTTPRoute]:
    """The routes; one that is not plain HTTP would need rules of its own."""
    for route in app.routes:
        assert isinstance(route, HTTPRoute), f"{route.path} is not HTTP"
        yield route


def filled(pattern: str) -> str:
    """The pattern with `abc` for each parameter."""
    while "{" in pattern:
        before, _, rest = pattern.partition("{")
        pattern = before + "abc" + rest.partition("}")[2]
    return pattern


def bearer(token: str) -> Header:
    """The header that carries a token."""
    return "authorization", f"Bearer {token}"
