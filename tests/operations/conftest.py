"""Clients of two agents and of the administrator."""

from __future__ import annotations

import httpx
import pytest

from tests.support import Product


@pytest.fixture
async def alpha(product: Product) -> httpx.AsyncClient:
    return await product.agent("alpha")


@pytest.fixture
async def beta(product: Product) -> httpx.AsyncClient:
    return await product.agent("beta")


@pytest.fixture
async def admin(product: Product) -> httpx.AsyncClient:
    return await product.admin()
