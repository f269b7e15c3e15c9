"""Finds the folders OpenClaw keeps its state in: the one the environment names, profiles, earlier names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

CONFIG_NAME = "openclaw.json"

_PROFILE_PREFIX = ".openclaw-"
# The product had two earlier names, whose folders an upgrade may leave where they are.
_STATE_DIRS = ((".openclaw", CONFIG_NAME), (".moltbot", "moltbot.json"), (".clawdbot", "clawdbot.json"))


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One state folder with its configuration; `workspace` is the one the environment gives its agent."""

    path: Path
    config: Path
    profile: str | None = None
    workspace: str | None = None


def find_states(home: Path, environ: Mapping[str, str]) -> Iterator[State]:
    """The state folders, each once; the one `environ` is about comes first, whether or not it exists."""
    named = _value(environ, "OPENCLAW_PROFILE") or ""
    profile = named if named.lower() not in ("", "default") else None
    written = _value(environ, "OPENCLAW_STATE_DIR")
    usual = home / (".openclaw" if profile is None else _PROFILE_PREFIX + profile)
    own = usual if written is None else user_path(home, written)
    config = _value(environ, "OPENCLAW_CONFIG_PATH")
    yield State(
        path=own,
        config=own / CONFIG_NAME if config is None else user_path(home, config),
        profile=profile,
        workspace=_value(environ, "OPENCLAW_WORKSPACE_DIR"),
    )
    if written is None:
        yield from _others(home, {real_path(own)})


def user_path(home: Path, written: str) -> Path:
    """The path that OpenClaw takes `written` for: `~` is the home, and what is relative starts there."""
    return home / (written[1:].lstrip("/") if written == "~" or written.startswith("~/") else written)


def real_path(path: Path) -> Path | None:
    """The path without links; None when nothing is there or it cannot be reached."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: links that lead in a circle
        return None


def _others(home: Path, seen: set[Path | None]) -> Iterator[State]:
    places = [State(path=home / name, config=home / name / config) for name, config in _STATE_DIRS]
    places += [
        State(path=path, config=path / CONFIG_NAME, profile=path.name.removeprefix(_PROFILE_PREFIX))
        for path in _children(home)
        if path.name.startswith(_PROFILE_PREFIX) and path.name != _PROFILE_PREFIX
    ]
    for state in places:
        real = real_path(state.path)
        if real is not None and real not in seen and real.is_dir():
            seen.add(real)
            yield state


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _value(environ: Mapping[str, str], name: str) -> str | None:
    return environ.get(name, "").strip() or None
