"""The application itself, for requests that no client library would send."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from litestar import Litestar

from noesis.memory import Role
from tests.support import Product, application


class Secrets(msgspec.Struct, frozen=True):
    """A token of each role; the gateway's is for any agent."""

    agent: str
    gateway: str
    admin: str


@pytest.fixture
def app(product: Product) -> Iterator[Litestar]:
    """A second application around the product's runtime."""
    with application(product.noesis) as built:
        yield built


@pytest.fixture
async def secrets(product: Product) -> Secrets:
    tokens = product.noesis.tokens
    _, agent = await tokens.create(Role.AGENT, ["alpha"], "agent")
    _, gateway = await tokens.create(Role.GATEWAY, ["*"], "gateway")
    _, admin = await tokens.create(Role.ADMIN, [], "admin")
    return Secrets(agent, gateway, admin)
