"""Every command of the runbook of backups works, in the order in which it stands there."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from noesis.cli import main
from tests.fakes.s3 import BUCKET, KEY_ID, REGION, SECRET, FakeS3, serving
from tests.servers import quiet_environment

ROOT = Path(__file__).resolve().parents[2]


def commands() -> list[list[str]]:
    """The lines of the runbook's shell blocks, comments cut off."""
    text = (ROOT / "ops" / "backup.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in text.split("```sh\n")[1:]]
    return [
        shlex.split(line, comments=True) for block in blocks for line in block.splitlines() if line.strip()
    ]


@pytest.fixture
def server() -> Iterator[FakeS3]:
    with serving() as fake:
        yield fake


def test_every_command_of_the_runbook_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeS3
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    for name in [name for name in os.environ if name.startswith("NOESIS_")]:
        monkeypatch.delenv(name)
    silent = quiet_environment(tmp_path / "data")
    environment = {name: value for name, value in silent.items() if name.startswith("NOESIS_")}
    runner = CliRunner()

    def run(*arguments: str) -> str:
        result = runner.invoke(main, list(arguments), env=environment)
        assert result.exit_code == 0, f"{arguments}: {result.output}"
        return result.output

    run("index", "The spare key hangs by the back door", "--agent", "main")
    run("backup")
    name = next((tmp_path / "data" / "backups").glob("*.tar.gz")).name
    values = {
        "$NAME": name,
        "$FILE": str(tmp_path / "data" / "backups" / name),
        "$NEW": str(tmp_path / "new"),
        "$KEY": str(tmp_path / "key"),
        "$EMPTY": str(tmp_path / "empty"),
        "$BUCKET": BUCKET,
        "$ENDPOINT": server.url,
        "$REGION": REGION,
        "$KEY_ID": KEY_ID,
        "$SECRET_FILE": str(secret),
    }
    done = 0
    for words in commands():
        copies = sorted(key for key in server.objects if key.endswith(".age"))
        if copies:
            values |= {"$COPY": f"s3://{BUCKET}/{copies[-1]}", "$LATEST": copies[-1].removeprefix("noesis/")}
        arguments = [values.get(word, word) for word in words]
        if words[0] == "export":
            key, _, value = words[1].partition("=")
            environment[key] = values.get(value, value)
            continue
        assert arguments[0] == "noesis"
        run(*arguments[1:])
        done += 1
    assert done >= 12
    assert list((tmp_path / "data" / "backups").glob("*.age"))
    for machine in ("new", "empty"):
        assert "spare key" in run("recall", "--agent", "main", "--data", str(tmp_path / machine))
    assert server.refused == []
