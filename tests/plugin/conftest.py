"""One gateway with the plugin, one model and one Noesis for all tests here: starting them is what takes long."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.plugin.gateway import NEWEST, NODE, OLD, ROOT, OpenClaw
from tests.plugin.scripted_model import ScriptedModel, serve
from tests.servers import Process, free_port, headers, token_for

WITHIN_S = 60.0
_TOKEN = "nse_…"
_ADDRESS = "http://127.0.0.1:8787"


@dataclass
class Stage:
    """Everything that runs, and what tests ask of it."""

    openclaw: OpenClaw
    noesis: Process
    model: ScriptedModel
    token: str

    def ask(self, method: str, path: str, agent: str = "main", **options: Any) -> Any:
        """A request to Noesis as an agent; the decoded answer."""
        url = f"{self.noesis.url}/api/v1{path}"
        answer = httpx.request(
            method, url, headers=headers(self.token, agent), trust_env=False, timeout=60, **options
        )
        answer.raise_for_status()
        return answer.json()

    def texts(self, agent: str = "main") -> list[str]:
        """The texts of all active memories of an agent."""
        found, cursor = [], ""
        while True:
            page = self.ask("GET", f"/memories?limit=200{cursor}", agent)
            found += [memory["text"] for memory in page["memories"]]
            if page["cursor"] is None:
                return found
            cursor = f"&cursor={page['cursor']}"

    def wait_for_memory(self, part: str, agent: str = "main") -> None:
        """Wait until a memory that holds `part` is stored: a job does that after the reply."""
        until(lambda: any(part in text for text in self.texts(agent)), f"a memory of {part!r}")


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < deadline, f"it took too long: {what}"
        time.sleep(0.1)


def readme_commands(version: str) -> list[str]:
    """The lines of the README's block, as for this version of the host."""
    readme = (ROOT / "plugin/README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- install -->\n```sh\n(.*?)```\n<!-- /install -->", readme, re.DOTALL)
    assert block is not None
    text = block[1] if version == NEWEST else block[1].replace(" --accept-capabilities", "")
    return text.splitlines()


def install(openclaw: OpenClaw, noesis: Process, token: str) -> None:
    """Type the README's commands; the gateway is not running yet, so there is none to restart."""
    for line in readme_commands(openclaw.version):
        words = shlex.split(line.replace(_ADDRESS, noesis.url).replace(_TOKEN, token))
        if words[0] == "curl":
            subprocess.run(words, cwd=openclaw.home, check=True)
        elif words != ["openclaw", "gateway", "restart"]:
            openclaw.run(*words[1:])


def staged(version: str, base: Path) -> Iterator[Stage]:
    """Start everything, and end it."""
    model = ScriptedModel()
    server = serve(model, free_port())
    openclaw = OpenClaw(version, base / "home", server.server_address[1])
    data = base / "noesis"
    token = token_for(data)
    # What comes by the plugin is looked at here; the watcher's way is shut.
    settings = {"NOESIS_EMBEDDER": "local", "NOESIS_INDEX_SESSIONS": "false"}
    noesis = Process("up", data, free_port(), NOESIS_OPENCLAW_HOME=str(openclaw.state), **settings)
    try:
        noesis.start()
        install(openclaw, noesis, token)
        openclaw.start()
        yield Stage(openclaw, noesis, model, token)
    finally:
        openclaw.stop()
        noesis.stop()
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The host of today."""
    yield from staged(NEWEST, tmp_path_factory.mktemp("openclaw"))


@pytest.fixture(scope="session")
def old_stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A host that has no accepted turns and keeps transcripts in files."""
    subprocess.run([ROOT / "tools/setup", "plugin-old"], check=True)
    yield from staged(OLD, tmp_path_factory.mktemp("openclaw-old"))


def config_of(openclaw: OpenClaw) -> dict[str, Any]:
    """What stands in openclaw.json."""
    written: dict[str, Any] = json.loads((openclaw.state / "openclaw.json").read_text(encoding="utf-8"))
    return written


__all__ = ["NODE", "Stage", "config_of", "until"]
