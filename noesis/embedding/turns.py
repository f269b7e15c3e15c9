"""Whose turn it is at something that does one thing at a time: urgent work goes first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock with two queues; nothing ordinary starts while something urgent waits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = False
        self._ordinary_waiting = 0
        self._urgent_waiting = 0

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return self._ordinary_waiting + self._urgent_waiting

    @contextmanager
    def ordinary(self) -> Iterator[None]:
        """Hold the turn once it is free and nothing urgent wants it."""
        with self._changed:
            self._ordinary_waiting += 1
            self._changed.wait_for(lambda: not self._taken and self._urgent_waiting == 0)
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
            self._give_back()

    def _give_back(self) -> None:
        with self._changed:
            self._taken = False
            self._changed.notify_all()
