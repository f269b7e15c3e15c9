"""The commands of the history, of acts on many memories, and of forgetting."""

from __future__ import annotations

from tests.cli.conftest import Run


def test_many_are_counted_then_changed_and_deleted_and_their_history_tells_of_it(local: Run) -> None:
    ids = [
        local("index", f"boat {n}", "--session", "s", "--agent", "alpha", "--json").json()["id"]
        for n in (1, 2)
    ]
    ran = local("edit", "--session", "s", "--agent", "alpha", "--priority", "70", "--add-tag", "x")
    assert (ran.code, ran.out.splitlines()[0]) == (
        0,
        "2 fit; nothing was changed. With --confirm 2 they are.",
    )
    assert sorted(ran.out.splitlines()[1:]) == sorted(ids)
    ran = local(
        "edit", "--session", "s", "--agent", "alpha", "--priority", "70", "--add-tag", "x", "--confirm", "2"
    )
    assert (ran.code, ran.out) == (0, "2 changed.\n")
    one = local("edit", ids[0], "--agent", "alpha", "--remove-tag", "x", "--pin", "--json").json()
    assert (one["tags"], one["priority"], one["expires_at"]) == ([], 70, None)
    assert local("delete", "--tag", "x", "--agent", "alpha", "--confirm", "2").code == 5
    assert local("delete", "--tag", "x", "--agent", "alpha", "--confirm", "1").out == "1 deleted.\n"
    ran = local("history", ids[1], "--agent", "alpha")
    assert [line.split()[1] for line in ran.out.splitlines()[-3:]] == ["deleted", "updated", "created"]
    assert "priority: 30 → 70; tags:  → x" in ran.out


def test_a_delete_without_an_id_and_without_a_filter_is_refused(local: Run) -> None:
    local("index", "boat", "--agent", "alpha")
    assert local("delete", "--agent", "alpha").code == 2
    assert local("delete", "--all").code == 2
    assert local("delete", "some-id", "--session", "s", "--agent", "alpha").code == 2
    assert local("delete", "--undo", "--session", "s", "--agent", "alpha").code == 2
    assert local("delete", "--all", "--agent", "alpha", "--json").json()["count"] == 1


def test_a_session_is_forgotten_by_its_count_and_admitted_again(local: Run) -> None:
    local("index", "poison", "--session", "s", "--agent", "alpha")
    ran = local("forget", "--session", "s", "--agent", "alpha")
    assert "1 memories are of it; nothing was forgotten" in ran.out
    ran = local("forget", "--session", "s", "--agent", "alpha", "--confirm", "1")
    assert ran.out.startswith("1 forgotten. Backups and pushed snapshots")
    assert local("recall", "--agent", "alpha", "--json").json()["memories"] == []
    (stone,) = local("forget", "--list", "--json").json()["forgotten"]
    assert (stone["agent_id"], stone["kind"], stone["value"]) == ("alpha", "session", "s")
    assert local("forget", "--lift", stone["id"]).out == "The session s may come back.\n"
    assert local("forget", "--list").out == "Nothing was forgotten.\n"
