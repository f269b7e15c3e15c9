"""A process that lasts shares two heaps between its threads, and its searches for cycles pass over what lasts."""

from __future__ import annotations

import subprocess
import sys

import pytest

COUNT = """
import ctypes, sys, tempfile, threading
from noesis.heap import bound_heaps
if sys.argv[1] == "bound":
    bound_heaps()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.fopen.restype = ctypes.c_void_p
together = threading.Barrier(6)
def work():
    libc.malloc(1000)
    together.wait()
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with tempfile.NamedTemporaryFile() as told:
    file = ctypes.c_void_p(libc.fopen(told.name.encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
    print(open(told.name).read().count("<heap nr="))
"""

SETTLE = """
import gc
from noesis.heap import settle
kept = [[number] for number in range(50_000)]
settle()
looked_through = {id(each) for each in gc.get_objects()}
new = [["new"]]
assert gc.get_freeze_count() > len(kept)
assert not looked_through & {id(each) for each in kept}
assert id(new) in {id(each) for each in gc.get_objects()}
"""


def heaps(how: str) -> int:
    """How many heaps a process has after six threads allocated at once."""
    done = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="platform: only glibc has several heaps")
def test_threads_share_two_heaps() -> None:
    assert heaps("as ever") > 2
    assert heaps("bound") <= 2


def test_what_is_there_when_a_process_has_settled_is_not_looked_through_again() -> None:
    subprocess.run([sys.executable, "-c", SETTLE], check=True)
