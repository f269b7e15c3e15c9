"""The dashboard's own files: read once, named by their content, served from memory."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.params import FromPath

from noesis.api.access import PUBLIC
from noesis.errors import NotFound

WEB = Path(__file__).resolve().parents[2] / "web"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOR_A_YEAR = "public, max-age=31536000, immutable"


class StaticFile(msgspec.Struct, frozen=True):
    """A file with its content type and the first 16 hex digits of its SHA-256."""

    body: bytes
    media_type: str
    digest: str


@functools.cache
def static_files() -> dict[str, StaticFile]:
    """Every file that is served, by name: a name that is not in here leads nowhere, least of all out."""
    found = {}
    for path in sorted((WEB / "static").iterdir()):
        if path.suffix in _TYPES:
            body = path.read_bytes()
            found[path.name] = StaticFile(body, _TYPES[path.suffix], hashlib.sha256(body).hexdigest()[:16])
    return found


def static_address(name: str) -> str:
    """The address of a file, which changes with its content."""
    return f"/static/{name}?v={static_files()[name].digest}"


@get("/static/{name:str}", opt=PUBLIC, include_in_schema=False, sync_to_thread=False)
def serve_static(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
    """One file; a browser that has it already gets 304."""
    file = static_files().get(name)
    if file is None:
        raise NotFound("There is no such file.")
    tag = f'"{file.digest}"'
    is_named = request.query_params.get("v") == file.digest
    headers = {"ETag": tag, "Cache-Control": _FOR_A_YEAR if is_named else "no-cache"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers, media_type=file.media_type)
    return Response(file.body, headers=headers, media_type=file.media_type)
