"""Reads the file of a sent form piece by piece, so that it is never held whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import msgspec
from litestar import Request
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from noesis.dashboard.translation import gettext_noop
from noesis.errors import InvalidInput, TooLarge

_MOST_PARTS = 8

Events = AsyncGenerator[MultipartSegment | bytes | None, None]


class SentFile(msgspec.Struct, frozen=True):
    """A file on its way: the name it has with its sender, and its pieces, which can be read once."""

    name: str
    pieces: AsyncIterator[bytes]


async def sent_file(request: Request[Any, Any, Any], field: str, *, most_bytes: int) -> SentFile:
    """The file in this field of a multipart form.

    Its pieces raise TooLarge beyond `most_bytes` and InvalidInput when the form breaks off.
    Raises InvalidInput when there is none.
    """
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != "multipart/form-data" or not options.get("boundary"):
        raise InvalidInput(gettext_noop("A form with a file is needed."), field=field)
    events = _events(request, options["boundary"])
    async for event in events:
        if isinstance(event, MultipartSegment) and event.name == field and event.filename:
            return SentFile(event.filename, _body(events, most_bytes))
    raise InvalidInput(gettext_noop("Choose a file."), field=field)


async def _events(request: Request[Any, Any, Any], boundary: str) -> Events:
    parser = PushMultipartParser(boundary, max_segment_count=_MOST_PARTS, strict=True)
    try:
        async for chunk in request.stream():
            if chunk:
                for event in parser.parse(chunk):
                    yield event if event is None or isinstance(event, MultipartSegment) else bytes(event)
        parser.close()
    except MultipartError as error:
        raise InvalidInput(gettext_noop("The file did not arrive whole."), field="file") from error


async def _body(events: Events, most_bytes: int) -> AsyncIterator[bytes]:
    size = 0
    async for event in events:
        if event is None:
            return
        if isinstance(event, bytes):
            size += len(event)
            if size > most_bytes:
                raise TooLarge(
                    gettext_noop("There is no room for a file of this size on the data directory's disk.")
                )
            yield event


async def read_out(request: Request[Any, Any, Any]) -> None:
    """Take what still comes and drop it: a browser that is cut off while it sends shows no answer."""
    if request.is_connected:
        async for _ in request.stream():
            continue
