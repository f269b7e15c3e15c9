"""`noesis bench`: measured, fitted, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

LOCAL = {"NOESIS_EMBEDDER": "local"}

TEXTS = {
    "garden": ["The quince by the gate is ripe.", "Frost took the figs in January.", "Ada dug the pond."],
    "boat": ["The dinghy leaks at the bow.", "Tar from Bergen keeps it dry.", "Leo sold the old sail."],
}
ASKED = {
    "garden": ["Which fruit is ready to pick?", "What did the frost take?", "Who made the pond?"],
    "boat": ["Where does the dinghy let water in?", "What keeps it dry?", "Who sold the sail?"],
}


def conversation(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "memories": [
            {
                "id": f"m{n}",
                "session": "s",
                "position": n,
                "created_at": f"2025-01-1{n}T10:00:00Z",
                "text": text,
            }
            for n, text in enumerate(TEXTS[name])
        ],
        "questions": [
            {"question": question, "kind": "single", "evidence": [f"m{n}"]}
            for n, question in enumerate(ASKED[name])
        ],
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two labelled conversations."""
    place = tmp_path / "labelled"
    place.mkdir()
    for name in TEXTS:
        (place / f"{name}.json").write_text(json.dumps(conversation(name)), encoding="utf-8")
    return place


def test_fitted_weights_are_a_file_that_the_product_uses(local: Run, folder: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights.json"
    ran = local("bench", "--data", str(folder), "--fit", str(weights), "--json", **LOCAL)
    assert ran.code == 0, ran.err
    report = ran.json()
    assert (report["retrieval"]["conversations"], report["retrieval"]["memories"]) == (2, 6)
    assert report["retrieval"]["quality"][0]["measures"]["R@5"] == [1, 1, 1]
    assert [row["questions"] for row in report["fitted"]["rows"]] == [6] * 4
    assert report["store"] is None
    assert "indexed 2 of 2" in ran.err
    assert not (tmp_path / "data").exists(), "a store that is not there is not made"

    used = {"NOESIS_FUSION_WEIGHTS": str(weights), **LOCAL}
    assert local("index", TEXTS["boat"][0], "--agent", "me", **used).code == 0
    hit = local("search", "dinghy", "--agent", "me", "--explain", "--json", **used).json()["hits"][0]
    known = json.loads(weights.read_text(encoding="utf-8"))["hybrid"]
    assert hit["explanation"]["contributions"]["start"] == pytest.approx(known["bias"], abs=1e-3)

    weights.write_text("{}", encoding="utf-8")
    refused = local("search", "dinghy", "--agent", "me", **used)
    assert refused.code == 2
    assert f"NOESIS_FUSION_WEIGHTS ({weights})" in refused.err


def test_ones_own_memories_are_measured_and_not_shown(local: Run, folder: Path, tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS["boat"])
    assert local("index", "--bulk", "-", "--agent", "me", stdin=lines, **LOCAL).code == 0
    lying = files(tmp_path / "data")
    ran = local("bench", "--data", str(folder / "garden.json"), **LOCAL)
    assert ran.code == 0, ran.err
    assert "Your store: 3 rows, 0 archived, 3 vectors; vector index: none, search is exact." in ran.out
    assert "whole search" in ran.out
    assert "Weights fitted" not in ran.out
    assert not any(word in ran.out + ran.err for word in ("dinghy", "Bergen", "quince", "figs"))
    assert files(tmp_path / "data") == lying


def files(folder: Path) -> dict[str, bytes]:
    """The memories' files and what they hold."""
    found = sorted((folder / "generations").rglob("*"))
    return {str(path): path.read_bytes() for path in found if path.is_file()}


def test_wrong_data_is_refused_before_anything_is_written(local: Run, folder: Path, tmp_path: Path) -> None:
    wrong = conversation("boat")
    wrong["questions"][2]["evidence"] = ["m0", "m7"]
    (folder / "boat.json").write_text(json.dumps(wrong), encoding="utf-8")
    weights = tmp_path / "weights.json"
    ran = local("bench", "--data", str(folder), "--fit", str(weights))
    assert (ran.code, ran.out) == (2, "")
    assert f"{folder / 'boat.json'}: questions[2].evidence[1]: there is no memory 'm7'" in ran.err
    assert not weights.exists()
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--data", "{folder}/boat.json", "--fit", "{folder}/out.json"), "at least two conversations"),
        (("--data", "{folder}", "--fit", "{folder}/nowhere/out.json"), "cannot be written"),
        (("--data", "{folder}", "--store"), "There are no memories in"),
        (("--data", "{folder}/absent"), "cannot be read"),
    ],
)
def test_what_cannot_be_done_is_told_at_once(
    words: tuple[str, ...], told: str, local: Run, folder: Path
) -> None:
    ran = local("bench", *(word.format(folder=folder) for word in words))
    assert ran.code == 2
    assert told in ran.err


def test_without_its_embedder_nothing_is_measured(local: Run, folder: Path) -> None:
    ran = local("bench", "--data", str(folder))
    assert (ran.code, ran.out) == (7, "")
