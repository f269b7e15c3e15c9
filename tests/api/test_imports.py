"""Imports over HTTP: who may bring in what, and hostile uploads."""

from __future__ import annotations

import gzip
import io
import json
import stat
import tarfile
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from noesis.errors import StoreBusy
from noesis.memory import Role
from noesis.uploads import MAX_AGE_MS
from noesis.worker import JobContext
from noesis.worker.tasks import HANDLERS
from tests.support import Clock, Product, running

IMPORTS = "/api/v1/imports"
UPLOAD = f"{IMPORTS}/upload"
CANARY = "canary-9Qz"


def lines(*agents: str, start: int = 0) -> bytes:
    entries = [
        {"text": f"The {number}th heron of {agent} is {CANARY}.", "memory_type": "fact", "agent_id": agent}
        for number, agent in enumerate(agents, start=start)
    ]
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return out.getvalue()


@pytest.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    (tmp_path / "inbox").mkdir()
    environ = {"NOESIS_IMPORT_ROOTS": str(tmp_path / "inbox"), "NOESIS_IMPORT_MAX_MB": "1"}
    async with running(tmp_path / "data", clock=Clock(), environ=environ) as opened:
        yield opened


@pytest.fixture
async def alpha(product: Product) -> httpx.AsyncClient:
    return await product.agent("alpha")


@pytest.fixture
async def beta(product: Product) -> httpx.AsyncClient:
    return await product.agent("beta")


@pytest.fixture
async def admin(product: Product) -> httpx.AsyncClient:
    return await product.admin()


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    return tmp_path / "data" / "uploads"


async def gateway(product: Product, *agents: str) -> httpx.AsyncClient:
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, agents, "test gateway")
    return product.client(secret)


async def work(product: Product, job_id: str) -> dict[str, Any]:
    """Run a job as a worker does, and return its result."""
    job = await product.noesis.jobs.get(job_id)
    result = await HANDLERS[job.name].run(JobContext(product.noesis, job), **job.args)
    assert result is not None
    return result


async def counts(client: httpx.AsyncClient) -> int:
    return int((await client.get("/api/v1/stats")).json()["active"]["memories"])


async def test_an_agent_plans_and_then_imports_its_own_upload(
    product: Product, alpha: httpx.AsyncClient, uploads: Path
) -> None:
    body = lines("alpha", "beta")
    reply = await alpha.post(UPLOAD, params={"name": "mine.ndjson"}, content=body)
    assert reply.status_code == 200
    plan = reply.json()["plan"]
    assert (plan["formats"], plan["new"], plan["by_agent"]) == (["noesis"], 2, {"alpha": 2})
    assert list(uploads.iterdir()) == []
    assert await counts(alpha) == 0
    reply = await alpha.post(UPLOAD, params={"name": "mine.ndjson", "apply": "true"}, content=body)
    assert reply.status_code == 202
    (kept,) = uploads.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    job_id = reply.json()["job_id"]
    assert (await alpha.get(f"{IMPORTS}/{job_id}")).json()["state"] == "queued"
    result = await work(product, job_id)
    assert (result["indexed"], result["by_agent"]) == (2, {"alpha": 2})
    assert await counts(alpha) == 2
    assert list(uploads.iterdir()) == []
    again = await alpha.post(UPLOAD, params={"name": "mine.ndjson"}, content=body)
    assert (again.json()["plan"]["new"], again.json()["plan"]["already"]) == (0, 2)


async def test_a_file_that_is_kept_is_sent_but_once(
    alpha: httpx.AsyncClient, product: Product, uploads: Path
) -> None:
    planned = (await alpha.post("/api/v1/imports/upload?keep=true", content=lines("alpha", "alpha"))).json()
    assert planned["plan"]["new"] == 2
    assert [path.name for path in uploads.iterdir()] == [planned["upload"]]
    started = await alpha.post(f"/api/v1/imports/upload/{planned['upload']}")
    assert started.status_code == 202
    await work(product, started.json()["job_id"])
    assert await counts(alpha) == 2
    assert list(uploads.iterdir()) == []
    again = await alpha.post(f"/api/v1/imports/upload/{planned['upload']}")
    assert again.status_code == 404


async def test_a_file_that_was_kept_can_be_thrown_away_and_a_bad_one_is_not_kept(
    alpha: httpx.AsyncClient, uploads: Path
) -> None:
    planned = (await alpha.post("/api/v1/imports/upload?keep=true", content=lines("alpha"))).json()
    assert (await alpha.delete(f"/api/v1/imports/upload/{planned['upload']}")).status_code == 204
    assert (await alpha.post("/api/v1/imports/upload?keep=true", content=b"\x00\x01")).status_code == 400
    assert list(uploads.iterdir()) == []


async def test_a_file_that_was_kept_goes_to_those_only_whom_the_token_is_for(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient
) -> None:
    planned = (await alpha.post("/api/v1/imports/upload?keep=true", content=lines("alpha"))).json()
    address = f"/api/v1/imports/upload/{planned['upload']}"
    assert (await beta.post(f"{address}?agent_id=alpha")).status_code == 403
    for odd in ("..%2Fcontrol.sqlite", "x" * 32, "é"):
        assert (await beta.post(f"/api/v1/imports/upload/{odd}")).status_code == 404


async def test_no_text_reaches_the_job(product: Product, alpha: httpx.AsyncClient) -> None:
    reply = await alpha.post(UPLOAD, params={"apply": "true"}, content=lines("alpha") + b'{"text": 7}\n')
    job_id = reply.json()["job_id"]
    result = await work(product, job_id)
    assert result["errors"] == 1
    job = await product.noesis.jobs.get(job_id)
    assert CANARY not in repr(job) + repr(result)


async def test_an_agent_imports_into_its_own_memories_only(
    alpha: httpx.AsyncClient, beta: httpx.AsyncClient, uploads: Path, tmp_path: Path
) -> None:
    for params in ({"agent_id": "beta"}, {"agents": "as given"}, {"agent_id": "beta", "apply": "true"}):
        reply = await alpha.post(UPLOAD, params=params, content=lines("beta"))
        assert reply.status_code == 403
    assert not uploads.exists()
    (tmp_path / "inbox" / "a.ndjson").write_bytes(lines("alpha"))
    reply = await alpha.post(IMPORTS, json={"path": str(tmp_path / "inbox" / "a.ndjson")})
    assert reply.status_code == 403
    started = await alpha.post(UPLOAD, params={"apply": "true"}, content=lines("alpha"))
    assert (await beta.get(f"{IMPORTS}/{started.json()['job_id']}")).status_code == 404
    assert await counts(beta) == 0


async def test_a_gateway_imports_for_the_agents_it_is_for(product: Product, tmp_path: Path) -> None:
    file = tmp_path / "inbox" / "a.ndjson"
    file.write_bytes(lines("alpha", "beta", "gamma"))
    client = await gateway(product, "alpha", "beta")
    asked: dict[str, Any] = {"path": str(file), "agents": "as given"}
    plan = (await client.post(IMPORTS, json=asked)).json()["plan"]
    assert (plan["by_agent"], plan["errors"]) == ({"alpha": 1, "beta": 1}, 1)
    reply = await client.post(IMPORTS, json={**asked, "apply": True})
    assert reply.status_code == 202
    twice = await client.post(IMPORTS, json={**asked, "apply": True})
    assert twice.json() == reply.json()
    assert (await work(product, reply.json()["job_id"]))["by_agent"] == {"alpha": 1, "beta": 1}
    for wrong in ({"path": str(file), "agent_id": "gamma"}, {"openclaw": "gamma"}):
        assert (await client.post(IMPORTS, json=wrong)).status_code == 403
    assert (await client.post(IMPORTS, json={"path": str(file)})).status_code == 400


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/etc", "/proc/self/environ", "inbox/../../data", "data/control.sqlite", "nothing"],
)
@pytest.mark.parametrize("apply", [False, True])
async def test_a_path_outside_the_allowed_folders_is_refused_for_everybody(
    path: str, apply: bool, admin: httpx.AsyncClient, tmp_path: Path
) -> None:
    body = {"path": str(tmp_path / path), "agent_id": "alpha", "apply": apply}
    reply = await admin.post(IMPORTS, json=body)
    assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")
    assert "passwd" not in reply.text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"path": "/a", "openclaw": True},
        {"openclaw": True, "format": "mem0"},
        {"path": "a.md", "agent_id": "alpha"},
        {"path": "/a\u0000b", "agent_id": "alpha"},
        {"path": "/a", "agents": "all"},
        {"path": "/a", "format": "cobol"},
        {"openclaw": "../x"},
        {"path": "/" + "a" * 5000, "agent_id": "alpha"},
    ],
    ids=["nothing", "both", "openclaw", "relative", "NUL", "agents", "format", "agent", "long"],
)
async def test_a_wrong_request_is_told_so(body: dict[str, Any], admin: httpx.AsyncClient) -> None:
    reply = await admin.post(IMPORTS, json=body)
    assert reply.status_code in (400, 403)
    assert reply.headers["content-type"] == "application/problem+json"


async def test_openclaws_places_can_be_planned(admin: httpx.AsyncClient) -> None:
    for asked in (True, "alpha"):
        reply = await admin.post(IMPORTS, json={"openclaw": asked})
        assert reply.status_code == 200
        assert reply.json()["plan"]["places"] == []


@pytest.mark.parametrize("name", ["x.gz", "../../x.ndjson", "a\nb", ""])
async def test_a_compressed_export_is_read_whatever_it_is_called(name: str, alpha: httpx.AsyncClient) -> None:
    reply = await alpha.post(UPLOAD, params={"name": name}, content=gzip.compress(lines("alpha")))
    assert reply.json()["plan"]["new"] == 1


async def test_a_folder_of_notes_and_exports_comes_packed(
    product: Product, alpha: httpx.AsyncClient, uploads: Path
) -> None:
    note = b"# Herons\n\n" + b"They stand in the north field until the frost comes. " * 4
    body = zipped(notes__herons_md=b"", **{"notes/herons.md": note, "export.json": lines("alpha")})
    for name, indexed in (("my notes.zip", 2), ("my notes.zip", 0)):
        reply = await alpha.post(UPLOAD, params={"name": name, "apply": "true"}, content=body)
        result = await work(product, reply.json()["job_id"])
        assert (result["indexed"], sorted(result["formats"])) == (indexed, ["markdown", "noesis"])
    assert list(uploads.iterdir()) == []
    found = (await alpha.get("/api/v1/memories")).json()["memories"]
    assert "my notes/notes/herons.md" in {memory["source"] for memory in found}


async def test_a_note_alone_keeps_its_name_and_follows_its_next_upload(
    product: Product, alpha: httpx.AsyncClient
) -> None:
    note = "# Herons\n\n" + " ".join(f"word{number}" for number in range(60)) + "\n"
    for text, expected in ((note, (1, 0)), (note, (0, 0)), (note.replace("word9 ", "other "), (0, 1))):
        reply = await alpha.post(UPLOAD, params={"name": "herons.md", "apply": "true"}, content=text.encode())
        result = await work(product, reply.json()["job_id"])
        assert (result["indexed"], result["changed"]) == expected
    (memory,) = (await alpha.get("/api/v1/memories")).json()["memories"]
    assert memory["source"] == "upload/herons.md"


async def test_a_hostile_archive_is_refused_by_name_and_leaves_nothing(
    alpha: httpx.AsyncClient, uploads: Path, tmp_path: Path
) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("ok.md"), io.BytesIO())
        archive.addfile(tarfile.TarInfo("../outside.md"), io.BytesIO())
    before = sorted(tmp_path.rglob("*"))
    for body in (out.getvalue(), zipped(**{"ok.md": b"x", "../outside.md": b"x"})):
        reply = await alpha.post(UPLOAD, content=body)
        assert (reply.status_code, reply.json()["code"]) == (400, "bad_archive")
        assert reply.json()["detail"].startswith("../outside.md")
    bomb = await alpha.post(UPLOAD, content=gzip.compress(bytes(40 << 20)))
    assert bomb.status_code == 413
    assert list(uploads.iterdir()) == []
    assert [path for path in sorted(tmp_path.rglob("*")) if path not in before] == [uploads]


@pytest.mark.parametrize("said", [True, False], ids=["with its length", "streamed"])
async def test_an_upload_over_the_limit_is_refused_and_nothing_of_it_stays(
    said: bool, alpha: httpx.AsyncClient, uploads: Path
) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    content: Any = b"x" * 2_000_000 if said else pieces()
    reply = await alpha.post(UPLOAD, content=content)
    assert reply.status_code == 413
    assert not uploads.exists() or list(uploads.iterdir()) == []


async def test_an_empty_or_unknown_upload_is_refused(alpha: httpx.AsyncClient, uploads: Path) -> None:
    for body in (b"", b"hello", bytes(1000), b"[1, 2]"):
        assert (await alpha.post(UPLOAD, content=body)).status_code == 400
    assert list(uploads.iterdir()) == []


async def test_uploads_that_wait_fill_a_bounded_room(alpha: httpx.AsyncClient) -> None:
    body = lines("alpha") + b" " * 900_000
    codes = [(await alpha.post(UPLOAD, params={"apply": "true"}, content=body)).status_code for _ in range(6)]
    assert codes == [202] * 4 + [429] * 2


async def test_what_nobody_fetched_is_swept_after_a_day(
    product: Product, alpha: httpx.AsyncClient, uploads: Path
) -> None:
    reply = await alpha.post(UPLOAD, params={"apply": "true"}, content=lines("alpha"))
    assert product.noesis.inflow.uploads.sweep() == 0
    clock = product.noesis.now_ms
    assert isinstance(clock, Clock)
    clock.now += MAX_AGE_MS + 1000
    assert product.noesis.inflow.uploads.sweep() == 1
    assert list(uploads.iterdir()) == []
    with pytest.raises(Exception, match="no longer there"):
        await work(product, reply.json()["job_id"])


async def test_an_upload_stays_while_its_job_may_be_tried_again(
    product: Product, alpha: httpx.AsyncClient, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = await alpha.post(UPLOAD, params={"apply": "true"}, content=lines("alpha"))
    job_id = reply.json()["job_id"]

    async def busy(_change: object) -> None:
        raise StoreBusy("busy")

    with monkeypatch.context() as broken:
        broken.setattr(product.noesis.store, "submit", busy)
        with pytest.raises(StoreBusy):
            await work(product, job_id)
    assert len(list(uploads.iterdir())) == 1
    assert (await work(product, job_id))["indexed"] == 1
