"""Who may know of a job: its result can tell how many memories another agent has, and which."""

from __future__ import annotations

from noesis.memory import Role
from tests.support import Product


async def test_a_gateway_sees_the_jobs_of_the_agent_it_acts_as(product: Product) -> None:
    noesis = product.noesis
    own = await noesis.jobs.enqueue("cleanup", key="a", args={"agent": "alpha", "confirm": False})
    other = await noesis.jobs.enqueue("dedup", key="b", args={"agent": "beta"})
    everybody = await noesis.jobs.enqueue("cleanup", key="c", args={"agent": None, "confirm": False})
    backup = await noesis.jobs.enqueue("backup", key="backup")
    _, secret = await noesis.tokens.create(Role.GATEWAY, ["alpha"], "gateway")
    client = product.client()
    client.headers.update({"authorization": f"Bearer {secret}", "x-noesis-agent": "alpha"})
    listed = {job["id"] for job in (await client.get("/api/v1/jobs")).json()["jobs"]}
    assert listed == {own.id, backup.id}
    for job, status in ((own, 200), (backup, 200), (other, 404), (everybody, 404)):
        assert (await client.get(f"/api/v1/jobs/{job.id}")).status_code == status
    hidden, absent = [
        (await client.get(f"/api/v1/jobs/{job_id}")).json()["detail"] for job_id in (other.id, "none")
    ]
    assert hidden == absent
    _, secret = await noesis.tokens.create(Role.ADMIN, [], "admin")
    client.headers["authorization"] = f"Bearer {secret}"
    assert len((await client.get("/api/v1/jobs")).json()["jobs"]) == 4
