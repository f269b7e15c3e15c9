"""Every command: its help, its JSON, its exit code, on a store of its own and on a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from noesis.cli import main
from noesis.settings import describe
from tests.cli.conftest import Run
from tests.servers import free_port


def commands(
    group: click.Group, before: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


COMMANDS = dict(commands(main))
SERVERS = {("mcp",), ("up",), ("api",), ("worker",)}


@pytest.mark.parametrize("name", COMMANDS, ids=" ".join)
def test_every_command_has_help_that_says_what_it_and_each_option_does(
    name: tuple[str, ...], run: Run
) -> None:
    ran = run(*name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert (
                parameter.help
                or isinstance(parameter.type, click.Choice)
                or parameter.show_default
                or (parameter.multiple)
            ), parameter.name


def test_every_command_that_answers_can_answer_in_json() -> None:
    without = {
        name
        for name, command in COMMANDS.items()
        if not any("--json" in parameter.opts for parameter in command.params)
    }
    assert without - SERVERS == set()


def test_the_help_lists_the_exit_codes(run: Run) -> None:
    assert "Exit codes: 0 done" in run("--help").out
    assert run("--version").out.startswith("noesis, version ")


@pytest.fixture(params=["local", "remote"])
def noesis(request: pytest.FixtureRequest) -> Run:
    """The same commands on a store of one's own and on a running server."""
    chosen: Run = request.getfixturevalue(request.param)
    return chosen


def test_a_memory_goes_through_its_life(noesis: Run) -> None:
    """Index, know again, search, recall, get, delete, bring back, count; in JSON and in words."""
    agent = ("--agent", "life")
    made = noesis(
        "index",
        "the van key hangs by the door",
        "--type",
        "decision",
        "--tag",
        "a",
        "--tag",
        "b",
        *agent,
        "--json",
    )
    assert (made.code, made.err) == (0, "")
    memory_id = made.json()["id"]
    again = noesis("index", "-", *agent, stdin="the van key hangs by the door\n")
    assert (again.code, again.out) == (0, f"Known already: {memory_id}\n")
    found = noesis("search", "van key", *agent, "--json").json()
    assert [hit["id"] for hit in found["hits"]] == [memory_id]
    assert found["degraded"] is True
    shown = noesis(
        "search", "van", *agent, "--mode", "keyword", "--explain", "--tag", "a", "--type", "decision"
    )
    assert shown.code == 0
    assert "the van key hangs by the door" in shown.out
    assert "why: " in shown.out
    assert noesis("why-not", "van", memory_id, *agent, "--json").json()["stage"] == "returned"
    assert noesis("recall", *agent, "--json").json()["memories"][0]["tags"] == ["a", "b"]
    assert "the van key" in noesis("recall", *agent, "--limit", "1").out
    assert noesis("get", memory_id, *agent, "--json").json()["priority"] == 85
    assert noesis("get", memory_id, *agent).out.endswith("\nthe van key hangs by the door\n")
    assert noesis("delete", memory_id, *agent).out == f"Deleted: {memory_id}\n"
    assert noesis("search", "van", *agent, "--json").json()["hits"] == []
    assert noesis("why-not", "van", memory_id, *agent).out.startswith("deleted: It was deleted.\n")
    assert noesis("delete", memory_id, "--undo", *agent, "--json").json()["archived"] is False
    assert noesis("stats", *agent, "--json").json()["active"]["by_type"]["decision"] == 1
    assert noesis("stats", *agent).out.startswith("memories: 1, archived: 0\n")


def test_a_file_of_many_lines_is_indexed_and_bad_lines_are_named(noesis: Run, tmp_path: Path) -> None:
    lines = [{"text": f"bulk memory {n}"} for n in range(20)]
    file = tmp_path / "memories.ndjson"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ran = noesis("index", "--bulk", str(file), "--agent", "bulk", "--json")
    assert (ran.code, ran.json()) == (0, {"indexed": 20, "duplicates": 0, "failed": 0})
    file.write_text('{"text": "bulk memory 1"}\n{"text": ""}\n{"text": "a new one"}\n', encoding="utf-8")
    ran = noesis("index", "--bulk", str(file), "--agent", "bulk")
    assert ran.code == 2
    assert ran.out == "1 indexed, 1 known already, 1 failed.\n"
    assert ran.err.startswith("line 2: ")
    ran = noesis("index", "--bulk", "-", "--agent", "bulk", "--json", stdin=b'{"text": "a new one"}')
    assert ran.json() == {"indexed": 0, "duplicates": 1, "failed": 0}


def test_a_token_is_made_listed_and_revoked(noesis: Run) -> None:
    made = noesis("token", "create", "--scope", "agent", "--agent", "tom", "--name", "for Tom", "--json")
    assert made.code == 0
    assert set(made.json()) == {"id", "token"}
    token_id = made.json()["id"]
    assert made.json()["token"].startswith(f"nse_{token_id}_")
    listed = noesis("token", "list", "--json").json()
    assert [entry["agents"] for entry in listed if entry["id"] == token_id] == [["tom"]]
    assert "for Tom" in noesis("token", "list").out
    assert noesis("token", "revoke", token_id).out == f"Revoked: {token_id}\n"
    assert token_id not in noesis("token", "list").out
    assert noesis("token", "revoke", token_id).code == 4
    words = noesis("token", "create", "--scope", "gateway", "--agent", "*", "--name", "any").out
    assert words.startswith("nse_")
    assert "not shown again" in words


FAILURES: list[tuple[tuple[str, ...], int]] = [
    (("get", "nothing", "--agent", "a"), 4),
    (("delete", "nothing", "--agent", "a"), 4),
    (("get", "../stats", "--agent", "a"), 2),
    (("get", "..", "--agent", "a"), 4),
    (("get", "?", "--agent", "a"), 4),
    (("get", "a/undelete", "--agent", "a"), 2),
    (("get", "", "--agent", "a"), 2),
    (("index", "text without an agent"), 2),
    (("index", " ", "--agent", "a"), 2),
    (("index", "x", "--agent", "not an agent"), 2),
    (("index", "x", "--agent", "é"), 2),
    (("index", "x", "--agent", "a", "--priority", "101"), 2),
    (("index", "x", "--agent", "a", "--ttl-days", "nan"), 2),
    (("search", "x", "--agent", "a", "--limit", "0"), 2),
    (("search", " ", "--agent", "a"), 2),
    (("token", "create", "--scope", "agent", "--name", "x"), 2),
    (("token", "revoke", "nothing"), 4),
]


@pytest.mark.parametrize(
    ("arguments", "code"), FAILURES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else None
)
def test_a_failure_is_one_line_and_its_exit_code(arguments: tuple[str, ...], code: int, remote: Run) -> None:
    """And with --json one object with the code of the error, on standard error, too."""
    ran = remote(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("Error: ")
    assert ran.err.count("\n") == 1
    ran = remote(*arguments, "--json")
    assert (ran.code, ran.out) == (code, "")
    problem = json.loads(ran.err)
    assert set(problem) == {"error", "code"}
    assert problem["code"] == {2: "invalid_input", 4: "not_found"}[code]


@pytest.mark.parametrize(("arguments", "code"), FAILURES[::4], ids=str)
def test_a_failure_without_a_server_is_the_same(arguments: tuple[str, ...], code: int, local: Run) -> None:
    ran = local(*arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("index",),
        ("index", "x", "--bulk", "-"),
        ("index", "x", "--type", "belief"),
        ("search",),
        ("search", "x", "--limit", "many"),
        ("search", "x", "--archive", "sometimes"),
        ("token", "create", "--name", "x"),
        ("index", "--bulk", "/no/such/file"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_exit_2_and_says_how_to_get_help(
    arguments: tuple[str, ...], run: Run
) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: noesis" in ran.err


def test_a_server_that_does_not_answer_or_refuses_is_said(run: Run, remote: Run) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    ran = run("stats", NOESIS_URL=nowhere, NOESIS_TOKEN="nse_a_b")
    assert (ran.code, ran.err.count("\n")) == (9, 1)
    assert "127.0.0.1 does not answer" in ran.err
    ran = run("stats", NOESIS_URL=nowhere)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "NOESIS_TOKEN" in ran.err
    ran = remote("stats", NOESIS_TOKEN="nse_0123456789ab_wrong")
    assert ran.code == 3
    ran = remote("stats", "--json", NOESIS_TOKEN="nse_0123456789ab_wrong")
    assert json.loads(ran.err)["code"] == "unauthorized"


@pytest.mark.parametrize(
    "environ",
    [
        {"NOESIS_URL": "not an address"},
        {"NOESIS_URL": "http://["},
        {"NOESIS_URL": "ftp://127.0.0.1"},
        {"NOESIS_URL": "http://127.0.0.1:99999"},
        {"NOESIS_URL": "http://"},
        {"NOESIS_TOKEN": "nse_é_é"},
    ],
    ids=str,
)
def test_a_wrong_address_or_token_is_one_line_and_no_traceback(environ: dict[str, str], remote: Run) -> None:
    ran = remote("stats", **environ)
    assert ran.code in (2, 3, 9)
    assert ran.err.startswith("Error: ")
    assert ran.err.count("\n") == 1


def test_the_doctor_names_every_part_and_its_exit_code_tells(noesis: Run) -> None:
    ran = noesis("doctor", "--json")
    assert ran.code == 0
    report = ran.json()
    assert {"store", "embedder", "queue", "disk"} <= {part["name"] for part in report["parts"]}
    assert "what_to_do" in noesis("doctor").out


def test_the_settings_are_listed_with_their_defaults(run: Run) -> None:
    listed = run("settings", "--json").json()
    assert [entry["name"] for entry in listed] == list(describe())
    assert all(entry["meaning"] for entry in listed)
    assert "NOESIS_PORT" in run("settings").out


def test_the_agent_may_come_from_the_environment(local: Run) -> None:
    assert local("index", "from the environment", NOESIS_AGENT="envy").code == 0
    assert "from the environment" in local("recall", "--agent", "envy").out
    assert "no memories yet" in local("recall", "--agent", "other").out
