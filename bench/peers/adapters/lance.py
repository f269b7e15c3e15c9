"""LanceDB's own hybrid search: vectors, its full-text index, its reciprocal rank fusion, all by default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lancedb
from lancedb.rerankers import RRFReranker

from bench.peers.adapters.protocol import Text, run


class Lance:
    """The newest table."""

    def __init__(self, directory: Path) -> None:
        self._database = lancedb.connect(directory)
        self._name = ""
        self._table: Any = None

    def begin(self, name: str) -> None:
        """Name the next table; its first rows tell its columns."""
        self._name = name

    def add(self, texts: Sequence[Text]) -> None:
        """Store them in one call, then index the words."""
        rows = [{name: text[name] for name in ("id", "text", "vector")} for text in texts]
        self._table = self._database.create_table(self._name, rows)
        self._table.create_fts_index("text")

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:
        """Both kinds of search, fused by LanceDB."""
        search = self._table.search(query_type="hybrid").vector(vector).text(text)
        found = search.rerank(RRFReranker()).limit(limit).to_arrow()
        return [str(item) for item in found.column("id").to_pylist()]


if __name__ == "__main__":
    run(Lance, "lancedb")
