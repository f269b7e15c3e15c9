"""A process that lasts shares two heaps between its threads."""

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


def heaps(how: str) -> int:
    """How many heaps a process has after six threads allocated at once."""
    done = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="platform: only glibc has several heaps")
def test_threads_share_two_heaps() -> None:
    assert heaps("as ever") > 2
    assert heaps("bound") <= 2
