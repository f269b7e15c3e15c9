"""mcp-memory-service on its default store, by its default search or, when so told, its hybrid one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.adapters.extensions import allow_extensions
from bench.peers.adapters.protocol import Text, run


class Known:
    """Stands where the service keeps its model, and gives the vectors that came with the texts."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def encode(self, texts: list[str], **_: Any) -> list[list[float]]:
        """The vectors of texts that came with one."""
        return [self.vectors[text] for text in texts]


class McpMemory:
    """The newest store."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._hybrid = "hybrid" in sys.argv[2:]
        self._known = Known()
        self._loop = asyncio.new_event_loop()
        self._storage: Any = None

    def begin(self, name: str) -> None:
        """Start an empty database."""
        from mcp_memory_service.storage.sqlite_vec import (  # type: ignore[import-not-found]
            SqliteVecMemoryStorage,
        )

        known = self._known

        class Storage(SqliteVecMemoryStorage):  # type: ignore[misc]
            async def _initialize_embedding_model(self) -> None:
                self.embedding_model = known

        self._storage = Storage(str(self._directory / f"{name}.db"))
        self._loop.run_until_complete(self._storage.initialize())

    def add(self, texts: Sequence[Text]) -> None:
        """One call a text; it refuses what it holds already."""
        self._loop.run_until_complete(self._add(texts))

    async def _add(self, texts: Sequence[Text]) -> None:
        from mcp_memory_service.models.memory import Memory  # type: ignore[import-not-found]
        from mcp_memory_service.utils.hashing import generate_content_hash  # type: ignore[import-not-found]

        for text in texts:
            content = text["text"]
            self._known.vectors[content] = text["vector"]
            await self._storage.store(
                Memory(
                    content=content,
                    content_hash=generate_content_hash(content),
                    metadata={"given": text["id"]},
                    created_at=text["created_at"],
                )
            )

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:
        """Its search."""
        self._known.vectors[text] = vector
        search = self._storage.retrieve_hybrid if self._hybrid else self._storage.retrieve
        found = self._loop.run_until_complete(search(text, n_results=limit))
        return [result.memory.metadata["given"] for result in found]


if __name__ == "__main__":
    allow_extensions()
    run(McpMemory, "mcp-memory-service")
