"""Fixtures: a signed-in wallet, and a service without any network."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from support.asgi import AsgiClient
from support.callers import Wallet, replica, sign_in_wallet


@pytest.fixture
async def wallet(database: Database) -> Wallet:
    """A wallet with a session."""
    return await sign_in_wallet(database)


@pytest.fixture(scope="module")
async def shared_client(postgres_url: Secret[str]) -> AsyncIterator[AsgiClient]:
    """A replica that a module's tests share, on whatever rows exist."""
    async with replica(postgres_url) as client:
        yield client


@pytest.fixture
async def client(shared_client: AsgiClient, database: Database) -> AsgiClient:
    """That replica, on a database without a row."""
    return shared_client
