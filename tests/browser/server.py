"""The real application behind a real uvicorn in a thread, on a free port of this machine."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from noesis.api.app import build_app
from noesis.runtime import Noesis, open_runtime
from noesis.settings import Settings
from tests.support import WordEmbedder

T = TypeVar("T")


class Served:
    """A running server; `run` executes a coroutine on its loop with its runtime."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.embedder = WordEmbedder()
        self._noesis: Noesis | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        values = Settings(data=directory, **settings)
        app: Any = build_app(values, self._runtime(values))
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
        self._thread = threading.Thread(target=self._serve)

    def _runtime(self, settings: Settings) -> AbstractAsyncContextManager[Noesis]:
        @asynccontextmanager
        async def opened() -> Any:
            async with open_runtime(settings, embedder=self.embedder) as noesis:
                self._loop, self._noesis = asyncio.get_running_loop(), noesis
                yield noesis

        return opened()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> None:
        """Start, and wait until it listens."""
        self._thread.start()
        until = time.monotonic() + 30
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(0.02)

    def stop(self) -> None:
        """End it and wait for that."""
        self._server.should_exit = True
        self._thread.join(30)
        self._socket.close()

    def run(self, action: Callable[[Noesis], Coroutine[Any, Any, T]]) -> T:
        """What the action gives."""
        assert self._loop is not None
        assert self._noesis is not None
        return asyncio.run_coroutine_threadsafe(action(self._noesis), self._loop).result(30)


@contextmanager
def serving(directory: Path, **settings: Any) -> Iterator[Served]:
    """A server with these settings for as long as the context lasts."""
    served = Served(directory, **settings)
    served.start()
    try:
        yield served
    finally:
        served.stop()
