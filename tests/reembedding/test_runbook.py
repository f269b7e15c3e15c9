"""Every command of the runbook of upgrades works, in its order, with two models that differ for real."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from noesis.cli import main
from noesis.embedding.model_files import bundled_minilm
from noesis.runtime import open_runtime
from noesis.settings import load
from tests.servers import quiet_environment

RUNBOOK = Path(__file__).resolve().parents[2] / "ops" / "upgrade.md"


def commands() -> list[list[str]]:
    """The lines of the runbook's shell blocks, comments cut off."""
    blocks = [block.split("```")[0] for block in RUNBOOK.read_text(encoding="utf-8").split("```sh\n")[1:]]
    return [
        shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()
    ]


def own_model(directory: Path) -> Path:
    """The built-in model's files as a model of one's own: other name, other identity, same vectors."""
    directory.mkdir()
    files = bundled_minilm()
    (directory / "model.onnx").symlink_to(files.model)
    shutil.copyfile(files.tokenizer, directory / "tokenizer.json")
    return directory


async def filled(environment: dict[str, str]) -> None:
    """See that the vector is there, however long the model took to load."""
    async with open_runtime(load(environment), environ=environment) as noesis:
        await noesis.embedder.identity()
        await noesis.filling.fill(lambda _done, _total: None)
        assert await noesis.filling.pending() == 0


def test_every_command_of_the_runbook_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NOESIS_")]:
        monkeypatch.delenv(name)
    silent = quiet_environment(tmp_path / "data", NOESIS_EMBEDDER="local")
    environment = {name: value for name, value in silent.items() if name.startswith("NOESIS_")}
    values = {"$NEW": str(tmp_path / "new"), "$MODEL": str(own_model(tmp_path / "own-minilm"))}
    outputs: list[str] = []

    def run(*arguments: str) -> None:
        result = CliRunner().invoke(main, list(arguments), env=environment)
        assert result.exit_code == 0, f"{arguments}: {result.output}"
        outputs.append(result.output)

    run("index", "The spare key hangs by the back door", "--agent", "main")
    asyncio.run(filled(environment))
    for words in commands():
        if words[0] == "export":
            key, _, value = words[1].partition("=")
            environment[key] = values[value]
            continue
        assert words[0] == "noesis"
        run(*(values.get(word, word) for word in words[1:]))
        if words[1] == "backup":
            values["$FILE"] = str(next((tmp_path / "data" / "backups").glob("*.tar.gz")))
    needed, done, settled, undone = outputs[-4:]
    assert "noesis reembed" in needed
    assert "1 rows have vectors of own-minilm (384 dimensions) now" in done
    assert "nothing is to be switched" in settled
    assert "1 memories are there now" in undone
    environment.pop("NOESIS_EMBEDDING_MODEL")
    run("search", "Where is the key?", "--agent", "main")
    assert "spare key" in outputs[-1]
