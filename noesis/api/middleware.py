"""What holds for every request: a known host name, an id, and headers that close the browser's doors."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from noesis.api.problems import problem_of
from noesis.errors import Forbidden, InvalidInput

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_MAX_REQUEST_ID = 64

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
_NO_STORE = (b"cache-control", b"no-store")


class Perimeter:
    """ASGI middleware around the whole application.

    The host check stops DNS rebinding: a page of another site that made its own name point here
    still sends that name.  The origin check stops foreign forms: a request that changes something
    must come from this site when it carries a cookie (browsers say so in Sec-Fetch-Site, and where
    they leave that out, on plain http in a local network, in Origin).
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset((*LOCAL_NAMES, *(host.lower() for host in hosts)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, name and pass on."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        headers = scope["headers"]
        request_id = _request_id(headers)
        scope["noesis_request_id"] = request_id  # type: ignore[typeddict-unknown-key]

        async def send_closed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_added(message, request_id)]
            await send(message)

        refusal = self._refusal(str(scope["method"]), headers)
        if refusal is None:
            await self._app(scope, receive, send_closed)
            return
        problem = problem_of(refusal) | {"request_id": request_id}
        await _answer(send_closed, problem)

    def _refusal(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> Exception | None:
        hosts = _all(headers, b"host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            return InvalidInput("This host name is not one the server answers to; see NOESIS_ALLOWED_HOSTS.")
        if method in _SAFE_METHODS or not _all(headers, b"cookie") or _all(headers, b"authorization"):
            return None
        site = _all(headers, b"sec-fetch-site")
        origin = _all(headers, b"origin")
        if site:
            same = site == ["same-origin"]
        else:
            same = len(origin) == 1 and origin[0].split("://", 1)[-1].lower() == hosts[0].lower()
        return None if same else Forbidden("The request comes from another site.")


def host_name(host: str) -> str:
    """The name in a Host header, lower-cased, without the port."""
    name, colon, port = host.strip().lower().rpartition(":")
    return name if colon and port.isdecimal() else f"{name}{colon}{port}"


def _request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    given = _all(headers, b"x-request-id")
    if (
        given
        and len(given[0]) <= _MAX_REQUEST_ID
        and given[0].replace("-", "").isalnum()
        and given[0].isascii()
    ):
        return given[0]
    return secrets.token_hex(8)


def _added(message: Message, request_id: str) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in message.get("headers", [])}  # type: ignore[attr-defined]
    added = [*_HEADERS, (b"x-request-id", request_id.encode())]
    return added if b"cache-control" in present else [*added, _NO_STORE]


def _all(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


async def _answer(send: Send, problem: dict[str, object]) -> None:
    body = msgspec.json.encode(problem)
    await send(
        {
            "type": "http.response.start",
            "status": int(str(problem["status"])),
            "headers": [
                (b"content-type", b"application/problem+json"),
                (b"content-length", str(len(body)).encode()),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
