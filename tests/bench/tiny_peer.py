"""A peer that keeps its texts in a list, to try the protocol with: `python -m tests.bench.tiny_peer PLACE`."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers.adapters.protocol import Text, run


class Tiny:
    """Finds by scalar product; some texts make it do what peers do at their worst."""

    def __init__(self, directory: Path) -> None:
        print("a word that is no answer", flush=True)
        if "unwilling" in sys.argv:
            raise RuntimeError("no such luck")
        self._texts: list[Text] = []
        (directory / "started").touch()

    def begin(self, name: str) -> None:
        self._texts = []

    def add(self, texts: Sequence[Text]) -> None:
        self._texts += texts

    def query(self, text: str, vector: list[float], limit: int) -> list[str]:
        if text == "die":
            os._exit(1)
        if text == "fail":
            raise ValueError("nothing is found today")
        if text == "call home":
            socket.create_connection(("192.0.2.1", 80), timeout=1)
        scores = {
            known["id"]: sum(a * b for a, b in zip(known["vector"], vector, strict=True))
            for known in self._texts
        }
        return sorted(scores, key=scores.__getitem__, reverse=True)[:limit]


if __name__ == "__main__":
    run(Tiny, "msgspec")
