"""Stop asking what does not answer: after a few failures, one probe per interval."""

from __future__ import annotations

from collections.abc import Callable


class CircuitBreaker:
    """Counts consecutive failures; open after `threshold`, then lets one probe per `interval_s` by.

    A probe that succeeds only half closes it: the next failure of a real call opens it again.
    """

    def __init__(self, clock: Callable[[], float], *, threshold: int = 3, interval_s: float = 10.0) -> None:
        self._clock = clock
        self._threshold = threshold
        self._interval_s = interval_s
        self._failures = 0
        self._next_probe = 0.0

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._failures >= self._threshold

    def claim_probe(self) -> bool:
        """Whether the caller may probe now; nobody else may for the next interval."""
        if self._clock() < self._next_probe:
            return False
        self._next_probe = self._clock() + self._interval_s
        return True

    def failed(self) -> None:
        """A call got no answer."""
        self._failures += 1
        if self._failures == self._threshold:
            self._next_probe = self._clock() + self._interval_s

    def succeeded(self) -> None:
        """A real call was answered."""
        self._failures = 0

    def probe_succeeded(self) -> None:
        """Somebody is there again, though whether it works is still to be seen."""
        self._failures = min(self._failures, self._threshold - 1)
