"""Damage to the files of a store, as a disk does it."""

from __future__ import annotations

from pathlib import Path


def damage_text(generation: Path, text: str) -> None:
    """Let a letter of a stored text be another one wherever it lies; the files stay the same files."""
    found = 0
    for path in (generation / "memories.lance" / "data").iterdir():
        content = bytearray(path.read_bytes())
        at = content.find(text.encode())
        while at >= 0:
            found += 1
            content[at + 1] ^= 1
            at = content.find(text.encode(), at + 1)
        with path.open("r+b") as file:
            file.write(content)
    assert found, f"{text} is in no file"
