"""Fill a store with generated memories and their vectors, through the product's own writer."""

from __future__ import annotations

from collections.abc import Sequence

from bench.sample import Sample
from noesis.errors import NoesisError
from noesis.indexing import prepare
from noesis.redacting import Redactor
from noesis.rows import to_rows, with_embeddings
from noesis.runtime import Noesis
from noesis.store import Row, View
from noesis.text.chunking import Chunk

AGENT = "bench"
OTHER_AGENTS = ("other", "third", "fourth")
"""Have every fourth memory between them, so that the filter by agent has something to leave out."""

_BATCH = 4000


class PutRows:
    """Puts finished memories of one row each into the active table."""

    memory_ids: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def apply(self, view: View) -> None:
        """All are new: nothing is looked up."""
        for row in self._rows:
            view.put_active([row])


async def seed(noesis: Noesis, sample: Sample) -> None:
    """Store the sample and let the upkeep index it.  Raises a StoreError or an EmbedderError."""
    identity = await noesis.embedder.identity()
    if not await noesis.store.adopt(identity):
        raise NoesisError("The store holds vectors of another embedder.")
    start = 0
    for vectors in sample.vectors(identity.dimension, _BATCH):
        indexes = range(start, start + len(vectors))
        rows = [row for index in indexes for row in _rows(noesis, sample, index)]
        await noesis.store.submit(PutRows(with_embeddings(rows, list(vectors), noesis.now_ms())))
        start += len(vectors)
    await noesis.store.maintain(force=True)


def _rows(noesis: Noesis, sample: Sample, index: int) -> list[Row]:
    agent = AGENT if index % 4 else OTHER_AGENTS[index // 4 % len(OTHER_AGENTS)]
    memory = prepare(
        agent, sample.memory(index), noesis.settings.default_ttl_days, Redactor("redact"), noesis.now_ms()
    )
    return to_rows(memory, [Chunk(memory.text, 0, len(memory.text))])
