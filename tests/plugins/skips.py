"""A test may be skipped only for a reason registered here; any other skip is a failure.

A skip that nobody expects is a test that silently stopped protecting something. Reasons are written
"name: detail" (`pytest.skip("no-mount: mount needs CAP_SYS_ADMIN")`) and only the name is checked.
"""

from collections.abc import Generator

import pytest

ALLOWED = {
    "real-ollama": "needs a real Ollama, named by NOESIS_TEST_OLLAMA_URL",
    "no-ptrace": "the machine does not let this user trace a process",
    "no-weights": "the package that carries a model's weights cannot be had",
    "no-mount": "the machine does not let this user mount file systems",
    "no-cgroup": "the machine does not let this user limit memory",
    "not-root": "needs root, for instance to make a file of another owner",
    "platform": "the rule does not exist on this operating system or processor",
}


def allowed(reason: str) -> bool:
    """Tell whether a skip reason starts with a registered name and a colon."""
    name, colon, _ = reason.removeprefix("Skipped: ").partition(":")
    return bool(colon) and name.strip() in ALLOWED


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = _reason(report)
    if not allowed(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped for a reason that tests/plugins/skips.py does not know: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that skips itself for an unregistered reason."""
    report = yield
    _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail a module that leaves the run as a whole, as `importorskip` does."""
    report = yield
    _refuse(report)
    return report
