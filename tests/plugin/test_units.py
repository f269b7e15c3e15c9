"""The plugin's own unit tests, and what its files promise."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import tarfile

import httpx
import pytest

from noesis.api.plugin_package import PATH, package
from noesis.sources.agent_names import agent_name
from tests.plugin.gateway import NODE, ROOT
from tests.support import Product

PLUGIN = ROOT / "plugin"


def test_the_plugins_unit_tests_pass() -> None:
    done = subprocess.run([NODE, "--test"], cwd=PLUGIN, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout[-5000:]
    assert "ℹ skipped 0" in done.stdout or "# skipped 0" in done.stdout


IDS = [
    "main",
    "Ada",
    "alpha:beta",
    "alpha' OR '1'='1",
    "x--main",
    "h--1",
    "é",
    "",
    " ",
    "ä" * 40,
    "a" * 64,
    "a" * 65,
    "a_b",
    "-a",
]


@pytest.mark.parametrize("profile", [None, "work", "Ä"])
def test_plugin_and_readers_of_transcripts_name_agents_alike(profile: str | None) -> None:
    """Else what an agent says would be one agent's, and what its files say another's."""
    code = (
        "import { agentName } from './src/identity.js';"
        f"console.log(JSON.stringify({json.dumps(IDS)}.map((id) => agentName(id, {json.dumps(profile)}))))"
    )
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", code], cwd=PLUGIN, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [agent_name(each, profile) for each in IDS]


def test_the_package_is_what_npm_would_pack_and_the_same_every_time() -> None:
    body = package().body
    package.cache_clear()
    assert package().body == body
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(body))) as archive:
        entries = archive.getmembers()
    names = [entry.name for entry in entries]
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."],
        cwd=PLUGIN,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert sorted(names) == sorted(f"package/{name}" for name in tracked if not name.startswith("test/"))
    assert {(entry.mtime, entry.uid, entry.mode) for entry in entries} == {(499_162_500, 0, 0o644)}


async def test_anybody_may_fetch_the_package(product: Product) -> None:
    client: httpx.AsyncClient = product.client()
    answer = await client.get(PATH)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/gzip")
    assert answer.content == package().body
    again = await client.get(PATH, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_versions_and_names_agree() -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text(encoding="utf-8"))
    packed = json.loads((PLUGIN / "package.json").read_text(encoding="utf-8"))
    assert manifest["id"] == "noesis"
    assert manifest["version"] == packed["version"]
    assert f'const VERSION = "{packed["version"]}"' in (PLUGIN / "src/plugin.js").read_text(encoding="utf-8")
    assert "dependencies" not in packed


def test_the_readmes_name_every_tool_and_setting() -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text(encoding="utf-8"))
    readme = (PLUGIN / "README.md").read_text(encoding="utf-8")
    assert [tool for tool in manifest["contracts"]["tools"] if f"`{tool}`" not in readme] == []
    own = [key for key in manifest["uiHints"] if f"| `{key}` |" not in readme]
    assert own == []
