"""A service with automation, for each test module that uses it."""

from collections.abc import AsyncIterator

import pytest

from support.plan_service import PlanService, plan_service
from support.stage import Stage


@pytest.fixture
async def plans(stage: Stage) -> AsyncIterator[PlanService]:
    """A service with a funded paymaster on testnet."""
    async with plan_service(stage) as opened:
        yield opened
