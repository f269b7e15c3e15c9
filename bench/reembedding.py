"""A switch to another embedder beside the embedder alone on the same texts, in one run.

Run it with `python -m bench.reembedding --rows 2000`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from bench.sample import Sample
from bench.seeding import seed
from bench.tables import machine, markdown
from noesis.reembedding.texts import BATCH
from noesis.rows import vector_text
from noesis.runtime import Noesis, open_runtime
from noesis.settings import load
from noesis.store.filters import EVERYTHING


async def alone(noesis: Noesis, texts: list[str]) -> float:
    """Seconds that the embedder takes for the texts, in batches as large as the switch's and in its order."""
    began = time.perf_counter()
    for start in range(0, len(texts), BATCH):
        await noesis.embedder.embed_documents(texts[start : start + BATCH])
    return time.perf_counter() - began


async def measure(folder: Path, rows: int, embedder: str) -> str:
    """The table of figures: the embedder alone before and after, and the whole switch between them."""
    settings = load({"NOESIS_DATA": str(folder / "data"), "NOESIS_EMBEDDER": embedder})
    async with open_runtime(settings) as noesis:
        await seed(noesis, Sample(rows))
        texts = [vector_text(row) for row in await noesis.store.active.rows(EVERYTHING, vectors=False)]
        # The embedder sorts what it is given by length, and so does the switch: within 512 texts.
        ordered = [
            text for start in range(0, rows, 512) for text in sorted(texts[start : start + 512], key=len)
        ]
        await noesis.embedder.embed_documents(ordered[:BATCH])
        before = await alone(noesis, ordered)
        began = time.perf_counter()
        done = await noesis.reembedding.run(
            made_for="bench", force=True, tell=lambda _done, _total: None, cancelled=lambda: False
        )
        took = time.perf_counter() - began
        after = await alone(noesis, ordered)
    own = (before + after) / 2
    figures = [
        ("the embedder alone, before", f"{before:.1f}", f"{rows / before:.1f}"),
        ("the whole switch: laid out, indexed, compared, swapped", f"{took:.1f}", f"{rows / took:.1f}"),
        ("the embedder alone, after", f"{after:.1f}", f"{rows / after:.1f}"),
    ]
    return "\n\n".join(
        [
            f"{rows:,} rows, {done.model} ({done.dimension} dimensions); {machine()}",
            markdown(("what", "s", "texts/s"), figures),
            f"The switch runs at {own / took:.0%} of the embedder's own rate.",
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--embedder", default="local", help="as NOESIS_EMBEDDER")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(asyncio.run(measure(Path(folder), wanted.rows, wanted.embedder)))


if __name__ == "__main__":
    main()
