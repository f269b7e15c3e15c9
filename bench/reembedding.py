"""A switch to another embedder, and how much of its time the embedder itself takes.

Run it with `python -m bench.reembedding --rows 5000`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.sample import Sample
from bench.seeding import seed
from bench.tables import machine, markdown
from noesis.embedding import EmbeddingFailure, Vector
from noesis.embedding.local import LocalEmbedder
from noesis.runtime import open_runtime
from noesis.settings import load


class Timed(LocalEmbedder):
    """The local embedder, and how long it took for documents (s) since `seconds` was last set to 0."""

    seconds = 0.0

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailure]:
        """The vectors."""
        began = time.perf_counter()
        try:
            return await super().embed_documents(texts)
        finally:
            self.seconds += time.perf_counter() - began


async def measure(folder: Path, rows: int) -> str:
    """The figures; the embedder's own time is taken inside the switch, so that a busy machine slows both."""
    settings = load({"NOESIS_DATA": str(folder / "data")})
    embedder = Timed()
    async with open_runtime(settings, embedder=embedder) as noesis:
        await seed(noesis, Sample(rows))
        await embedder.embed_documents(["warm up"])
        embedder.seconds = 0.0
        began = time.perf_counter()
        done = await noesis.reembedding.run(
            made_for="bench", force=True, tell=lambda _done, _total: None, cancelled=lambda: False
        )
        took = time.perf_counter() - began
    own = embedder.seconds
    figures = [
        ("the embedder itself", f"{own:.1f}", f"{done.embedded / own:.1f}"),
        (
            "the whole switch: embedded, laid out, indexed, compared, swapped",
            f"{took:.1f}",
            f"{done.embedded / took:.1f}",
        ),
    ]
    return "\n\n".join(
        [
            f"{rows:,} rows, {done.embedded:,} texts, {done.model} ({done.dimension} dimensions); {machine()}",
            markdown(("what", "s", "texts/s"), figures),
            f"The switch runs at {own / took:.1%} of the embedder's own rate.",
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(asyncio.run(measure(Path(folder), wanted.rows)))


if __name__ == "__main__":
    main()
