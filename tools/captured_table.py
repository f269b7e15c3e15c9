"""Writes the table of docs/capture.md: what the sample transcripts leave behind, and what is left out and why.

usage: python -m tools.captured_table [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from noesis.sources.agent_database import read_database
from noesis.sources.lines import Skipped
from noesis.sources.transcripts import read_file
from noesis.text.capture import captured
from noesis.text.normalise import clean_text
from noesis.text.redaction import redact
from noesis.text.suspicion import reasons_to_look
from noesis.text.turn_text import noise_of, turn_text
from noesis.turns import Turn

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "tests" / "data" / "openclaw"
DOCUMENT = ROOT / "docs" / "capture.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

_SHOWN_CHARS = 60


def turns() -> Iterator[tuple[str, Turn]]:
    """Every turn of the samples with its file's name."""
    for path in sorted(SAMPLES.iterdir()):
        if path.suffix == ".sqlite":
            items: list[Turn | Skipped] = list(read_database(path))
        else:
            with path.open("rb") as file:
                items = list(read_file(file, path.stat(), path.name))
        yield from ((path.name, item) for item in items if isinstance(item, Turn))


def line(name: str, turn: Turn) -> str:
    """One row of the table."""
    noise = noise_of(turn)
    if noise is not None:
        stored = f"nothing: {noise}"
    else:
        pieces = captured(turn).pieces
        whole = any(piece.text == turn_text(turn.text) for piece in pieces)
        kinds = ([] if whole else ["session"]) + [
            f"{each.memory_type.value} ({each.rule})" for each in pieces
        ]
        stored = ", ".join(kinds)
        reasons = reasons_to_look(turn.text, redact(clean_text(turn.text), "redact").counts)
        if reasons:
            stored += f"; waits in the inbox: {', '.join(reasons)}"
    return f"| {name} | {turn.role} | {shown(turn.text)} | {stored} |"


def shown(text: str) -> str:
    """The beginning of a text as a cell."""
    flat = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return flat if len(flat) <= _SHOWN_CHARS else flat[:_SHOWN_CHARS] + "…"


def table() -> str:
    """The whole table."""
    head = ["| sample | role | turn | memory |", "|---|---|---|---|"]
    return "\n".join(head + [line(name, turn) for name, turn in turns()])


def main() -> int:
    """Write the document, or say whether it is true (`--check`)."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    new = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if "--check" in sys.argv:
        return int(new != text)
    DOCUMENT.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
