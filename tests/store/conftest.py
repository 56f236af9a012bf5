"""The database as a second process has it."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database


@pytest.fixture(scope="session")
async def _other_pool(postgres_url: Secret[str]) -> AsyncIterator[Database]:
    """Opened once: a connection that is new to the server costs more than most tests."""
    async with Database(postgres_url) as pool:
        yield pool


@pytest.fixture
def other_pool(database: Database, _other_pool: Database) -> Database:
    """The same database as another process has it."""
    return _other_pool
