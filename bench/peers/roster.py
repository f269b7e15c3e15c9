"""The peers that are measured, and where each one's parts are."""

from __future__ import annotations

from pathlib import Path

import msgspec

_PINS = Path(__file__).parent / "pins"


class Peer(msgspec.Struct, frozen=True):
    """A line of the table: `name` is the package's, `how` the way it is asked.

    `adapter` is a module of `bench.peers.adapters`, started with `words`.
    """

    name: str
    how: str
    adapter: str
    words: tuple[str, ...] = ()

    @property
    def pins(self) -> Path:
        """Every package of its environment, with its version."""
        return _PINS / f"{self.adapter}.txt"


PEERS = (
    Peer("chromadb", "vectors", "chroma"),
    Peer("qdrant-client", "local mode, vectors", "qdrant"),
    Peer("sqlite-vec", "and FTS5, RRF", "sqlite"),
    Peer("lancedb", "hybrid, its RRF", "lance"),
    Peer("mem0ai", "without inference", "mem0_raw"),
    Peer("mcp-memory-service", "default search", "mcp_memory"),
    Peer("mcp-memory-service", "hybrid search", "mcp_memory", ("hybrid",)),
)
