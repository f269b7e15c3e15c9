"""A process that keeps an embedded server: python -m tests.worker.keeper DIRECTORY."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from noesis.redis_server import embedded_redis

ROOT = Path(__file__).parents[2]


def spawn(directory: Path) -> subprocess.Popen[str]:
    """Start it and wait until it has its server."""
    words = [sys.executable, "-m", "tests.worker.keeper", str(directory)]
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("unix://")
    process.stdout.close()
    return process


async def main(directory: str) -> None:
    """Hold the server until killed."""
    async with embedded_redis(Path(directory)) as url:
        print(url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
