"""A service with automation that the tests of a module share."""

from collections.abc import AsyncIterator

import pytest

from support.plan_service import PlanService, plan_service
from support.stage import Stage, environment_for
from support.stage_fixtures import Networks


@pytest.fixture(scope="module")
async def kept_plans(
    stage_client: object, stage_networks: Networks, stage_database: str
) -> AsyncIterator[PlanService]:
    """A service with a funded paymaster on testnet; each test has wallets of its own."""
    environment = environment_for(stage_networks, stage_database)
    stage = Stage(stage_client, stage_networks, environment)  # type: ignore[arg-type]
    async with plan_service(stage) as opened:
        yield opened


@pytest.fixture
async def plans(kept_plans: PlanService) -> AsyncIterator[PlanService]:
    """That service, with honest nodes and no active plan of an earlier test."""
    yield kept_plans
    for each in kept_plans.stage.networks.values():
        each.node.reset()
    await kept_plans.end_all()
