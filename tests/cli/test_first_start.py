"""The first start: no default password, no open door, no riddle when something is wrong."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from noesis.admin import check_password
from noesis.errors import InvalidInput
from noesis.processes import welcome
from noesis.settings import load
from tests.cli.conftest import Run
from tests.servers import Process, free_port, quiet_environment
from tests.support import Product


def start(data: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `noesis up` until it ends by itself."""
    environ = quiet_environment(data, **settings)
    command = [sys.executable, "-m", "noesis", "up"]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=100, check=False)


def assert_one_clear_line(ended: subprocess.CompletedProcess[str], *words: str) -> None:
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1
    for word in words:
        assert word in ended.stderr


def test_a_weak_password_stops_the_start(tmp_path: Path) -> None:
    ended = start(tmp_path / "data", NOESIS_PORT=str(free_port()), NOESIS_ADMIN_PASSWORD="changeme")
    assert_one_clear_line(ended, "NOESIS_ADMIN_PASSWORD")
    assert "changeme" not in ended.stderr


@pytest.mark.parametrize(
    "password", ["changeme", "ChangeMe", "admin", "password123", "", "short", "123456789", "x" * 2000]
)
def test_a_password_that_everybody_tries_or_that_is_too_short_is_none(password: str) -> None:
    with pytest.raises(InvalidInput):
        check_password(password)


@pytest.mark.parametrize("command", ["up", "api", "worker", "stats"])
def test_an_unknown_variable_stops_the_start(command: str, local: Run, tmp_path: Path) -> None:
    ran = local(command, NOESIS_NO_SUCH_SETTING="1")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("Error: NOESIS_NO_SUCH_SETTING")
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_said_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = start(tmp_path / "data", NOESIS_PORT=port)
    assert_one_clear_line(ended, f"127.0.0.1:{port}", "NOESIS_PORT")


async def test_listening_beyond_this_machine_prints_a_warning(product: Product) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5"):
        settings = load({"NOESIS_HOST": host})
        assert settings.is_exposed
        assert "WARNING" in await welcome(settings, product.noesis, 8787)
        behind_https = load({"NOESIS_HOST": host, "NOESIS_SECURE_COOKIES": "true"})
        assert "WARNING" not in await welcome(behind_https, product.noesis, 8787)
    for host in ("127.0.0.1", "localhost", "::1"):
        assert "WARNING" not in await welcome(load({"NOESIS_HOST": host}), product.noesis, 8787)


def test_the_default_is_this_machine_alone() -> None:
    assert not load({}).is_exposed


async def test_once_there_is_a_password_no_link_is_printed(product: Product) -> None:
    settings = load({})
    link = await welcome(settings, product.noesis, 8787)
    assert "/setup?key=" in link
    await product.noesis.admin.set_password("correct horse battery")
    assert "/setup" not in await welcome(settings, product.noesis, 8787)


def test_the_link_is_printed_once_works_once_and_a_restart_makes_the_old_one_worthless(
    tmp_path: Path,
) -> None:
    server = Process("up", tmp_path / "data", free_port())
    server.start()
    (first,) = re.findall(r"/setup\?key=(\S+)", server.output.read_text())
    server.stop()
    server.start()
    try:
        first_again, key = re.findall(r"/setup\?key=(\S+)", server.output.read_text())
        assert first_again == first != key
        with httpx.Client(base_url=server.url, trust_env=False) as browser:
            set_up_once(browser, first, key)
        files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        secrets = (key.encode(), b"correct horse battery")
        assert [path for path in files if any(secret in path.read_bytes() for secret in secrets)] == []
        modes = {path.stat().st_mode & 0o077 for path in files if path.name.startswith("control.sqlite")}
        assert modes == {0} or (tmp_path / "data").stat().st_mode & 0o077 == 0
    finally:
        server.stop()


def set_up_once(browser: httpx.Client, old: str, key: str) -> None:
    """The old link and a guess do nothing; the new one sets a password, and then never again."""
    site = {"sec-fetch-site": "same-origin"}
    password = {"password": "correct horse battery", "again": "correct horse battery"}
    for wrong in (old, "", key[:-1], key + "x"):
        assert browser.get("/setup", params={"key": wrong}).status_code == 403
        assert browser.post("/setup", data={"key": wrong, **password}, headers=site).status_code == 403
    weak = {"key": key, "password": "changeme", "again": "changeme"}
    assert browser.post("/setup", data=weak, headers=site).status_code == 400
    assert browser.get("/setup", params={"key": key}).status_code == 200
    done = browser.post("/setup", data={"key": key, **password}, headers=site)
    assert done.status_code == 303
    cookie = done.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.get("/").status_code == 200
    browser.cookies.clear()
    again = browser.post(
        "/setup", data={"key": key, "password": "another password", "again": "another password"}
    )
    assert (again.status_code, again.headers["location"]) == (303, "/login")
    assert browser.post("/login", data={"password": "another password"}, headers=site).status_code == 401
    assert browser.post("/login", data={"password": "correct horse battery"}, headers=site).status_code == 303
