"""Finding what OpenClaw and its users write, on disks of every version."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noesis.sources.openclaw_config import read_config
from noesis.sources.openclaw_layout import WORKSPACE_FILES, Found, Layout, find_roots

Write = Callable[..., Path]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def folders(home: Path) -> Callable[..., None]:
    def make(*names: str) -> None:
        for name in names:
            (home / name).mkdir(parents=True, exist_ok=True)

    return make


@pytest.fixture
def configure(home: Path) -> Write:
    def write(config: Any, name: str = ".openclaw/openclaw.json") -> Path:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        return path

    return write


def look(home: Path, environ: dict[str, str] | None = None, **options: Any) -> Layout:
    return find_roots(home, environ or {}, **options)


def places(layout: Layout, home: Path, *kinds: str) -> dict[str, str]:
    """The agent of each place by its path below the home."""
    kinds = kinds or ("markdown", "transcripts", "database")
    return {str(root.path.relative_to(home)): root.agent for root in layout.roots if root.kind in kinds}


def test_nothing_is_found_where_openclaw_never_was(home: Path) -> None:
    assert look(home) == Layout((), ())


def test_a_plain_installation_is_found_whole(home: Path, folders: Callable[..., None]) -> None:
    state = ".openclaw"
    folders(
        f"{state}/workspace/memory/imports",
        f"{state}/agents/main/agent",
        f"{state}/agents/main/sessions/cold",
    )
    (home / state / "agents/main/agent/openclaw-agent.sqlite").touch()
    workspace, notes, sessions, cold, database = look(home).roots
    assert workspace == Found(
        kind="markdown",
        path=home / state / "workspace",
        agent="main",
        host_agent="main",
        label="workspace",
        names=WORKSPACE_FILES,
    )
    assert (notes.path, notes.deep, notes.names) == (workspace.path / "memory", True, ())
    assert (sessions.kind, sessions.label, sessions.deep) == ("transcripts", "sessions", False)
    assert cold.path == sessions.path / "cold"
    assert (database.kind, database.path.name) == ("database", "openclaw-agent.sqlite")


def test_the_places_of_every_version_are_found(home: Path, folders: Callable[..., None]) -> None:
    folders(
        ".openclaw/sessions",
        ".openclaw/agents/ops/sessions",
        ".openclaw/agents/ops/qmd/sessions",
        ".openclaw/agents/ops/session-sqlite-import-archive",
        ".openclaw/agents/ops/workspace/memory",
        ".openclaw/workspace-ops",
        ".clawdbot/agents/old/sessions",
    )
    found = places(look(home), home)
    assert found == {
        ".openclaw/sessions": "main",
        ".openclaw/agents/ops/sessions": "ops",
        ".openclaw/agents/ops/qmd/sessions": "ops",
        ".openclaw/agents/ops/session-sqlite-import-archive": "ops",
        ".openclaw/agents/ops/workspace": "ops",
        ".openclaw/agents/ops/workspace/memory": "ops",
        ".openclaw/workspace-ops": "ops",
        ".clawdbot/agents/old/sessions": "old",
    }
    qmd = [root.kind for root in look(home).roots if root.label == "qmd"]
    assert sorted(qmd) == ["markdown", "transcripts"]


def test_workspaces_of_the_configuration_belong_to_their_agents(
    home: Path, folders: Callable[..., None], configure: Write
) -> None:
    folders("shared/quiet", "elsewhere", ".openclaw/workspace", ".openclaw/workspace-late")
    configure(
        """// my agents
        {
          agents: {
            defaults: { workspace: "~/shared", },
            entries: {
              "My Ops": { workspace: '${PLACE}/elsewhere', default: true },
              quiet: {},
            },
          },
        }"""
    )
    layout = look(home, {"PLACE": str(home)})
    assert places(layout, home) == {
        "elsewhere": "my-ops",
        "shared": "my-ops",
        "shared/quiet": "quiet",
        ".openclaw/workspace": "my-ops",
        ".openclaw/workspace-late": "late",
    }
    assert layout.problems == ()


def test_older_configurations_list_their_agents(
    home: Path, folders: Callable[..., None], configure: Write
) -> None:
    folders("one", "two", "three")
    configure(
        {"agent": {"workspace": "~/three"}, "agents": {"list": [{"id": "Main", "workspace": "~/one"}, 5, {}]}}
    )
    assert places(look(home), home) == {"one": "main", "three": "main"}


def test_a_shared_workspace_is_found_for_each_agent_it_was_given_to_and_no_other(
    home: Path, folders: Callable[..., None], configure: Write
) -> None:
    folders(".openclaw/workspace")
    shared = {"workspace": "~/.openclaw/workspace"}
    configure({"agents": {"entries": {"main": {}, "a": shared, "b": shared}}})
    assert sorted(root.agent for root in look(home).roots) == ["a", "b"]


def test_databases_and_transcripts_may_be_elsewhere(
    home: Path, folders: Callable[..., None], configure: Write
) -> None:
    folders("keys/ops", "talks/ops", ".openclaw")
    (home / "keys/ops/openclaw-agent.sqlite").touch()
    configure(
        {
            "session": {"store": "~/talks/{agentId}/sessions.json"},
            "agents": {"entries": {"ops": {"agentDir": "~/keys/ops"}}},
        }
    )
    assert places(look(home), home) == {"keys/ops/openclaw-agent.sqlite": "ops", "talks/ops": "ops"}


def test_profiles_are_found_and_their_agents_kept_apart(home: Path, folders: Callable[..., None]) -> None:
    folders(".openclaw/workspace", ".openclaw-work/workspace", ".openclaw-work/agents/main/sessions")
    layout = look(home)
    assert places(layout, home) == {
        ".openclaw/workspace": "main",
        ".openclaw-work/workspace": "x--work__main",
        ".openclaw-work/agents/main/sessions": "x--work__main",
    }
    work = [root for root in layout.roots if root.profile == "work"]
    assert {root.label for root in work} == {"work/workspace", "work/sessions"}
    assert {root.host_agent for root in work} == {"main"}
    assert set(places(look(home, profiles_apart=False), home).values()) == {"main"}


def test_early_versions_named_the_workspace_for_the_profile(home: Path, folders: Callable[..., None]) -> None:
    folders(".openclaw-work/workspace-work", ".openclaw-work/workspace-ops")
    found = places(look(home), home)
    assert found == {
        ".openclaw-work/workspace-work": "x--work__main",
        ".openclaw-work/workspace-ops": "x--work__ops",
    }


def test_the_environment_says_where_to_look(
    home: Path, folders: Callable[..., None], configure: Write
) -> None:
    folders("state/workspace", "notes/memory", "given", ".openclaw/workspace")
    config = configure(
        {"agents": {"list": [{"id": "ops", "workspace": str(home / "given")}]}}, "etc/config.json5"
    )
    environ = {
        "OPENCLAW_STATE_DIR": "~/state",
        "OPENCLAW_CONFIG_PATH": str(config),
        "OPENCLAW_WORKSPACE_DIR": str(home / "notes"),
    }
    assert places(look(home, environ), home) == {
        "given": "ops",
        "notes": "ops",
        "notes/memory": "ops",
        "state/workspace": "ops",
    }


def test_the_environment_may_name_the_home_and_the_profile(home: Path, folders: Callable[..., None]) -> None:
    folders("other/.openclaw-work/workspace", "other/.openclaw/workspace", "other/mine")
    environ = {
        "OPENCLAW_HOME": str(home / "other"),
        "OPENCLAW_PROFILE": "work",
        "OPENCLAW_WORKSPACE_DIR": "~/mine",
    }
    assert places(look(home, environ), home) == {
        "other/mine": "x--work__main",
        "other/.openclaw-work/workspace": "x--work__main",
        "other/.openclaw/workspace": "main",
    }


def test_a_folder_reached_by_two_names_is_found_once(home: Path, folders: Callable[..., None]) -> None:
    folders(".openclaw/workspace")
    (home / ".clawdbot").symlink_to(home / ".openclaw")
    assert len(look(home).roots) == 1


def test_a_workspace_may_be_a_link_but_nothing_in_it_may_lead_out(
    home: Path, folders: Callable[..., None]
) -> None:
    folders("projects/notes", "secret", ".openclaw/agents/main/agent", ".openclaw/agents/evil")
    (home / ".openclaw/workspace").symlink_to(home / "projects/notes")
    (home / "projects/notes/memory").symlink_to(home / "secret")
    (home / ".openclaw/agents/main/sessions").symlink_to(home / "secret")
    (home / ".openclaw/agents/linked").symlink_to(home / "secret")
    (home / "secret/openclaw-agent.sqlite").touch()
    (home / ".openclaw/agents/main/agent/openclaw-agent.sqlite").symlink_to(
        home / "secret/openclaw-agent.sqlite"
    )
    layout = look(home)
    assert places(layout, home) == {"projects/notes": "main"}
    assert {str(problem.path.relative_to(home)) for problem in layout.problems} == {
        "projects/notes/memory",
        ".openclaw/agents/main/sessions",
        ".openclaw/agents/linked",
        ".openclaw/agents/main/agent/openclaw-agent.sqlite",
    }


def test_links_in_a_circle_are_nothing(home: Path, folders: Callable[..., None]) -> None:
    folders(".openclaw")
    (home / ".openclaw/workspace").symlink_to(home / ".openclaw/workspace")
    assert look(home) == Layout((), ())


def test_a_workspace_that_was_named_and_is_not_there_is_a_problem(home: Path, configure: Write) -> None:
    configure({"agents": {"entries": {"ops": {"workspace": "~/gone"}}}})
    (problem,) = look(home).problems
    assert problem.path == home / "gone"


def test_odd_names_of_agents_become_names_of_ours(home: Path, folders: Callable[..., None]) -> None:
    folders(
        ".openclaw/agents/Über Agent/sessions",
        ".openclaw/agents/ops/sessions",
        ".openclaw/agents/Ops/sessions",
    )
    names = places(look(home), home).values()
    assert len(set(names)) == 3
    assert "ops" in names


@pytest.mark.parametrize(
    "config", ["{ nonsense", "[" * 100_000, "", "[]", "5", '{"agents": 5}', '{"agents":{"list":{}}}']
)
def test_whatever_the_configuration_holds_the_usual_places_are_found(
    home: Path, folders: Callable[..., None], configure: Write, config: str
) -> None:
    folders(".openclaw/workspace")
    configure(config)
    assert places(look(home), home) == {".openclaw/workspace": "main"}


@pytest.mark.parametrize("kind", ["folder", "pipe", "large", "malformed", "unset", "include"])
def test_what_is_wrong_with_a_configuration_is_reported(home: Path, kind: str) -> None:
    path = home / "openclaw.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_text(
            {
                "large": " " * (4 * 1024 * 1024) + "{}",
                "malformed": "{",
                "unset": '{"agents":{"defaults":{"workspace":"${NO_SUCH_PLACE}/x"}}}',
                "include": '{"agents":{"$include":"./agents.json"}}',
            }[kind]
        )
    config = read_config(path, {})
    (problem,) = config.problems
    assert problem.path == path
    assert config.workspace is None


def test_an_absent_configuration_is_no_problem(home: Path) -> None:
    assert read_config(home / "openclaw.json", {}).problems == ()
