"""A client of a running server stays light: it loads neither the store nor a model nor the web framework."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from noesis.memory import Role
from tests.servers import Process, quiet_environment, token_for

HEAVY = [
    "lancedb",
    "pyarrow",
    "onnxruntime",
    "litestar",
    "uvicorn",
    "sqlalchemy",
    "tokenizers",
    "arq",
    "redis",
]

PROGRAM = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from noesis.cli import main

def run(*arguments):
    sys.argv = ["noesis", *arguments]
    shown = io.StringIO()
    with redirect_stdout(shown), redirect_stderr(io.StringIO()):
        try:
            main(list(arguments), prog_name="noesis")
        except SystemExit as end:
            return end.code or 0, shown.getvalue()

heavy = json.loads(sys.argv[1])
found = {}
def note(*arguments):
    code, shown = run(*arguments)
    loaded = [name for name in heavy if name in sys.modules]
    found[" ".join(arguments[:2])] = [code, loaded]
    return shown

note("--help")
note("settings", "--json")
memory = json.loads(note("index", "a light heron", "--json"))["id"]
note("index", "--bulk", "/dev/null")
note("search", "heron", "--json")
note("recall")
note("get", memory)
note("delete", memory)
note("stats")
note("doctor")
token = json.loads(note("token", "create", "--scope", "agent", "--agent", "a", "--name", "x", "--json"))["id"]
note("token", "list")
note("token", "revoke", token)
note("get", "nothing")
print(json.dumps(found))
"""


def ran(environ: dict[str, str]) -> dict[str, tuple[int, list[str]]]:
    command = [sys.executable, "-c", PROGRAM, json.dumps(HEAVY)]
    ended = subprocess.run(
        command, env=environ, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True
    )
    found: dict[str, tuple[int, list[str]]] = json.loads(ended.stdout)
    return found


def test_help_and_the_commands_of_a_client_load_nothing_heavy(server: Process, server_data: Path) -> None:
    environ = quiet_environment(server_data)
    environ |= {
        "NOESIS_URL": server.url,
        "NOESIS_TOKEN": token_for(server_data, Role.ADMIN),
        "NOESIS_AGENT": "light",
    }
    found = ran(environ)
    assert len(found) > 12
    assert {name: loaded for name, (_, loaded) in found.items() if loaded} == {}
    codes = {name: code for name, (code, _) in found.items()}
    assert codes.pop("get nothing") == 4
    assert set(codes.values()) == {0}
