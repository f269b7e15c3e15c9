"""Fixtures for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import Clock, Product, WordEmbedder, running

pytest_plugins = ["tests.plugins.skips", "tests.plugins.stages"]


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
