"""Reads from OpenClaw's configuration which agents there are and where they work.

Whatever is wrong with the file is reported beside what could be read; it is never raised, since the
places OpenClaw uses without a configuration are still worth looking at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import re2

from noesis.sources.agent_names import id_in_config
from noesis.sources.json5 import BadJson, parse_json5
from noesis.sources.plain_file import read_start

MAX_CONFIG_BYTES = 4 * 1024 * 1024
DEFAULT_AGENT = "main"

_VARIABLE = re2.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


class Problem(msgspec.Struct, frozen=True):
    """What could not be read, and why."""

    path: Path
    reason: str


class AgentEntry(msgspec.Struct, frozen=True):
    """One agent of the configuration: its id as its folders are named, and the places it was given."""

    id: str
    workspace: str | None = None
    agent_dir: str | None = None
    default: bool = False


class HostConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the configuration says of places, as written but with variables filled in."""

    agents: tuple[AgentEntry, ...] = ()
    workspace: str | None = None
    session_store: str | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def default_agent(self) -> str:
        """The id of the agent that works where none is named."""
        marked = [agent.id for agent in self.agents if agent.default]
        ids = [agent.id for agent in self.agents]
        return next(iter(marked or ids), DEFAULT_AGENT)


def read_config(path: Path, environ: Mapping[str, str]) -> HostConfig:
    """The configuration at `path`; an absent one is empty, an unreadable one is empty and a problem.

    Reads JSON and the JSON5 people write, up to 4 MB; `${NAME}` is filled in from `environ`.  Agents stand
    in `agents.entries` (by id) or, in older versions, in `agents.list`; the oldest have `agent.workspace`.
    """
    try:
        data = _read(path)
        settings = parse_json5(data)
    except FileNotFoundError:
        return HostConfig()
    except OSError as error:
        return HostConfig(problems=(Problem(path, f"cannot be read: {error.strerror}"),))
    except BadJson as error:
        return HostConfig(problems=(Problem(path, f"cannot be read: {error.message}"),))
    return _host_config(path, settings, environ)


def _host_config(path: Path, settings: Any, environ: Mapping[str, str]) -> HostConfig:
    agents = _at(settings, "agents")
    missing: list[str] = []

    def text(value: Any) -> str | None:
        filled, unknown = _fill(value, environ)
        missing.extend(unknown)
        return filled

    entries = {
        id_in_config(name): AgentEntry(
            id_in_config(name),
            text(_at(entry, "workspace")),
            text(_at(entry, "agentDir")),
            _at(entry, "default") is True,
        )
        for name, entry in _entries(agents)
    }
    config = HostConfig(
        agents=tuple(entries.values()),
        workspace=text(_at(agents, "defaults", "workspace")) or text(_at(settings, "agent", "workspace")),
        session_store=text(_at(settings, "session", "store")),
    )
    problems = [Problem(path, f"names the variable {name}, which is not set") for name in missing]
    if any(isinstance(part, dict) and "$include" in part for part in (settings, agents)):
        problems.append(
            Problem(path, "includes other files, which are not read: add their workspaces by hand")
        )
    return msgspec.structs.replace(config, problems=tuple(problems))


def _read(path: Path) -> bytes:
    data = read_start(path, MAX_CONFIG_BYTES + 1, follow=True)
    if len(data) > MAX_CONFIG_BYTES:
        raise BadJson("it is larger than 4 MB")
    return data


def _entries(agents: Any) -> Iterator[tuple[str, Any]]:
    listed = _at(agents, "list")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(name := _at(entry, "id"), str):
            yield name, entry
    named = _at(agents, "entries")
    yield from named.items() if isinstance(named, dict) else ()


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _fill(value: Any, environ: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """The text with its variables filled in, and the names that are not set; None for both no text and those."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        return None, []
    unknown = [name for name in _VARIABLE.findall(value) if name not in environ]
    if unknown:
        return None, unknown
    return str(_VARIABLE.sub(lambda found: environ[found[1]], value.strip())), []
