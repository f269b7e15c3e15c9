"""The switch as people meet it: in the report of health, by its route, as a job and as a command."""

from __future__ import annotations

from pathlib import Path

from noesis.worker.handlers import JobContext
from noesis.worker.reembedding import reembed, say_if_needed
from tests.reembedding.machine import fill, rows
from tests.support import WordEmbedder, running


async def test_health_says_that_a_switch_is_needed_and_how_it_is_made(tmp_path: Path) -> None:
    """Also right after the start, before anybody has searched."""
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
        assert {part.name: part.state for part in (await first.noesis.health.report()).parts}[
            "embedder"
        ] == "ok"
    async with running(tmp_path / "d", embedder=WordEmbedder(32, "other")) as second:
        parts = {part.name: part for part in (await second.noesis.health.report()).parts}
        assert parts["embedder"].state == "degraded"
        assert "words (64 dimensions), the embedder is other (32)" in parts["embedder"].summary
        assert "noesis reembed" in parts["embedder"].what_to_do
        await say_if_needed(second.noesis)
        told = await second.noesis.activity.list(limit=1)
        assert "noesis reembed" in told.events[0].summary


async def test_the_route_starts_the_job_and_the_job_makes_the_switch(tmp_path: Path) -> None:
    async with running(tmp_path / "d") as first:
        await fill(first.noesis, range(3))
        admin = await first.admin()
        refused = await admin.post("/api/v1/reembed", json={})
        assert refused.status_code == 409
        assert "nothing to switch" in refused.json()["detail"]
    async with running(tmp_path / "d", embedder=WordEmbedder(32, "other")) as second:
        admin = await second.admin()
        standing = (await admin.get("/api/v1/reembed")).json()
        assert (standing["needed"], standing["rows"], standing["ready"]) == (True, 3, 0)
        answer = await admin.post("/api/v1/reembed", json={})
        assert answer.status_code == 202
        job = await second.noesis.jobs.get(answer.json()["job_id"])
        context = JobContext(second.noesis, job)
        done = await reembed(context, **job.args)
        assert (done["rows"], done["model"]) == (3, "other")
        assert (context.beat.done, context.beat.total) == (3, 3)
        # A worker that died before it could tell runs the job again.
        assert (await reembed(context, **job.args))["generation"] == done["generation"]
        assert {
            len(row.vector) for row in (await rows(second.noesis)).values() if row.vector is not None
        } == {32}
        assert (await admin.get("/api/v1/reembed")).json()["needed"] is False
        undo = await admin.post("/api/v1/restore/undo")
        assert undo.status_code == 202
