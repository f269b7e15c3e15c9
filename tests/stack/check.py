"""The container stack for real: compose.yaml as shipped, every container killed once, everything still there.

Run by ops/stack, which builds the images and says in the environment where podman's store lies. Not named
test_*: a plain pytest run has no images.
"""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("api", "worker", "redis", "ollama")
PROJECT = "noesis-check"
PASSWORD = "correct-horse-battery-staple-2026"
TEXTS = {
    "heron": "We decided that the staging database is called heron-2.",
    "wiki": "The wiki is hosted on port 8085.",
    "van": "The van key hangs by the door.",
}

pytestmark = pytest.mark.timeout(600)


def podman(*arguments: str, check: bool = True) -> str:
    command = ["podman", *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=120).stdout.strip()


def wait_until(condition: Callable[[], bool], seconds: float = 90) -> None:
    """Return once the condition holds; fail after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{condition} did not come true within {seconds} s"
        time.sleep(0.3)


class Stack:
    """Owns the running containers and a token to speak to them."""

    def __init__(self, secrets: Path, openclaw: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._environment = {
            "SECRETS": str(secrets),
            "OPENCLAW_HOME": str(openclaw),
            "NOESIS_PORT": str(self.port),
        }
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", trust_env=False, timeout=30)

    def compose(self, *arguments: str) -> None:
        command = ["podman-compose", "-f", str(ROOT / "compose.yaml"), "-p", PROJECT, *arguments]
        environment = {**os.environ, **self._environment}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]

    def up(self) -> None:
        self.compose("up", "-d", "--no-build")
        wait_until(self.answers)

    def down(self, *arguments: str) -> None:
        self.compose("down", *arguments)

    def end(self) -> None:
        """Take everything away, the volumes too."""
        self._client.close()
        self.down("-v")

    def container(self, service: str) -> str:
        return f"{PROJECT}_{service}_1"

    def inspect(self, service: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(podman("inspect", self.container(service)))[0]
        return found

    def run(self, service: str, script: str) -> str:
        return podman("exec", self.container(service), "sh", "-c", script, check=False)

    def answers(self) -> bool:
        try:
            return self._client.get("/health/ready").status_code == 200
        except httpx.TransportError:
            return False

    def sign_in(self) -> None:
        made = podman(
            "exec",
            self.container("api"),
            *(
                "noesis",
                "token",
                "create",
                "--scope",
                "agent",
                "--agent",
                "alpha",
                "--name",
                "stack",
                "--json",
            ),
        )
        self._client.headers["Authorization"] = f"Bearer {json.loads(made)['token']}"

    def call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        answer = self._client.request(method, f"/api/v1{path}", json=body)
        assert answer.is_success, (answer.status_code, answer.text)
        value: dict[str, Any] = answer.json()
        return value

    def index(self, text: str) -> str:
        identity: str = self.call("POST", "/memories", {"text": text, "memory_type": "decision"})["id"]
        return identity

    def search(self, query: str) -> dict[str, Any]:
        return self.call("POST", "/search", {"query": query, "limit": 10})

    def texts(self) -> set[str]:
        """Everything the agent has, as recall lists it."""
        return {memory["text"] for memory in self.call("POST", "/recall", {"limit": 100})["memories"]}

    def searches_by_meaning(self) -> bool:
        answer = self.search("staging database heron-2")
        return not answer["degraded"] and any("heron-2" in hit["text"] for hit in answer["hits"])

    def is_healthy(self, service: str) -> bool:
        command = ["podman", "healthcheck", "run", self.container(service)]
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0

    def kill(self, service: str) -> None:
        """Kill it as the kernel would: podman's own kill counts as a wish and is not followed by a restart."""
        os.kill(self.inspect(service)["State"]["Pid"], signal.SIGKILL)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The stack, up, with three memories in it; gone with its volumes afterwards."""
    secrets, openclaw = tmp_path_factory.mktemp("secrets"), tmp_path_factory.mktemp("openclaw")
    for folder in (secrets, openclaw, secrets.parent, secrets.parent.parent):
        folder.chmod(0o755)
    (secrets / "admin_password").write_text(PASSWORD)
    (secrets / "admin_password").chmod(0o444)
    stack = Stack(secrets, openclaw)
    try:
        stack.up()
        stack.sign_in()
        for text in TEXTS.values():
            stack.index(text)
        yield stack
    finally:
        for service in SERVICES:
            print(f"--- {service}\n{podman('logs', '--tail', '30', stack.container(service), check=False)}")
        stack.end()


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_has_no_rights(stack: Stack, service: str) -> None:
    status = dict(line.split(":", 1) for line in stack.run(service, "cat /proc/1/status").splitlines())
    assert int(status["CapEff"], 16) == 0
    assert int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"].strip() == "1"
    assert int(status["Uid"].split()[0]) > 0
    assert (
        stack.run(service, "touch /usr/x /etc/x /app/x 2>/dev/null; ls /usr/x /etc/x /app/x 2>/dev/null")
        == ""
    )


def test_only_the_api_can_be_reached_and_only_from_here(stack: Stack) -> None:
    ports = {service: podman("port", stack.container(service)) for service in SERVICES}
    assert ports == {"api": f"8787/tcp -> 127.0.0.1:{stack.port}", "worker": "", "redis": "", "ollama": ""}


def test_the_watched_directory_cannot_be_written_to(stack: Stack) -> None:
    assert stack.run("worker", "touch /openclaw/x 2>/dev/null || echo refused") == "refused"


def test_the_password_stands_in_no_environment_and_no_command(stack: Stack) -> None:
    assert [service for service in SERVICES if PASSWORD in json.dumps(stack.inspect(service))] == []


def test_redis_is_bounded_and_forgets_nothing(stack: Stack) -> None:
    assert "noeviction" in stack.run("redis", "redis-cli config get maxmemory-policy")
    assert int(stack.run("redis", "redis-cli config get maxmemory").split()[-1]) > 0
    assert "yes" in stack.run("redis", "redis-cli config get appendonly")


def test_the_model_is_pulled_and_search_finds_by_meaning(stack: Stack) -> None:
    """Ollama starts without a model: memories wait for their vectors and get them without being asked."""
    wait_until(stack.searches_by_meaning)
    assert stack.texts() == set(TEXTS.values())


@pytest.mark.parametrize("service", SERVICES)
def test_every_container_is_healthy(stack: Stack, service: str) -> None:
    wait_until(lambda: stack.is_healthy(service))


@pytest.mark.parametrize("service", SERVICES)
def test_a_killed_container_comes_back_and_nothing_is_lost(stack: Stack, service: str) -> None:
    before = stack.texts()
    stack.kill(service)
    if service != "api":  # memories are taken in while any of the others is away
        stack.index(f"This was said while the {service} was away.")
        before |= {f"This was said while the {service} was away."}
    wait_until(lambda: stack.inspect(service)["RestartCount"] == 1)
    wait_until(lambda: stack.is_healthy(service))
    wait_until(stack.answers)
    assert stack.texts() == before
    wait_until(stack.searches_by_meaning)


def test_down_and_up_keeps_everything(stack: Stack) -> None:
    before = stack.texts()
    assert len(before) == len(TEXTS) + 3
    stack.down()
    assert not stack.answers()
    stack.up()
    assert stack.texts() == before, "the same token still opens the same memories"
    wait_until(stack.searches_by_meaning)


def test_the_image_keeps_no_trace_of_where_its_packages_came_from(stack: Stack) -> None:
    image = stack.inspect("api")["ImageName"]
    history = podman("history", "--no-trunc", "--format", "{{.CreatedBy}}", image)
    settings = stack.run(
        "api",
        "ls /etc/pip.conf /root/.config /root/.npmrc /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null;"
        " env | grep -i -E 'pip_|index|proxy|cert'",
    )
    assert "index-url" not in history
    assert settings == ""
