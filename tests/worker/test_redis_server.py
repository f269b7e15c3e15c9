"""The embedded server: private, persistent, one per directory, never left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import RedisError

from noesis import redis_server
from noesis.errors import QueueUnavailable
from noesis.redis_server import embedded_redis, find_server
from tests.worker import keeper
from tests.worker.conftest import until


def ask(url: str, *words: str) -> Any:
    with Redis.from_url(url, decode_responses=True) as client:
        return client.execute_command(*words)


def pid_of(url: str) -> int:
    with Redis.from_url(url) as client:
        return int(client.info("server")["process_id"])


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or read
        return False


async def gone(pid: int) -> None:
    async def is_gone() -> bool:
        return not alive(pid)

    await until(is_gone)


async def answers(url: str) -> None:
    async def does() -> bool:
        try:
            return bool(ask(url, "PING"))
        except RedisError:
            return False

    await until(does)


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "queue"
    # A test that failed half-way leaves no server behind.
    for path in (tmp_path / "queue").glob("*.sock"):
        try:
            ask(f"unix://{path}", "SHUTDOWN", "NOSAVE")
        except RedisError:
            continue


async def test_it_is_private_persistent_and_never_evicts(directory: Path) -> None:
    async with embedded_redis(directory) as url:
        assert url == f"unix://{directory}/redis.sock"
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert stat.S_IMODE((directory / "redis.sock").stat().st_mode) == 0o700
        for name, value in {
            "port": "0",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",
            "maxmemory": str(64 * 1024**2),
        }.items():
            assert ask(url, "CONFIG", "GET", name) in ([name, value], {name: value})
        ask(url, "SET", "kept", "1")
        pid = pid_of(url)
    assert not alive(pid)
    async with embedded_redis(directory) as url:
        assert ask(url, "GET", "kept") == "1"


async def test_it_ends_when_its_parent_is_killed(directory: Path) -> None:
    parent = keeper.spawn(directory)
    pid = pid_of(f"unix://{directory}/redis.sock")
    parent.kill()
    parent.wait()
    await gone(pid)


async def test_a_server_left_over_without_a_guard_is_replaced(directory: Path) -> None:
    parent = keeper.spawn(directory)
    url = f"unix://{directory}/redis.sock"
    ask(url, "SET", "kept", "1")
    pid = pid_of(url)
    guard = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(guard, signal.SIGKILL)
    parent.kill()
    parent.wait()
    assert alive(pid)
    async with embedded_redis(directory):
        await gone(pid)
        assert ask(url, "GET", "kept") == "1"
        assert pid_of(url) != pid


async def test_a_server_that_dies_is_started_again(directory: Path) -> None:
    async with embedded_redis(directory) as url:
        pid = pid_of(url)
        os.kill(pid, signal.SIGKILL)
        await gone(pid)
        await answers(url)
        assert pid_of(url) != pid


async def test_a_stale_socket_file_is_no_obstacle(directory: Path) -> None:
    directory.mkdir()
    (directory / "redis.sock").touch()
    async with embedded_redis(directory) as url:
        assert ask(url, "PING")


async def test_two_processes_share_one_server_and_the_second_takes_over(directory: Path) -> None:
    parent = keeper.spawn(directory)
    async with embedded_redis(directory) as url:
        first = pid_of(url)
        parent.kill()
        parent.wait()
        await gone(first)
        await answers(url)
        assert pid_of(url) != first
    assert not (directory / "redis.sock").exists()


async def test_a_sharer_that_leaves_does_not_end_the_server(directory: Path) -> None:
    async with embedded_redis(directory) as url:
        async with embedded_redis(directory) as again:
            assert again == url
        assert ask(url, "PING")


async def test_a_long_path_gets_a_short_private_place_for_the_socket(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120)
    async with embedded_redis(directory) as url:
        place = Path(url.removeprefix("unix://")).parent
        assert len(url) < 110
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert ask(url, "PING")
        assert list(directory.glob("appendonlydir/*")), "the data stay in the data directory"
    await asyncio.to_thread(os.rmdir, place)


async def test_a_place_that_somebody_prepared_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "queue"
    (tmp_path / "elsewhere").mkdir()
    directory.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(QueueUnavailable):
        async with embedded_redis(directory):
            pass


async def test_a_server_that_cannot_start_is_tried_on(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(redis_server, "START_WITHIN_S", 0.2)
    directory.mkdir()
    (directory / "appendonlydir").touch()
    async with embedded_redis(directory) as url:
        assert "does not start" in caplog.text
        (directory / "appendonlydir").unlink()
        monkeypatch.setattr(redis_server, "START_WITHIN_S", 10.0)
        await answers(url)


def test_without_any_program_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_server().name == "valkey-server"
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(QueueUnavailable, match="NOESIS_REDIS_URL"):
        find_server()
