"""Prints how long each stage of the run took, above pytest's own last line.

Workers run beside each other, so that the stages of their tests may add up to more than all took together.
"""

import os
import time
from collections import defaultdict
from collections.abc import Container

import pytest

# The first of these that marks a test names its stage; a test without any is a unit test.
KINDS = ("torture", "plugin", "browser", "integration", "real_ollama")


def kind_of(keywords: Container[str]) -> str:
    """Tell the stage of a test by its keywords."""
    return next((kind for kind in KINDS if kind in keywords), "unit")


class StageClock:
    """Adds up the time of the tests of each kind, set-up and tear-down included."""

    def __init__(self, before: str) -> None:
        pairs = (pair.partition("=") for pair in before.split())
        self._before = {name: float(seconds) for name, _, seconds in pairs}
        self._seconds: dict[str, float] = defaultdict(float)
        self._tests: dict[str, set[str]] = defaultdict(set)
        self._began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take one report: a test gives three, for set-up, call and tear-down."""
        kind = kind_of(report.keywords)
        self._seconds[kind] += report.duration
        self._tests[kind].add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the table."""
        terminalreporter.section("time by stage")
        for name, seconds in self._before.items():
            terminalreporter.write_line(f"{name:<12} {seconds:8.1f} s")
        for name, seconds in sorted(self._seconds.items()):
            terminalreporter.write_line(f"{name:<12} {seconds:8.1f} s  {len(self._tests[name])} tests")
        total = sum(self._before.values()) + time.monotonic() - self._began
        terminalreporter.write_line(f"{'together':<12} {total:8.1f} s")


def pytest_configure(config: pytest.Config) -> None:
    """Start the clock; tools/test says in STAGE_SECONDS what went before."""
    config.pluginmanager.register(StageClock(os.environ.get("STAGE_SECONDS", "")), "stage-clock")
