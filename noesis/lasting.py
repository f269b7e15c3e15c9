"""What stays for as long as the process runs, and what the collector of cycles therefore passes over."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting() -> Iterator[None]:
    """Collect nothing while modules are imported here, and never again look at what there is at the end.

    The product is some hundred thousand objects, nearly all of them for good: the collector would go through
    them a dozen times while they come, and later in each full collection, during which nothing is answered.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def settle() -> None:
    """The same of what a process has opened and built; once it is about to serve.

    A full collection took 165 ms with 100,000 memories, for which every question waits.
    """
    gc.collect()
    gc.freeze()
