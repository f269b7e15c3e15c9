"""A virtual environment of its own for each peer, with pinned packages, kept from run to run."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from bench.peers.process import PeerFailed

_INSTALL_WITHIN_S = 900.0
_DONE = "installed"


def interpreter(pins: Path, cache: Path) -> Path:
    """The Python of the environment that has just these packages; made when it is not there.

    Raises PeerFailed when something does not install.
    """
    digest = hashlib.sha256(f"{platform.python_version()}\n{pins.read_text()}".encode()).hexdigest()
    place = cache / "environments" / f"{pins.stem}-{digest[:12]}"
    python = place / "bin" / "python"
    if not (place / _DONE).is_file():
        shutil.rmtree(place, ignore_errors=True)
        _uv("venv", "--quiet", "--python", sys.executable, str(place))
        _uv("pip", "install", "--quiet", "--native-tls", "--python", str(python), "-r", str(pins))
        (place / _DONE).touch()
    return python


def _uv(*words: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.is_file() else shutil.which("uv")
    if program is None:
        raise PeerFailed("did not install: uv is not here")
    try:
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, timeout=_INSTALL_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PeerFailed("did not install in time") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"uv ended with {done.returncode}"]
        raise PeerFailed(f"did not install: {lines[0][:200]}")
