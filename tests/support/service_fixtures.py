"""Services that tests share, and the callers, agents and proofs that use them."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.secret import Secret
from farebox.storage.pool import Database
from prove.world import World, open_world
from support.agent import Agent
from support.asgi import AsgiClient
from support.callers import Wallet, replica, sign_in_wallet
from support.paid_gateway import PaidGateway
from support.proposing_stage import ProposingStage, proposing_stage
from support.stage import Stage, environment_for
from support.stage_fixtures import Networks
from testing.machine import scratch_folder


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


@pytest.fixture
async def agent(shared_shop: PaidGateway) -> Agent:
    """An agent at the service with the gateway."""
    return Agent(shared_shop.client)


@pytest.fixture
async def catalog(shared_shop: PaidGateway, module_database: str) -> AsyncIterator[Database]:
    """The service's database."""
    del shared_shop
    async with Database(Secret(module_database), connections=1) as database:
        yield database


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


@pytest.fixture(scope="session")
async def world() -> AsyncIterator[World]:
    """A prepared network and database, and the service ready to be forked."""
    with scratch_folder("fbx-test-") as folder:
        async with open_world(folder) as opened:
            yield opened
