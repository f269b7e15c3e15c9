"""Results as text: Markdown tables, and what the machine was doing meanwhile."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are figures."""
    line = "|" + "|".join(["---", *["---:"] * (len(headings) - 1)]) + "|"
    return "\n".join([_row(headings), line, *(_row(row) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def machine() -> str:
    """The machine in a line; a load above the number of cores means that others were working too."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    return f"{cores} cores, {platform.machine()}, Python {platform.python_version()}, load {load:.1f}"
