"""A store of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from noesis.store import Store
from tests.support import NOW


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await Store.open(tmp_path / "store", now_ms=lambda: NOW)
    yield opened
    await opened.close()
