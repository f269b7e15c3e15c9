"""What lasts is not looked through again by the collector of cycles."""

from __future__ import annotations

import subprocess
import sys

SETTLE = """
import gc
from noesis.lasting import settle
kept = [[number] for number in range(50_000)]
settle()
looked_through = {id(each) for each in gc.get_objects()}
new = [["new"]]
assert gc.get_freeze_count() > len(kept)
assert not looked_through & {id(each) for each in kept}
assert id(new) in {id(each) for each in gc.get_objects()}
"""


def test_what_is_there_when_a_process_has_settled_is_not_looked_through_again() -> None:
    subprocess.run([sys.executable, "-c", SETTLE], check=True)
