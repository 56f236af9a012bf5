"""Services with automation that the tests of a module share."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from support.callers import sign_in_wallet
from support.paid_plans import WRITTEN, PaidPlans, paid_plans
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


@pytest.fixture(scope="module")
async def kept_sales(
    stage_client: object, stage_networks: Networks, module_database: str
) -> AsyncIterator[PaidPlans]:
    """A service that sells runs, with a database of its own for its channels."""
    environment = environment_for(stage_networks, module_database)
    stage = Stage(stage_client, stage_networks, environment)  # type: ignore[arg-type]
    async with paid_plans(stage) as opened:
        yield opened


@pytest.fixture
async def shop(kept_sales: PaidPlans) -> AsyncIterator[PaidPlans]:
    """That service, with an owner of the test's, and no payment or plan of an earlier one."""
    await kept_sales.until_available()  # a test of another service may have scripted their nodes
    yield replace(kept_sales, owner=await sign_in_wallet(kept_sales.database))
    for each in kept_sales.stage.networks.values():
        each.node.reset()
    for table in WRITTEN:
        await kept_sales.stage.query(f"DELETE FROM {table}")
    await kept_sales.stage.delete_rows()
