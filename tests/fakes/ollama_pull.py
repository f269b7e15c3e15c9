"""The lines of a pull, as the real one streams them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from tests.fakes.ollama_faults import FakeModel, Faults

SMALL_LAYER = 11_357
REGISTRY = "registry.example"


async def pull_lines(
    name: str, model: FakeModel | None, faults: Faults, installed: Callable[[], None]
) -> AsyncIterator[bytes]:
    """NDJSON; errors come as a line, since the status of 200 has been sent by then."""
    yield _line({"status": "pulling manifest"})
    if faults.pull == "offline":
        reach = f'Get "https://{REGISTRY}/v2/library/{name}/manifests/latest": dial tcp: lookup {REGISTRY}: no such host'
        yield _line({"error": f"pull model manifest: {reach}"})
        return
    if model is None or faults.pull == "unknown":
        yield _line({"error": "pull model manifest: file does not exist"})
        return
    for digest, size in ((model.digest, model.size), ("c71d239df917" + "0" * 52, SMALL_LAYER)):
        about = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": size}
        yield _line(about)  # a `completed` of zero is left out
        for step in range(1, faults.pull_steps + 1):
            await asyncio.sleep(faults.pull_step_s)
            yield _line({**about, "completed": size * step // faults.pull_steps})
            if step == faults.pull_steps // 2 and faults.pull:
                async for line in _broken(about, faults.pull):
                    yield line
                return
    for status in ("verifying sha256 digest", "writing manifest"):
        yield _line({"status": status})
    installed()
    yield _line({"status": "success"})


async def _broken(about: dict[str, Any], how: str) -> AsyncIterator[bytes]:
    if how == "disk_full":
        yield _line({"error": "write /root/.ollama/models/blobs/sha256-partial: no space left on device"})
    elif how == "stall":
        await asyncio.sleep(3600)
    elif how == "repeat":
        while True:
            await asyncio.sleep(0.01)
            yield _line(about)


def _line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"
