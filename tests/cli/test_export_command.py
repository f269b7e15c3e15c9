"""`noesis export`: to a file or to standard output, here and from a running server, and back again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noesis.export_commands import format_of
from noesis.exporting.values import Shape
from tests.cli.conftest import Run


@pytest.fixture
def filled(local: Run, tmp_path: Path) -> Run:
    lines = [
        {"text": f"Boat {number} lies in the bay.", "memory_type": "fact", "agent_id": agent}
        for number in range(3)
        for agent in ("alpha", "beta")
    ]
    file = tmp_path / "first.ndjson"
    file.write_text("\n".join(map(json.dumps, lines)))
    assert local("import", str(file), "--all", "--yes").code == 0
    return local


@pytest.mark.parametrize("name", ["all.ndjson", "all.json", "all.tar.gz"])
def test_every_form_goes_to_a_file_and_comes_back(name: str, filled: Run, run: Run, tmp_path: Path) -> None:
    file = tmp_path / name
    done = filled("export", str(file), "--all", "--json").json()
    assert (done["memories"], done["bytes"], done["file"]) == (6, file.stat().st_size, str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    assert not file.with_name(f"{name}.partial").exists()
    other = {
        "NOESIS_DATA": str(tmp_path / "other"),
        "NOESIS_EMBEDDER": "ollama",
        "NOESIS_OLLAMA_URL": "http://127.0.0.1:9",
    }
    assert "6 indexed" in run("import", str(file), "--all", "--yes", **other).out
    assert "6 there already" in run("import", str(file), "--all", "--yes", **other).out


def test_standard_output_takes_an_export_and_nothing_else(filled: Run) -> None:
    answer = filled("export", "-", "--agent", "beta")
    header, *memories = map(json.loads, answer.out.splitlines())
    assert header["memories"] == 3
    assert {memory["agent_id"] for memory in memories} == {"beta"}


def test_what_cannot_be_done_is_said_and_leaves_no_file(filled: Run, tmp_path: Path) -> None:
    assert filled("export", str(tmp_path / "x.ndjson")).code == 2
    assert filled("export", str(tmp_path / "x.json"), "--all", "--vectors").code == 2
    nowhere = filled("export", str(tmp_path / "no" / "x.ndjson"), "--all")
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err
    assert list(tmp_path.glob("x.*")) == []


def test_the_ending_says_the_form() -> None:
    names = ("a.json", "a.tgz", "a.TAR.GZ", "a.ndjson", "-", "a")
    shapes = [Shape(format_of(Path(name))) for name in names]
    assert shapes == [Shape.JSON, Shape.MARKDOWN, Shape.MARKDOWN, Shape.NDJSON, Shape.NDJSON, Shape.NDJSON]
