"""Automation on the devnet."""

from collections.abc import AsyncIterator

import pytest

from farebox.local.devnet import Devnet
from farebox.storage.pool import Database
from support.automation_world import AutomationWorld, automation_world


@pytest.fixture
async def world(devnet: Devnet, database: Database) -> AsyncIterator[AutomationWorld]:
    """A paymaster with three channels on the devnet."""
    async with automation_world(devnet, database) as world:
        yield world
