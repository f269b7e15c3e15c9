"""The fake server's own promise: a stopped one leaves nothing open for a later test to trip over."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from typing import Any

import pytest

from tests.fakes.http_server import HttpServer, Reply, Request


async def hang(_request: Request) -> Reply:
    await asyncio.sleep(3600)
    return Reply()


def test_a_stop_closes_what_is_connecting_at_that_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    left_open: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", left_open.append)
    for _ in range(8):
        server = HttpServer(hang)
        server.start()
        clients = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        for client in clients:
            client.send(b"GET / HTTP/1.1\r\n\r\n")
        server.stop()
        for client in clients:
            client.close()
        del server
        gc.collect()
    assert left_open == []
