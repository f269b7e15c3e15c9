"""qdrant-client in local mode: vectors with cosine distance, in a directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qdrant_client import QdrantClient  # type: ignore[import-not-found]
from qdrant_client.models import Distance, PointStruct, VectorParams  # type: ignore[import-not-found]

from bench.peers.adapters.protocol import Text, run


class Qdrant:
    """The newest collection."""

    def __init__(self, directory: Path) -> None:
        self._client = QdrantClient(path=str(directory))
        self._name = ""

    def begin(self, name: str) -> None:
        """Name the next collection; the first text tells its width."""
        self._name = name

    def add(self, texts: Sequence[Text]) -> None:
        """Store them in one call."""
        parameters = VectorParams(size=len(texts[0]["vector"]), distance=Distance.COSINE)
        self._client.create_collection(self._name, vectors_config=parameters)
        points = [
            PointStruct(id=number, vector=text["vector"], payload={"id": text["id"], "text": text["text"]})
            for number, text in enumerate(texts)
        ]
        self._client.upsert(self._name, points)

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:  # noqa: ARG002
        """By vector."""
        found = self._client.query_points(self._name, query=vector, limit=limit)
        return [point.payload["id"] for point in found.points]


if __name__ == "__main__":
    run(Qdrant, "qdrant-client")
