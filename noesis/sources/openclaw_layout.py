"""Finds everything OpenClaw and its users write: notes, transcripts and databases, of old and new versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from noesis.sources.agent_names import agent_name
from noesis.sources.openclaw_config import AgentEntry, Problem, read_config
from noesis.sources.openclaw_states import State, find_states, real_path, user_path

Kind = Literal["markdown", "transcripts", "database"]

WORKSPACE_FILES = ("MEMORY.md", "memory.md", "USER.md", "DREAMS.md")
"""What is read of a workspace besides its folder `memory`; the rest is the agent's own work."""

DATABASE = "openclaw-agent.sqlite"

_TRANSCRIPT_DIRS = (
    ("sessions", "sessions"),
    ("sessions/cold", "cold"),
    ("session-sqlite-import-archive", "imported"),
    ("qmd/sessions", "qmd"),
)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One place that exists: a folder, or the file of a database, and whose it is.

    `path` holds no symbolic link.  `names` limits a folder to those files in it, when there are any;
    `deep` says that folders below count too.  `agent` is our name for the host's `host_agent`.  `label` says
    for people which place of the agent it is, and stays the same wherever that place lies.
    """

    kind: Kind
    path: Path
    agent: str
    host_agent: str
    label: str
    profile: str | None = None
    names: tuple[str, ...] = ()
    deep: bool = False


class Layout(msgspec.Struct, frozen=True):
    """The places that were found, and what could not be looked at."""

    roots: tuple[Found, ...]
    problems: tuple[Problem, ...]


def find_roots(home: Path, environ: Mapping[str, str], *, profiles_apart: bool = True) -> Layout:
    """Look for OpenClaw's places below `home` and where `environ` and its configuration say they are.

    `OPENCLAW_STATE_DIR` replaces the folders of `home`; `OPENCLAW_HOME`, `OPENCLAW_PROFILE`,
    `OPENCLAW_CONFIG_PATH` and `OPENCLAW_WORKSPACE_DIR` mean what they mean to OpenClaw.  The agents of a named
    profile get names of their own, unless not `profiles_apart`.  A link is followed where a user may put one,
    at a workspace or state folder; further in, one that leads out of that folder is a problem.
    """
    written = environ.get("OPENCLAW_HOME", "").strip()
    home = user_path(home, written) if written else home
    roots: dict[tuple[str, str, Path], Found] = {}
    problems: list[Problem] = []
    for state in find_states(home, environ):
        search = _Search(state, home, environ, apart=profiles_apart)
        for found in search.everything():
            roots.setdefault((found.kind, found.agent, found.path), found)
        problems += search.problems
    return Layout(tuple(roots.values()), tuple(dict.fromkeys(problems)))


class _Search:
    """The places of one state folder; what cannot be looked at is collected in `problems`."""

    def __init__(self, state: State, home: Path, environ: Mapping[str, str], *, apart: bool) -> None:
        self._state = state
        self._home = home
        self._apart = apart
        self._config = read_config(state.config, environ)
        self.problems = list(self._config.problems)
        self._folders = self._agent_folders()

    def everything(self) -> Iterator[Found]:
        given = list(self._given_workspaces())
        # A place somebody gave to one agent is not another's because it is where that one's would be.
        taken = {path for path, _ in given}
        implied = ((path, agent) for path, agent in self._implied_workspaces() if path not in taken)
        for path, agent in (*given, *implied):
            yield from self._workspace(path, agent)
        yield from self._transcripts(self._state.path, self._config.default_agent)
        for agent, folder in self._folders.items():
            yield from self._transcripts(folder, agent)
            yield from self._database(self._state.path, folder / "agent", agent)
            if (exported := self._folder(self._state.path, folder / "qmd/sessions")) is not None:
                yield self._found("markdown", exported, agent, "qmd")
        yield from self._elsewhere()

    def _given_workspaces(self) -> Iterator[tuple[Path, str]]:
        """The workspaces somebody named for one agent, which should therefore be there."""
        named = [(entry.workspace, entry.id) for entry in self._config.agents if entry.workspace]
        if self._state.workspace:
            named.append((self._state.workspace, self._config.default_agent))
        for written, agent in named:
            place = user_path(self._home, written)
            path = _any_folder(place)
            if path is None:
                self.problems.append(Problem(place, "the workspace is not there"))
            else:
                yield path, agent

    def _implied_workspaces(self) -> Iterator[tuple[Path, str]]:
        """The workspaces that are where OpenClaw puts them by itself; only those that exist."""
        default = self._config.default_agent
        places = [(self._state.path / "workspace", default)]
        if self._config.workspace:
            shared = user_path(self._home, self._config.workspace)
            places.append((shared, default))
            places += [(shared / entry.id, entry.id) for entry in self._config.agents]
        places += self._named_after_agents()
        places += [(folder / "workspace", agent) for agent, folder in self._folders.items()]
        yield from ((path, agent) for place, agent in places if (path := _any_folder(place)) is not None)

    def _named_after_agents(self) -> Iterator[tuple[Path, str]]:
        """The folders `workspace-<id>`; early versions named the default agent's for the profile instead."""
        known = {entry.id for entry in self._config.agents} | set(self._folders)
        for path in self._children(self._state.path):
            agent = path.name.removeprefix("workspace-")
            if agent not in ("", path.name):
                of_profile = agent == self._state.profile and agent not in known
                yield path, self._config.default_agent if of_profile else agent

    def _workspace(self, path: Path, agent: str) -> Iterator[Found]:
        yield self._found("markdown", path, agent, "workspace", names=WORKSPACE_FILES)
        if (notes := self._folder(path, path / "memory")) is not None:
            yield self._found("markdown", notes, agent, "memory", deep=True)

    def _elsewhere(self) -> Iterator[Found]:
        """The databases and transcripts that the configuration puts outside the agents' own folders."""
        store = self._config.session_store
        for entry in self._config.agents or (AgentEntry(self._config.default_agent),):
            if entry.agent_dir:
                folder = user_path(self._home, entry.agent_dir)
                yield from self._database(folder, folder, entry.id)
            if store:
                file = user_path(self._home, store.replace("{agentId}", entry.id))
                if (path := _any_folder(file.parent)) is not None:
                    yield self._found("transcripts", path, entry.id, "sessions")

    def _transcripts(self, folder: Path, agent: str) -> Iterator[Found]:
        for name, label in _TRANSCRIPT_DIRS:
            if (path := self._folder(self._state.path, folder / name)) is not None:
                yield self._found("transcripts", path, agent, label)

    def _database(self, within: Path, folder: Path, agent: str) -> Iterator[Found]:
        path = self._inside(within, folder / DATABASE)
        if path is not None and path.is_file():
            yield self._found("database", path, agent, "database")

    def _agent_folders(self) -> dict[str, Path]:
        """The folder of every agent that has one, by the host's id, which is the folder's name."""
        places = self._children(self._state.path / "agents")
        return {place.name: place for place in places if self._folder(self._state.path, place) is not None}

    def _children(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.problems.append(Problem(folder, f"cannot be read: {error.strerror}"))
            return []

    def _folder(self, within: Path, place: Path) -> Path | None:
        path = self._inside(within, place)
        return path if path is not None and path.is_dir() else None

    def _inside(self, within: Path, place: Path) -> Path | None:
        """What `place` is without links; None when it is absent or, which is a problem, outside `within`."""
        path, base = real_path(place), real_path(within)
        if path is None or base is None:
            return None
        if not path.is_relative_to(base):
            self.problems.append(Problem(place, f"is a link that leads out of {within}, and is not followed"))
            return None
        return path

    def _found(
        self,
        kind: Kind,
        path: Path,
        agent: str,
        label: str,
        *,
        names: tuple[str, ...] = (),
        deep: bool = False,
    ) -> Found:
        profile = self._state.profile
        return Found(
            kind=kind,
            path=path,
            agent=agent_name(agent, profile if self._apart else None),
            host_agent=agent,
            label=label if profile is None else f"{profile}/{label}",
            profile=profile,
            names=names,
            deep=deep,
        )


def _any_folder(place: Path) -> Path | None:
    """The folder without links, wherever a link at its place leads; None when there is none."""
    path = real_path(place)
    return path if path is not None and path.is_dir() else None
