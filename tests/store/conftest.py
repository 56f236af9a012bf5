"""The database as a second process has it."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database


@pytest.fixture
async def other_pool(database: Database, postgres_url: Secret[str]) -> AsyncIterator[Database]:
    """The same database as another process has it."""
    async with Database(postgres_url) as pool:
        yield pool
