"""Documents that are written from the code say what the code does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_of_captured_samples_is_true() -> None:
    command = [sys.executable, "-m", "tools.captured_table", "--check"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
