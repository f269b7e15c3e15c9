"""The command line, called in this process, and one running server for all tests of a module."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from noesis.cli import main
from noesis.memory import Role
from tests.servers import Process, free_port, token_for


class Ran(msgspec.Struct, frozen=True):
    """What a command did."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]

SILENT = {"NOESIS_EMBEDDER": "ollama", "NOESIS_OLLAMA_URL": "http://127.0.0.1:9"}
"""Nothing listens there: texts wait for their vectors."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call a command with exactly these NOESIS_ variables."""

    def call(*arguments: str, stdin: str | bytes | None = None, **environ: str) -> Ran:
        cleared: dict[str, str | None] = {name: None for name in os.environ if name.startswith("NOESIS_")}
        monkeypatch.setattr(sys, "argv", ["noesis", *arguments])
        result = CliRunner().invoke(main, arguments, input=stdin, env=cleared | environ, prog_name="noesis")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def local(run: Run, tmp_path: Path) -> Run:
    """Call a command on a store of its own."""

    def call(*arguments: str, stdin: str | bytes | None = None, **environ: str) -> Ran:
        return run(*arguments, stdin=stdin, NOESIS_DATA=str(tmp_path / "data"), **(SILENT | environ))

    return call


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A running `noesis up`."""
    started = Process("up", tmp_path_factory.mktemp("server") / "data", free_port())
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def server_data(server: Process) -> Path:
    return server.output.parent / "data"


@pytest.fixture
def remote(run: Run, server: Process, server_data: Path) -> Run:
    """Call a command on the running server as an administrator."""
    token = token_for(server_data, Role.ADMIN)

    def call(*arguments: str, stdin: str | bytes | None = None, **environ: str) -> Ran:
        return run(*arguments, stdin=stdin, **({"NOESIS_URL": server.url, "NOESIS_TOKEN": token} | environ))

    return call
