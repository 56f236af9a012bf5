"""A second service that gives up soon, which the tests of a module share."""

from collections.abc import AsyncIterator

import pytest

from support.asgi import AsgiClient
from support.stage import Stage, environment_for, own_relayer, service, until_ready
from support.stage_fixtures import Networks


@pytest.fixture(scope="module")
async def kept_hasty(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[Stage]:
    """A service that answers a settle within two seconds, known or not."""
    environment = environment_for(
        stage_networks,
        stage_database,
        FAREBOX_SETTLE_DEADLINE_S="2",
        FAREBOX_CHANNEL_WAIT_S="1",
    )
    environment |= await own_relayer(Stage(stage_client, stage_networks, environment))
    async with service(environment) as client:
        yield Stage(client, stage_networks, environment)


@pytest.fixture
async def hasty(stage: Stage, kept_hasty: Stage) -> Stage:
    """That service, with honest nodes and an empty journal."""
    del stage
    await until_ready(kept_hasty.client)  # the nodes that a test before this one took away are back
    return kept_hasty
