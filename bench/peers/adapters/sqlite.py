"""sqlite-vec beside SQLite's FTS5 (porter stems), both rankings fused by reciprocal ranks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlite_vec  # type: ignore[import-not-found]

from bench.peers.adapters.extensions import allow_extensions
from bench.peers.adapters.fusion import fused
from bench.peers.adapters.protocol import Text, run

_DEPTH = 50
"""So many of each ranking are fused."""


class Sqlite:
    """The newest database."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._database: Any = None

    def begin(self, name: str) -> None:
        """Start an empty database."""
        import sqlite3

        self._database = sqlite3.connect(self._directory / f"{name}.db")
        self._database.enable_load_extension(True)
        sqlite_vec.load(self._database)
        self._database.execute("CREATE TABLE texts (number INTEGER PRIMARY KEY, id TEXT, text TEXT)")
        self._database.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='porter unicode61')")

    def add(self, texts: Sequence[Text]) -> None:
        """Store them in one transaction."""
        width = len(texts[0]["vector"])
        column = f"embedding float[{width}] distance_metric=cosine"
        self._database.execute(f"CREATE VIRTUAL TABLE vectors USING vec0({column})")
        rows = list(enumerate(texts, 1))
        self._many("INSERT INTO texts VALUES (?, ?, ?)", [(at, row["id"], row["text"]) for at, row in rows])
        self._many("INSERT INTO words (rowid, text) VALUES (?, ?)", [(at, row["text"]) for at, row in rows])
        packed = [(at, json.dumps(row["vector"])) for at, row in rows]
        self._many("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", packed)
        self._database.commit()

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:
        """Both rankings, fused."""
        by_meaning = self._ids(
            "SELECT id FROM (SELECT rowid, distance FROM vectors WHERE embedding MATCH ? AND k = ?) AS near"
            " JOIN texts ON number = near.rowid ORDER BY distance",
            (json.dumps(vector), _DEPTH),
        )
        # Quoted words, any of which will do: a question's own marks would be taken for operators.
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        by_words = self._ids(
            "SELECT id FROM words JOIN texts ON number = words.rowid WHERE words MATCH ?"
            " ORDER BY bm25(words) LIMIT ?",
            (words, _DEPTH),
        )
        return fused([by_meaning, by_words], limit)

    def _many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._database.executemany(statement, rows)

    def _ids(self, statement: str, values: tuple[Any, ...]) -> list[str]:
        return [row[0] for row in self._database.execute(statement, values)]


if __name__ == "__main__":
    allow_extensions()
    run(Sqlite, "sqlite-vec")
