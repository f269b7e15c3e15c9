"""Fixtures for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.lasting import pytest_collection_finish  # noqa: F401 - a hook; before what takes long to import
from tests.support import Clock, Product, WordEmbedder, running

pytest_plugins = ["tests.plugins.skips", "tests.plugins.stages", "tests.plugins.sharing"]


# The same examples every time, so that a run that was green stays green;
# `pytest --hypothesis-profile=default` looks for new ones.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile("fixed")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
async def product(tmp_path: Path, embedder: WordEmbedder, clock: Clock) -> AsyncIterator[Product]:
    async with running(tmp_path, embedder=embedder, clock=clock) as opened:
        yield opened
