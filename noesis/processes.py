"""The processes: everything in one (`up`), the API alone, the worker alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Callable

import uvicorn

from noesis.api.app import build_app
from noesis.errors import QueueUnavailable, SettingsError
from noesis.heap import bound_heaps, keep_releasing
from noesis.lasting import settle
from noesis.logs import configure
from noesis.redis_server import embedded_redis
from noesis.runtime import Noesis, make_data_dir, open_runtime
from noesis.settings import Settings
from noesis.tasks import end_tasks
from noesis.worker import run_worker
from noesis.worker.following import follow_sources
from noesis.worker.tasks import HANDLERS, begin, crons

logger = logging.getLogger("noesis.processes")

Announce = Callable[[str], None]

_GRACE_S = 5
_HEADER_BYTES = 64 << 10


async def serve_all(settings: Settings, announce: Announce) -> None:
    """API, dashboard, worker and queue in this process, until it is told to stop."""
    with listen(settings) as listener:
        async with _prepared(settings), contextlib.AsyncExitStack() as stack:
            redis_url = settings.redis_url or await _own_redis(settings, stack)
            noesis = await stack.enter_async_context(open_runtime(settings, redis_url=redis_url))
            stop = asyncio.Event()
            worker = asyncio.create_task(_work(noesis, stop=stop))
            try:
                await _serve(settings, noesis, listener, announce)
            finally:
                stop.set()
                await worker


async def serve_api(settings: Settings, announce: Announce) -> None:
    """The API and the dashboard."""
    with listen(settings) as listener:
        async with _prepared(settings), open_runtime(settings) as noesis:
            await _serve(settings, noesis, listener, announce)


async def serve_worker(settings: Settings) -> None:
    """The worker."""
    async with _prepared(settings), open_runtime(settings) as noesis:
        await _work(noesis, signals=True)


@contextlib.asynccontextmanager
async def _prepared(settings: Settings) -> AsyncIterator[None]:
    """What every process that lasts has: logs, and a heap that is kept small."""
    configure(settings.log_level)
    bound_heaps()
    releasing = asyncio.create_task(keep_releasing())
    try:
        yield
    finally:
        await end_tasks([releasing])


async def _work(noesis: Noesis, *, stop: asyncio.Event | None = None, signals: bool = False) -> None:
    """Run jobs, and leave a sign of life for whoever looks."""
    beside = [asyncio.create_task(noesis.presence.keep()), asyncio.create_task(follow_sources(noesis))]
    try:
        await begin(noesis)
        timed = crons(noesis.settings)
        await run_worker(HANDLERS, noesis.jobs, timed, runtime=noesis, stop=stop, signals=signals)
    finally:
        await end_tasks(beside)


async def _own_redis(settings: Settings, stack: contextlib.AsyncExitStack) -> str | None:
    """The queue's own server, or None when it cannot run here: the worker polls the ledger then."""
    make_data_dir(settings)
    try:
        return await stack.enter_async_context(embedded_redis(settings.data_dir / "queue"))
    except QueueUnavailable as error:
        logger.warning("no queue server: %s", error.message)
        return None


async def _serve(settings: Settings, noesis: Noesis, listener: socket.socket, announce: Announce) -> None:
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(settings, contextlib.nullcontext(noesis)),
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
        )
    )
    settle()
    announce(await welcome(settings, noesis, listener.getsockname()[1]))
    await server.serve(sockets=[listener])


def listen(settings: Settings) -> socket.socket:
    """The listening socket.  Raises SettingsError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's algorithm off only for sockets that say TCP;
    # with it every answer in two pieces waits 40 ms for the client's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"{settings.host}:{settings.port} cannot be listened on ({error.strerror});"
            " choose another with NOESIS_HOST and NOESIS_PORT."
        ) from error
    return listener


async def welcome(settings: Settings, noesis: Noesis, port: int) -> str:
    """What a person needs after the start: where to open it, how to log in, what to try."""
    here = f"http://{'127.0.0.1' if settings.host in ('0.0.0.0', '::') else settings.host}:{port}"  # noqa: S104
    where = "" if settings.data == Settings().data else f" --data {shlex.quote(str(settings.data))}"
    lines = [f"Noesis is running at {here}", f"  memories lie in     {settings.store_dir}"]
    if await noesis.admin.is_set_up():
        lines.append(f"  log in              {here}/login")
    else:
        secret = await noesis.admin.new_setup_secret()
        lines.append(f"  set the password    {here}/setup?key={secret}   (this link works once)")
    lines += [
        f"  try it              {program()} index 'The spare key hangs by the back door' --agent me{where}",
        f"                      {program()} search 'where is the key?' --agent me{where}",
        "  stop it             Ctrl-C",
    ]
    if settings.is_exposed:
        lines.append(
            f"  WARNING: {settings.host} can be reached from other machines without encryption;"
            " put a proxy with HTTPS before it and set NOESIS_SECURE_COOKIES."
        )
    return "\n".join(lines)


def program() -> str:
    """How to call the command line from here."""
    return "noesis" if shutil.which("noesis") else os.path.relpath(sys.argv[0])
