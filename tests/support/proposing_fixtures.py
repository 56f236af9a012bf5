"""A service that proposes plans, which the tests of a module share."""

from collections.abc import AsyncIterator

import pytest

from support.asgi import AsgiClient
from support.proposing_stage import ProposingStage, proposing_stage
from support.stage import Stage, environment_for
from support.stage_fixtures import Networks


@pytest.fixture(scope="module")
async def kept_proposing(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[ProposingStage]:
    """A service with a funded paymaster on testnet; each test has wallets of its own."""
    environment = environment_for(stage_networks, stage_database)
    async with proposing_stage(Stage(stage_client, stage_networks, environment)) as opened:
        yield opened


@pytest.fixture
async def proposing(kept_proposing: ProposingStage) -> AsyncIterator[ProposingStage]:
    """That service; its nodes are honest again afterwards."""
    yield kept_proposing
    for each in kept_proposing.stage.networks.values():
        each.node.reset()
