"""mem0 without inference: texts are stored as they are, and no language model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mem0 import Memory  # type: ignore[import-not-found]

from bench.peers.adapters.protocol import Text, run

_WIDTH = 384
_USER = "bench"


class Known:
    """Stands where mem0 keeps its embedder, and gives the vectors that came with the texts."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        """The vector of a text that came with one."""
        return self.vectors[text]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """The same for several."""
        return [self.embed(text, memory_action) for text in texts]


class Mem0:
    """The newest memory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._known = Known()
        self._memory: Any = None

    def begin(self, name: str) -> None:
        """Start an empty memory in a directory of its own."""
        place = self._directory / name
        place.mkdir(parents=True)
        store = {"path": str(place / "vectors"), "embedding_model_dims": _WIDTH, "on_disk": True}
        # The default providers want a key at the start; neither is ever called.
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": unused,
                "llm": unused,
                "history_db_path": str(place / "history.db"),
            }
        )
        self._memory.embedding_model = self._known

    def add(self, texts: Sequence[Text]) -> None:
        """One call a text: each is a memory of its own."""
        for text in texts:
            self._known.vectors[text["text"]] = text["vector"]
            self._memory.add(text["text"], user_id=_USER, infer=False, metadata={"given": text["id"]})

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:
        """Its search, the threshold it has by default included."""
        self._known.vectors[text.strip()] = vector
        found = self._memory.search(text, top_k=limit, filters={"user_id": _USER})
        return [hit["metadata"]["given"] for hit in found["results"]]


if __name__ == "__main__":
    run(Mem0, "mem0ai")
