"""Automation on the devnet."""

from collections.abc import AsyncIterator

import pytest

from farebox.app.automation_network import AutomationNetwork
from farebox.local.devnet import Devnet
from farebox.storage.pool import Database
from support.automation_world import AutomationWorld, automation_world
from support.session_desk import SessionDesk
from testing.smart_accounts import Owner


@pytest.fixture
async def world(devnet: Devnet, database: Database) -> AsyncIterator[AutomationWorld]:
    """A paymaster with three channels on the devnet."""
    async with automation_world(devnet, database) as world:
        yield world


@pytest.fixture
async def desk(world: AutomationWorld) -> SessionDesk:
    """The contracts of sessions, and what plans call."""
    return await SessionDesk.deploy(world)


@pytest.fixture
async def smart(desk: SessionDesk, request: pytest.FixtureRequest) -> Owner:
    """A smart account of generation C, or of the one that the test names."""
    return await desk.smart_account(getattr(request, "param", "c"))


@pytest.fixture
async def network(desk: SessionDesk) -> AutomationNetwork:
    """The automation of a process that knows the contracts."""
    built = desk.world.network(contracts=desk.contracts)
    assert await built.sessions.contracts.check()
    return built
