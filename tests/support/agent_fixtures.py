"""An agent at the service that a module's tests share, and the catalog that it searches."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.agent import Agent
from support.paid_gateway import PaidGateway


@pytest.fixture
async def agent(shared_shop: PaidGateway) -> Agent:
    """An agent at the service with the gateway."""
    return Agent(shared_shop.client)


@pytest.fixture
async def catalog(shared_shop: PaidGateway, module_database: str) -> AsyncIterator[Database]:
    """The service's database."""
    del shared_shop
    async with Database(Secret(module_database), connections=1) as database:
        yield database
