"""Spares the collector of cycles what lasts for the whole run: modules and tests, some million objects."""

import gc

import pytest

gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Collect again from here on, but only what the tests themselves make."""
    gc.freeze()
    gc.enable()
