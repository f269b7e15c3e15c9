"""OpenClaw as a user runs it: its command line and its gateway, in a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]
NODE = ROOT / ".venv/bin/node"
HOSTS = Path(__file__).with_name("hosts")
NEWEST = "2026.9.6"
OLD = "2026.6.11"
START_WITHIN_S = 240.0


def configuration(
    version: str, port: int, token: str, model_port: int, agents: tuple[str, ...]
) -> dict[str, Any]:
    """What OpenClaw is told in openclaw.json: nothing of Noesis, which the commands add."""
    roster: dict[str, Any] = {"list": [{"id": agent, "default": agent == agents[0]} for agent in agents]}
    if version == NEWEST:
        roster = {"ownership": "explicit", "entries": {agent: {} for agent in agents}}
    model = {
        "id": "scripted",
        "name": "Scripted",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 128_000,
        "maxTokens": 4096,
    }
    provider = {
        "baseUrl": f"http://127.0.0.1:{model_port}/v1",
        "apiKey": "none",
        "api": "openai-completions",
        "models": [model],
    }
    return {
        "gateway": {
            "mode": "local",
            "bind": "loopback",
            "port": port,
            "auth": {"mode": "token", "token": token},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        },
        "models": {"mode": "replace", "providers": {"fake": provider}},
        "agents": {"defaults": {"model": {"primary": "fake/scripted"}, "skipBootstrap": True}, **roster},
        # By default a plugin's tools are behind a search; the script names them directly.
        "tools": {"toolSearch": False},
        "plugins": {"allow": ["noesis"]},
    }


class OpenClaw:
    """One installation: a version, a home, and a gateway that is started and stopped."""

    def __init__(
        self, version: str, home: Path, model_port: int, agents: tuple[str, ...] = ("main", "beta")
    ) -> None:
        self.version = version
        self.home = home
        self.port = free_port()
        self.token = "gateway-token-of-the-tests"
        self.state = home / ".openclaw"
        self.output = home / "gateway.log"
        self._package = HOSTS / version / "node_modules/openclaw"
        self._process: subprocess.Popen[bytes] | None = None
        self.state.mkdir(parents=True)
        written = configuration(version, self.port, self.token, model_port, agents)
        (self.state / "openclaw.json").write_text(json.dumps(written, indent=2))

    @property
    def environment(self) -> dict[str, str]:
        """A home of its own, and nothing of the OpenClaw of whoever runs the tests."""
        foreign = ("OPENCLAW_", "NOESIS_", "NODE_", "npm_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        own = {
            "HOME": str(self.home),
            "OPENCLAW_STATE_DIR": str(self.state),
            "OPENCLAW_CONFIG_PATH": str(self.state / "openclaw.json"),
            "OPENCLAW_DISABLE_BONJOUR": "1",
            "OPENCLAW_NO_RESPAWN": "1",
            "NO_COLOR": "1",
            "TMPDIR": str(self.home),
            "PATH": f"{NODE.parent}:{kept['PATH']}",
            "NODE_COMPILE_CACHE": str(HOSTS / self.version / "node_modules/.compile-cache"),
        }
        return {**kept, **own}

    def command(self, *arguments: str) -> list[str]:
        return [str(NODE), str(self._package / "openclaw.mjs"), *arguments]

    def run(self, *arguments: str, check: bool = True) -> str:
        """One command of the command line; what it printed."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=110,
        )
        if check and done.returncode:
            raise AssertionError(
                f"openclaw {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
            )
        return done.stdout

    def start(self) -> None:
        """Start the gateway and wait until it takes turns.

        On a machine that is very busy it gives up by itself, within seconds: then it is started again.
        """
        deadline = time.monotonic() + START_WITHIN_S
        while time.monotonic() < deadline:
            self._launch()
            if self._gets_ready(deadline):
                return
        raise AssertionError(f"the gateway does not get ready:\n{self.log()[-3000:]}")

    def _launch(self) -> None:
        with self.output.open("ab") as log:
            self._process = subprocess.Popen(
                self.command("gateway", "run"), env=self.environment, cwd=self.home, stdout=log, stderr=log
            )

    def _gets_ready(self, deadline: float) -> bool:
        assert self._process is not None
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(httpx.HTTPError, ValueError):
                answer = httpx.get(f"{self.url}/readyz", trust_env=False, timeout=5)
                if answer.status_code == 200 and answer.json().get("ready"):
                    return True
            time.sleep(0.2)
        return False

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> str:
        """What the gateway has logged."""
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def turn(self, text: str, session: str = "talk", agent: str = "main") -> str:
        """One turn of a conversation; the reply."""
        answer = httpx.post(
            f"{self.url}/v1/chat/completions",
            json={"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": text}]},
            headers={
                "authorization": f"Bearer {self.token}",
                "x-openclaw-session-key": f"agent:{agent}:{session}",
            },
            trust_env=False,
            timeout=100,
        )
        answer.raise_for_status()
        return str(answer.json()["choices"][0]["message"]["content"])

    def timed_turn(self, text: str, session: str = "talk", agent: str = "main") -> tuple[str, float]:
        """The reply and how many seconds it took."""
        began = time.monotonic()
        return self.turn(text, session, agent), time.monotonic() - began
