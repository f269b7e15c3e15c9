"""Whose turn it is at something that does one thing at a time: urgent work goes first."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE_S = 0.2
"""Twice as long as a search goes on, on the same cores, once its question has its vector.  Beside an agent that
writes without a pause, searches of another took 2.0 times as long (p95) with half of it, and now 1.7 times."""

_CALM_AFTER_S = 1.0


class Turns:
    """A lock with two queues; nothing ordinary starts while something urgent waits.

    Nor does what is `patient` within `pause_s` after something urgent, but for that it waits only once.
    """

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        self._pause_s = pause_s
        self._changed = threading.Condition()
        self._urgent_ended = -math.inf
        self._taken = False
        self._ordinary_waiting = 0
        self._urgent_waiting = 0

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return self._ordinary_waiting + self._urgent_waiting

    @property
    def is_calm(self) -> bool:
        """Whether nothing urgent came in the last second."""
        return time.monotonic() - self._urgent_ended > _CALM_AFTER_S

    @contextmanager
    def ordinary(self, *, patient: bool = False) -> Iterator[None]:
        """Hold the turn once it is free and nothing urgent wants it."""
        with self._changed:
            self._ordinary_waiting += 1
            self._changed.wait_for(self._is_free)
            pause = self._urgent_ended + self._pause_s - time.monotonic()
            if patient and pause > 0:
                self._changed.wait_for(lambda: False, pause)
                self._changed.wait_for(self._is_free)
            self._ordinary_waiting -= 1
            self._taken = True
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def urgent(self) -> Iterator[None]:
        """Hold the turn as soon as its present holder is done."""
        with self._changed:
            self._urgent_waiting += 1
            self._changed.wait_for(lambda: not self._taken)
            self._urgent_waiting -= 1
            self._taken = True
        try:
            yield
        finally:
            self._urgent_ended = time.monotonic()
            self._give_back()

    def _is_free(self) -> bool:
        return not self._taken and self._urgent_waiting == 0

    def _give_back(self) -> None:
        with self._changed:
            self._taken = False
            self._changed.notify_all()
