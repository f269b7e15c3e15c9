"""`noesis import`: the plan first, then a question, then the work; here and on a running server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from noesis.import_commands import FORMATS, show_imported, show_plan
from noesis.sources.foreign import Format
from tests.cli.conftest import SILENT, Run
from tests.sources.writing import header, jsonl, message


def export(path: Path, count: int, agent: str = "alpha") -> Path:
    lines = (
        json.dumps(
            {"text": f"The {number}th heron of {path.stem}.", "memory_type": "fact", "agent_id": agent}
        )
        for number in range(count)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return export(tmp_path / "export.ndjson", 3)


def memories(local: Run, agent: str = "alpha") -> int:
    return int(local("stats", "--agent", agent, "--json").json()["active"]["memories"])


def test_the_plan_is_shown_and_nothing_is_stored_without_a_word(local: Run, file: Path) -> None:
    dry = local("import", str(file), "--agent", "alpha", "--dry-run")
    assert dry.code == 0
    assert "noesis" in dry.out
    assert "3 new memories" in dry.out
    unasked = local("import", str(file), "--agent", "alpha")
    assert unasked.code == 2
    assert "3 new memories" in unasked.out
    assert "--yes" in unasked.err
    assert memories(local) == 0


def test_an_import_is_run_and_run_again_without_harm(local: Run, file: Path) -> None:
    first = local("import", str(file), "--agent", "alpha", "--yes")
    assert first.code == 0
    assert "Import complete: 3 indexed" in first.out
    again = local("import", str(file), "--agent", "alpha", "--yes", "--json")
    assert (again.json()["indexed"], again.json()["duplicates"]) == (0, 3)
    assert memories(local) == 3


def test_entries_go_to_their_agents_with_all(local: Run, tmp_path: Path) -> None:
    done = local("import", str(export(tmp_path / "b.ndjson", 2, "beta")), "--all", "--yes", "--json")
    assert done.json()["by_agent"] == {"beta": 2}


def test_the_agent_of_the_environment_counts(local: Run, file: Path) -> None:
    done = local("import", str(file), "--yes", "--json", NOESIS_AGENT="gamma")
    assert done.json()["by_agent"] == {"gamma": 3}


def test_a_folder_anywhere_is_read_by_who_owns_the_process(local: Run, tmp_path: Path) -> None:
    notes = tmp_path / "anywhere" / "notes"
    notes.mkdir(parents=True)
    (notes / "herons.md").write_text("# Herons\n\n" + " ".join(f"word{number}" for number in range(60)))
    for expected in (1, 0):
        done = local("import", str(notes), "--agent", "alpha", "--yes", "--json")
        assert done.json()["indexed"] == expected


def test_without_a_path_openclaws_places_are_read(local: Run, tmp_path: Path) -> None:
    sessions = tmp_path / "claw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    said = message(1, "user", "We decided to moor the heron at the south pier from May on.")
    (sessions / "s1.jsonl").write_bytes(jsonl([header(), said]))
    home = {"NOESIS_OPENCLAW_HOME": str(tmp_path / "claw")}
    plan = local("import", "--agent", "main", "--dry-run", **home)
    assert "1 of 1 files to read" in plan.out
    done = local("import", "--all", "--yes", "--json", **home)
    assert done.json()["by_agent"].keys() == {"main"}
    assert memories(local, "main") > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "x.md"), "--agent"),
        (("import",), "--agent"),
        (("import", "--all", "--format", "mem0"), "PATH"),
        (("import", "/no/such/file", "--agent", "alpha"), "no such file"),
        (("import", "/dev/null", "--agent", "alpha"), "not a regular file"),
        (("import", __file__, "--agent", "alpha"), "format"),
        (("import", __file__, "--agent", "../x"), "agent"),
    ],
    ids=["nobody", "nothing", "format", "absent", "device", "unknown", "agent"],
)
def test_wrong_input_is_told_in_a_line(arguments: tuple[str, ...], said: str, local: Run) -> None:
    ran = local(*arguments)
    assert ran.code in (2, 3, 4)
    assert said.lower() in ran.err.lower()
    assert "Traceback" not in ran.err


def test_another_model_than_the_stores_is_refused(local: Run, file: Path) -> None:
    embedder = {"NOESIS_EMBEDDER": "local"}
    assert local("index", "The heron lies here.", "--agent", "alpha", **embedder).code == 0
    ran = local("import", str(file), "--agent", "alpha", "--yes", "--model", "mxbai-embed-large", **embedder)
    assert ran.code == 7
    assert "MiniLM" in ran.err
    assert memories(local) == 1


def test_the_data_directory_ollama_and_chunks_are_options(local: Run, tmp_path: Path, file: Path) -> None:
    long = export(tmp_path / "long.ndjson", 1)
    long.write_text(
        json.dumps({"text": "A heron stands. " * 100, "agent_id": "alpha", "memory_type": "fact"}) + "\n"
    )
    options = ("--db", str(tmp_path / "other"), "--ollama", "http://127.0.0.1:9")
    done = local(
        "import",
        str(long),
        "--agent",
        "alpha",
        "--yes",
        "--json",
        *options,
        "--chunk-size",
        "40",
        "--chunk-overlap",
        "8",
    )
    assert done.json()["indexed"] == 1
    assert done.json()["waiting_for_vectors"] >= 6
    assert memories(local) == 0


def test_an_import_that_is_killed_goes_on_the_next_time(local: Run, tmp_path: Path) -> None:
    """kill -9 half-way: what was committed is passed over, the rest is added, nothing twice."""
    file = export(tmp_path / "many.ndjson", 2000)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NOESIS_")}
    environ = kept | SILENT | {"NOESIS_DATA": str(tmp_path / "data")}
    command = [sys.executable, "-m", "noesis", "import", str(file), "--agent", "alpha", "--yes"]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        commits = tmp_path / "data" / "generations" / "0001" / "memories.lance" / "data"
        limit = time.monotonic() + 60
        while running.poll() is None and len(list(commits.glob("*"))) < 3 and time.monotonic() < limit:
            time.sleep(0.01)
        running.kill()
    done = local("import", str(file), "--agent", "alpha", "--yes", "--json").json()
    assert 0 < done["duplicates"] < 2000
    assert done["indexed"] + done["duplicates"] == 2000
    assert memories(local) == 2000


def test_a_running_server_takes_the_file_and_is_followed(remote: Run, tmp_path: Path) -> None:
    file = export(tmp_path / "remote.ndjson", 5, "remote-import")
    scope = ("--scope", "agent", "--agent", "remote-import", "--name", "import")
    token = remote("token", "create", *scope, "--json").json()["token"]
    for indexed in (5, 0):
        ran = remote("import", str(file), "--agent", "remote-import", "--yes", "--json", NOESIS_TOKEN=token)
        assert (ran.code, ran.json()["indexed"]) == (0, indexed), ran.err
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(export(tmp_path / "more.ndjson", 2, "remote-import"), "more.ndjson")
    ran = remote("import", str(packed), "--all", "--yes")
    assert "2 indexed" in ran.out
    folder = remote("import", str(tmp_path), "--agent", "remote-import", "--yes")
    assert folder.code == 2
    assert ".zip" in folder.err
    refused = remote("import", str(file), "--agent", "other", "--yes", NOESIS_TOKEN=token)
    assert refused.code == 3
    options = remote("import", str(file), "--agent", "remote-import", "--yes", "--model", "x")
    assert options.code == 2


def test_the_formats_are_the_codes() -> None:
    assert set(FORMATS) == {kind.value for kind in Format}


def test_problems_are_shown_up_to_a_few() -> None:
    problems = [{"place": f"line {number}", "reason": "It is broken."} for number in range(20)]
    counts = {"new": 1, "archived": 0, "changed": 0, "already": 0, "errors": 40, "entries": 41}
    nothing: dict[str, object] = {"by_agent": {}, "by_type": {}, "left_out": {}, "places": []}
    shown = show_plan({"formats": ["mem0"], "whole": False, "problems": problems, **counts, **nothing})
    assert "line 4" in shown
    assert "line 5" not in shown
    assert "35 more" in shown
    assert "beginning" in shown
    done = {"indexed": 1, "archived": 0, "changed": 0, "duplicates": 0, "skipped": 2, "errors": 0, "held": 3}
    text = show_imported({**done, "problems": [], "by_agent": {"a": 1}, "reasons": {"chatter": 2}})
    assert "inbox" in text
    assert "chatter 2" in text
