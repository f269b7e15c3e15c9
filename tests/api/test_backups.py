"""Backups over HTTP: who may what, what has to be confirmed, and the jobs behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import msgspec

from noesis.bucket.place import Place
from noesis.bucket.signing import Keys
from noesis.memory import Role
from noesis.worker.handlers import JobContext
from noesis.worker.tasks import HANDLERS
from tests.fakes.s3 import BUCKET, KEY_ID, REGION, SECRET, serving
from tests.support import Clock, Product


async def run_job(product: Product, answer: httpx.Response) -> dict[str, Any]:
    """Run the job that a route started, as a worker would."""
    assert answer.status_code == 202, answer.text
    job = await product.noesis.jobs.get(answer.json()["job_id"])
    context = JobContext(product.noesis, job)
    done = await HANDLERS[job.name].run(context, **job.args)
    await product.noesis.jobs.cancel(job.id)
    assert done is not None
    # What people are told of a job is plain values, and never the text of a memory.
    assert b"first memory" not in msgspec.json.encode(done)
    return done


async def look(product: Product, admin: httpx.AsyncClient, path: str, part: dict[str, Any]) -> dict[str, Any]:
    """What a preview answers once its job was carried out; until then it is said to be under way."""
    started = await admin.post(f"{path}/restore", json={"preview": True, **part})
    assert started.status_code == 202
    address = f"/api/v1/backups/previews/{started.json()['job_id']}"
    assert (await admin.get(address)).status_code == 202
    await carry_out(product, started.json()["job_id"])
    answer = await admin.get(address)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def carry_out(product: Product, job_id: str) -> None:
    """Run a job that waits and note how it ended, as a worker does."""
    noesis = product.noesis
    job = await noesis.jobs.ledger.claim({(await noesis.jobs.get(job_id)).name: 1}, noesis.now_ms())
    assert job is not None
    assert job.id == job_id
    done = await HANDLERS[job.name].run(JobContext(noesis, job), **job.args)
    assert b"first memory" not in msgspec.json.encode(done)
    await noesis.jobs.ledger.finish(job, done, noesis.now_ms())


async def texts(client: httpx.AsyncClient) -> set[str]:
    return {memory["text"] for memory in (await client.get("/api/v1/memories")).json()["memories"]}


async def test_a_backup_is_made_listed_verified_fetched_restored_and_undone(
    product: Product, tmp_path: Path
) -> None:
    admin, agent = await product.admin(), await product.agent("alpha")
    await agent.post("/api/v1/memories", json={"text": "first memory"})
    made = await run_job(product, await admin.post("/api/v1/backups"))
    name = made["name"]
    listed = (await admin.get("/api/v1/backups")).json()
    assert [backup["name"] for backup in listed["backups"]] == [name]
    assert listed["backups"][0]["verified_at"].endswith("Z")
    assert listed["undo"] is False
    path = f"/api/v1/backups/{name}"
    assert (await run_job(product, await admin.post(f"{path}/verify")))["ok"] is True
    assert (await run_job(product, await admin.post("/api/v1/verify")))["ok"] is True
    fetched = await admin.get(path)
    assert fetched.headers["content-disposition"].startswith("attachment")
    assert fetched.content == product.noesis.backups.shelf.path(name).read_bytes()

    await agent.post("/api/v1/memories", json={"text": "second memory"})
    looked = await look(product, admin, path, {})
    assert looked["preview"]["difference"]["lost"] == 1
    part = await look(product, admin, path, {"agent_id": "alpha"})
    assert [(each["state"], each["then"]) for each in part["memories"]] == [("same", "first memory")]
    for wrong in ({}, {"confirm": "yes"}, {"confirm": name[:-1]}):
        answer = await admin.post(f"{path}/restore", json=wrong)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    started = await admin.post(f"{path}/restore", json={"confirm": name})
    done = await run_job(product, started)
    assert done["safety_backup"].startswith("before-restore-")
    assert await texts(agent) == {"first memory"}
    assert (await admin.get("/api/v1/backups")).json()["undo"] is True
    await run_job(product, await admin.post("/api/v1/restore/undo"))
    assert await texts(agent) == {"first memory", "second memory"}

    sent = await admin.post("/api/v1/backups/upload?name=copy.tar.gz", content=fetched.content)
    assert (sent.status_code, sent.json()["kind"]) == (201, "uploaded")
    again = await admin.post("/api/v1/backups/upload?name=copy.tar.gz", content=fetched.content)
    assert again.status_code == 409
    broken = await admin.post("/api/v1/backups/upload?name=broken.tar.gz", content=fetched.content[:-9])
    assert broken.status_code == 400
    assert "broken.tar.gz" not in (await admin.get("/api/v1/backups")).text


async def test_a_gateway_makes_and_verifies_backups_and_only_the_administrator_restores(
    product: Product,
) -> None:
    _, secret = await product.noesis.tokens.create(Role.GATEWAY, ["*"], "gateway")
    gateway, agent = product.client(secret), await product.agent("alpha")
    for client, may in ((gateway, 202), (agent, 403)):
        assert (await client.post("/api/v1/backups")).status_code == may
        assert (await client.get("/api/v1/backups")).status_code == (200 if may == 202 else 403)
        for path in ("/api/v1/restore/undo", "/api/v1/backups/x.tar.gz/restore"):
            assert (await client.post(path, json={})).status_code == 403
        assert (await client.get("/api/v1/backups/x.tar.gz")).status_code == 403


async def test_a_backup_that_is_not_there_is_404_whatever_it_is_called(product: Product) -> None:
    admin = await product.admin()
    for name in ("none.tar.gz", "..%2f..%2fcontrol.sqlite", "control.sqlite", "%00.tar.gz"):
        assert (await admin.get(f"/api/v1/backups/{name}")).status_code in (400, 404)
        assert (await admin.post(f"/api/v1/backups/{name}/verify")).status_code in (400, 404)
    assert (await admin.post("/api/v1/restore/undo")).status_code == 409


async def test_a_backup_in_the_bucket_is_listed_and_fetched(product: Product) -> None:
    admin = await product.admin()
    assert (await admin.get("/api/v1/backups/bucket")).status_code == 409
    assert (await admin.post("/api/v1/backups/fetch", json={"name": "x.tar.gz"})).status_code == 409
    with serving() as bucket:
        copies = product.noesis.backups.copies
        keys = Keys(KEY_ID, SECRET)
        copies.place = Place(bucket=BUCKET, prefix="p", endpoint=bucket.url, region=REGION, keys=keys)
        made = await run_job(product, await admin.post("/api/v1/backups"))
        name, address = made["name"], f"s3://{BUCKET}/p/{made['name']}"
        listed = (await admin.get("/api/v1/backups")).json()
        assert listed["backups"][0]["places"] == ["here", address]
        assert (listed["bucket"], listed["copy_error"]) == (f"s3://{BUCKET}/p", None)
        product.noesis.backups.shelf.remove(name)
        [only] = (await admin.get("/api/v1/backups")).json()["backups"]
        assert only["places"] == [address]
        assert (await admin.get("/api/v1/backups/bucket")).json()["backups"] == [only]
        for wrong, status in (("../x", 404), ("s3://other/p/x.tar.gz", 400)):
            answer = await admin.post("/api/v1/backups/fetch", json={"name": wrong})
            assert answer.status_code == status
        fetched = await run_job(product, await admin.post("/api/v1/backups/fetch", json={"name": address}))
        assert fetched["name"] == name
        assert (await admin.get(f"/api/v1/backups/{name}")).status_code == 200
        bucket.faults.status = 403
        answer = await admin.get("/api/v1/backups/bucket")
        assert (answer.status_code, answer.json()["code"]) == (502, "bucket")


async def test_a_preview_of_what_cannot_be_restored_says_why_and_one_of_nothing_is_404(
    product: Product, tmp_path: Path
) -> None:
    admin = await product.admin()
    made = await run_job(product, await admin.post("/api/v1/backups"))
    file = product.noesis.backups.shelf.path(made["name"])
    file.write_bytes(file.read_bytes()[:-40] + bytes(40))
    started = await admin.post(f"/api/v1/backups/{made['name']}/restore", json={"preview": True})
    await carry_out(product, started.json()["job_id"])
    answer = await admin.get(f"/api/v1/backups/previews/{started.json()['job_id']}")
    assert (answer.status_code, answer.json()["code"]) == (400, "backup_refused")
    assert "its seal does not fit" in answer.json()["detail"]
    other = await admin.post("/api/v1/verify")
    for job_id in (other.json()["job_id"], "none", "..%2fx"):
        assert (await admin.get(f"/api/v1/backups/previews/{job_id}")).status_code == 404


async def test_the_memories_of_a_look_lie_in_a_file_of_the_owner_and_only_for_an_hour(
    product: Product, clock: Clock
) -> None:
    admin, agent = await product.admin(), await product.agent("alpha")
    await agent.post("/api/v1/memories", json={"text": "first memory"})
    made = await run_job(product, await admin.post("/api/v1/backups"))
    path = f"/api/v1/backups/{made['name']}"
    await look(product, admin, path, {"agent_id": "alpha"})
    [file] = (product.noesis.settings.data_dir / "looks").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    clock.advance(seconds=3599)
    await run_job(product, await admin.post("/api/v1/optimize"))
    assert (await admin.get(f"/api/v1/backups/previews/{file.stem}")).status_code == 200
    clock.advance(seconds=2)
    await run_job(product, await admin.post("/api/v1/optimize"))
    assert not file.exists(), "upkeep sweeps, also when nobody looks again"
    answer = await admin.get(f"/api/v1/backups/previews/{file.stem}")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
