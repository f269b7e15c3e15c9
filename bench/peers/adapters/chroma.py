"""chromadb: a persistent client, one collection a conversation, its defaults throughout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]

from bench.peers.adapters.protocol import Text, run


class Chroma:
    """The newest collection."""

    def __init__(self, directory: Path) -> None:
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(directory), settings=settings)
        self._collection: Any = None

    def begin(self, name: str) -> None:
        """Start an empty collection."""
        self._collection = self._client.create_collection(name, embedding_function=None)

    def add(self, texts: Sequence[Text]) -> None:
        """Store them in one call."""
        self._collection.add(
            ids=[text["id"] for text in texts],
            documents=[text["text"] for text in texts],
            embeddings=[text["vector"] for text in texts],
        )

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:  # noqa: ARG002
        """By vector, the only kind of search a local collection ranks by."""
        found = self._collection.query(query_embeddings=[vector], n_results=limit)
        return list(found["ids"][0])


if __name__ == "__main__":
    run(Chroma, "chromadb")
