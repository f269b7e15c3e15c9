"""Cleanup and the archive from the command line, on a store of its own and on a running server."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run

SHORT = "0.00000002"
"""A life of two milliseconds, in days."""


@pytest.fixture(params=["local", "remote"])
def noesis(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.getfixturevalue(request.param)
    return chosen


@pytest.mark.timeout(600)
def test_a_memory_goes_to_the_archive_and_comes_back(noesis: Run) -> None:
    agent = ("--agent", "shelf")
    stored = noesis("index", "the heron nests early", "--ttl-days", SHORT, *agent, "--json").json()["id"]
    plan = noesis("cleanup", "--plan", *agent, "--json").json()
    assert (plan["expired"], plan["by_agent"], plan["needs_confirmation"]) == (1, {"shelf": 1}, False)
    done = noesis("cleanup", *agent)
    assert (done.code, done.out) == (0, "1 archived, 0 purged for good.\n")
    listed = noesis("archive", "list", "--type", "fact", *agent, "--json").json()
    assert [memory["id"] for memory in listed["memories"]] == [stored]
    (month,) = listed["months"]
    assert "the heron nests early" in noesis("archive", "list", "--month", month, *agent).out
    found = noesis("archive", "search", "heron", *agent, "--json").json()
    assert [hit["id"] for hit in found["hits"]] == [stored]
    assert stored in noesis("archive", "list", "--expiring", *agent).out
    back = noesis("archive", "restore", stored, "--ttl-days", "0", *agent, "--json")
    assert (back.code, back.json()["results"][0]["outcome"]) == (0, "restored")
    assert noesis("get", stored, *agent, "--json").json()["archived"] is False
    again = noesis("archive", "restore", "nothing", *agent)
    assert again.code == 4
    assert "not_found" in again.out
    assert noesis("archive", "list", *agent).out == "Nothing like that is in the archive.\n"


def test_a_large_share_waits_for_confirm_and_says_so_by_its_exit_code(noesis: Run) -> None:
    agent = ("--agent", "many")
    lines = [json.dumps({"text": f"heron {number}", "ttl_days": float(SHORT)}) for number in range(20)]
    assert noesis("index", "--bulk", "-", *agent, stdin="\n".join(lines)).code == 0
    asked = noesis("cleanup", *agent, "--json")
    assert (asked.code, asked.json()["state"], asked.json()["held"]) == (5, "needs confirmation", 20)
    assert "--confirm" in noesis("cleanup", *agent).out
    done = noesis("cleanup", "--confirm", *agent, "--json")
    assert (done.code, done.json()["archived"]) == (0, 20)


@pytest.mark.parametrize(
    "wrong",
    [
        ("archive", "list", "--month", "may", "--agent", "a"),
        ("archive", "list", "--expiring", "--month", "2026-05", "--agent", "a"),
        ("archive", "restore", "x", "--ttl-days", "nan", "--agent", "a"),
        ("archive", "restore", "x", "--ttl-days", "-1", "--agent", "a"),
    ],
)
def test_what_makes_no_sense_is_refused(local: Run, wrong: tuple[str, ...]) -> None:
    assert local(*wrong).code == 2
