"""Two replicas that the tests of this folder share."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import replica

Replicas = tuple[AsgiClient, AsgiClient]


@pytest.fixture(scope="module")
async def shared_replicas(postgres_url: Secret[str]) -> AsyncIterator[Replicas]:
    async with replica(postgres_url) as one, replica(postgres_url) as other:
        yield one, other


@pytest.fixture
async def replicas(shared_replicas: Replicas, database: Database) -> Replicas:
    """Two replicas on one database without a row."""
    return shared_replicas


@pytest.fixture
async def client(replicas: Replicas) -> AsgiClient:
    """The first of them."""
    return replicas[0]
