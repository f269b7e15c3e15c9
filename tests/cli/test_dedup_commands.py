"""Duplicates and supersession from the command line, on a store of its own."""

from __future__ import annotations

from tests.cli.conftest import Run

SAID = "We deploy the billing service on Fridays at noon."


def stored(local: Run, text: str) -> str:
    ran = local("index", text, "--agent", "alpha", "--json")
    assert ran.code == 0, ran.err
    memory_id: str = ran.json()["id"]
    return memory_id


def test_duplicates_are_looked_for_listed_and_decided(local: Run) -> None:
    ids = {stored(local, SAID), stored(local, SAID.upper())}
    dry = local("dedup", "--dry-run", "--json").json()
    assert {member["id"] for member in dry["findings"][0]["members"]} == ids
    assert "Nothing waits" in local("dedup", "list", "--agent", "alpha").out
    assert "1 groups with the same words" in local("dedup").out
    listed = local("dedup", "list", "--agent", "alpha", "--json").json()["findings"]
    assert [each["kind"] for each in listed] == ["exact"]
    shown = local("dedup", "list", "--agent", "alpha").out
    assert SAID in shown
    assert "decide: merge, keep_both, delete" in shown
    decided = local("dedup", "decide", listed[0]["id"], "merge", "--agent", "alpha", "--json").json()
    assert {decided["kept"], *decided["others"]} == ids
    assert local("dedup", "decide", listed[0]["id"], "merge", "--agent", "alpha").code == 5
    assert local("dedup", "list", "--agent", "alpha", "--json").json()["findings"] == []


def test_a_memory_is_superseded_and_stands_again(local: Run) -> None:
    old, new = stored(local, SAID), stored(local, "We deploy on Tuesdays.")
    assert local("supersede", old, new, "--agent", "alpha", "--json").json()["superseded_by"] == new
    assert local("get", old, "--agent", "alpha", "--json").json()["superseded_by"] == new
    assert local("supersede", new, old, "--agent", "alpha").code == 5
    assert local("supersede", old, "--undo", "--agent", "alpha").code == 0
    assert local("supersede", old, "--undo", "--agent", "alpha").code == 4
    assert local("supersede", old, "--agent", "alpha").code == 2


def test_a_threshold_that_cannot_be_is_refused(local: Run) -> None:
    assert local("dedup", "--threshold", "0.2").code == 2
