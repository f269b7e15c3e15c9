"""A small HTTP/1.1 server in a thread, with the control over bytes that misbehaving takes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress

import msgspec


class Request(msgspec.Struct, frozen=True):
    """What a client sent; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Reply(msgspec.Struct, frozen=True):
    """What to send back.

    A `chunks` body is sent chunked as it comes and torn off without its end when `torn` is set.
    With `drip_s`, a plain body goes out one byte at a time.  `dropped` closes without a word.
    """

    status: int = 200
    content_type: str = "application/json; charset=utf-8"
    body: bytes = b""
    headers: Mapping[str, str] = {}
    chunks: AsyncIterator[bytes] | None = None
    torn: bool = False
    drip_s: float = 0.0
    dropped: bool = False


Handler = Callable[[Request], Awaitable[Reply]]


class HttpServer:
    """Owns a listening socket and the thread that serves it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._thread: threading.Thread | None = None
        self.port = 0

    def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1, on a free port unless told which."""
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake-http", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(port), self._loop).result(10)

    def stop(self) -> None:
        """Close every connection and the socket."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None:
            self._thread.join(10)
        self._loop.close()

    async def _listen(self, port: int) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=1 << 26)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        assert self._server is not None
        # What has been accepted must be served before it can be cut: a server that closes drops it open.
        for listening in self._server.sockets:
            self._loop.remove_reader(listening.fileno())
        await self._settle()
        self._server.close()
        for task, writer in self._connections.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._settle()

    @staticmethod
    async def _settle() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A plain function runs as the connection is made; a task of the library's own making could be
        # cancelled before its first step, and nobody would close what it was given.
        task = self._loop.create_task(self._serve(reader, writer))
        self._connections[task] = writer
        task.add_done_callback(self._connections.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange(reader, writer):
                    pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await read_request(reader)
        reply = await self._handler(request)
        if reply.dropped:
            return False
        await send_reply(writer, request, reply)
        return not reply.torn and request.headers.get("connection") != "close"


async def read_request(reader: asyncio.StreamReader) -> Request:
    """The next request of a connection.  Raises IncompleteReadError when there is none."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


async def send_reply(writer: asyncio.StreamWriter, request: Request, reply: Reply) -> None:
    """Write one reply as it says."""
    headers = {"Content-Type": reply.content_type, **reply.headers}
    if reply.chunks is None:
        headers.setdefault("Content-Length", str(len(reply.body)))
    else:
        headers["Transfer-Encoding"] = "chunked"
    lines = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in headers.items())]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    if request.method == "HEAD":
        await writer.drain()
    elif reply.chunks is not None:
        await _send_chunks(writer, reply.chunks, reply.torn)
    elif reply.drip_s:
        await _drip(writer, reply.body, reply.drip_s)
    else:
        writer.write(reply.body)
        await writer.drain()


async def _send_chunks(writer: asyncio.StreamWriter, chunks: AsyncIterator[bytes], torn: bool) -> None:
    async for chunk in chunks:
        writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        await writer.drain()
    if not torn:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _drip(writer: asyncio.StreamWriter, body: bytes, pause_s: float) -> None:
    for at in range(len(body)):
        writer.write(body[at : at + 1])
        await writer.drain()
        await asyncio.sleep(pause_s)
