"""The suite's own guard: a skip nobody registered fails the run, and workers share the tests as they should."""

from pathlib import Path

import pytest

from tests.plugins import skips

pytest_plugins = "pytester"

ROOT = Path(__file__).resolve().parents[1]


def outcomes_of(pytester: pytest.Pytester, source: str) -> dict[str, int]:
    pytester.makepyfile(source)
    return pytester.runpytest("-p", "no:asyncio", plugins=[skips]).parseoutcomes()


def test_an_unregistered_skip_is_a_failure(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\ndef test_a():\n    pytest.skip('no network')\n"
    assert outcomes_of(pytester, source) == {"failed": 1}


def test_a_registered_skip_stays_a_skip(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\ndef test_a():\n    pytest.skip('no-mount: not allowed here')\n"
    assert outcomes_of(pytester, source) == {"skipped": 1}


def test_a_skip_mark_is_held_to_the_same_rule(pytester: pytest.Pytester) -> None:
    source = (
        "import pytest\n\n"
        "@pytest.mark.skip(reason='later')\ndef test_a(): ...\n\n"
        "@pytest.mark.skipif(True, reason='platform: Linux only')\ndef test_b(): ...\n"
    )
    assert outcomes_of(pytester, source) == {"errors": 1, "skipped": 1}  # a mark skips at set-up


def test_a_module_cannot_leave_the_run_unnoticed(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\npytest.importorskip('no_such_module_anywhere')\n\ndef test_a(): ...\n"
    assert outcomes_of(pytester, source) == {"errors": 1}


def test_an_expected_failure_is_not_a_skip(pytester: pytest.Pytester) -> None:
    source = "import pytest\n\n@pytest.mark.xfail\ndef test_a():\n    assert False\n"
    assert outcomes_of(pytester, source) == {"xfailed": 1}


@pytest.mark.parametrize("name", sorted(skips.ALLOWED))
def test_a_reason_needs_its_colon(name: str) -> None:
    assert skips.allowed(f"Skipped: {name}: because")
    assert not skips.allowed(f"Skipped: {name} because")
    assert not skips.allowed(f"x{name}: because")


def plugins_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pytest beside this one finds our plugins, and none of those that are installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def test_workers_keep_to_the_rule(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    plugins_from_here(monkeypatch)
    source = "import pytest\n\ndef test_a():\n    pytest.skip('no network')\n\ndef test_b(): ...\n"
    pytester.makepyfile(source)
    ran = pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "-p", "tests.plugins.skips")
    assert ran.parseoutcomes() == {"failed": 1, "passed": 1}


def test_workers_begin_with_the_long_stages(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins_from_here(monkeypatch)
    pytester.makeini("[pytest]\nmarkers = integration\n")
    long = "import pytest\n\n@pytest.mark.integration\ndef test_z(): ...\n"
    pytester.makepyfile(test_a="def test_a(): ...\n", test_z=long)
    plugins = ("-p", "tests.plugins.stages", "-p", "tests.plugins.sharing")
    ran = pytester.runpytest_subprocess("-v", "-p", "xdist", "-n", "1", "--dist", "loadfile", *plugins)
    ran.stdout.fnmatch_lines(["*PASSED*test_z*", "*PASSED*test_a*", "*time by stage*", "*2 passed*"])
