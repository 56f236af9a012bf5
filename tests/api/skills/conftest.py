"""A service with its gateway and a web-auth contract, and a caller that has read its specs."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import pytest

from farebox.kernel.networks import Network
from support.asgi import AsgiClient
from support.paid_gateway import PaidGateway, shared_gateway
from support.skill_calls import SkillCaller, read_specs
from support.skill_market import PlanMarket, deploy_market, plan_settings, plans_end
from support.skill_stage import SkillStage
from support.stage import Stage, environment_for, until_ready
from support.stage_fixtures import Networks
from support.upstream import answers
from support.wallet_sign_in import SERVER
from support.web_auth import web_auth
from testing.waiting import until

# a slug that is used again would be served from memory, so wrappers stay until the service ends
BETWEEN: Final = (
    "settlements",
    "listings",
    "gateway_payments",
    "ingress_counts",
    "challenges",
    "api_keys",
)


@pytest.fixture(scope="session")
async def web_auth_contract(stage_networks: Networks) -> str:
    """The web-auth contract of testnet."""
    testnet = stage_networks[Network.TESTNET].ledger
    await testnet.fund(SERVER.public_key)
    return (await web_auth(testnet)).contract


@pytest.fixture(scope="session")
async def skill_markets(stage_networks: Networks) -> dict[Network, PlanMarket]:
    """What plans call, on both networks."""
    markets = await asyncio.gather(*map(deploy_market, stage_networks.values()))
    return dict(zip(stage_networks, markets, strict=True))


@pytest.fixture(scope="module")
async def skill_shop(
    stage_client: AsgiClient,
    stage_networks: Networks,
    stage_database: str,
    module_database: str,
    web_auth_contract: str,
    skill_markets: dict[Network, PlanMarket],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[PaidGateway]:
    """The service; contract accounts can sign in on testnet, and plans run on both networks."""
    environment = environment_for(stage_networks, stage_database)
    stage = Stage(stage_client, stage_networks, environment)
    gateway = Stage(stage_client, stage_networks, environment_for(stage_networks, module_database))
    settings = await plan_settings(gateway, skill_markets)
    settings |= {"FAREBOX_WEB_AUTH_CONTRACT_TESTNET": web_auth_contract}
    folder = tmp_path_factory.mktemp("skill_shop")
    async with (
        shared_gateway(stage, module_database, folder, **settings) as opened,
        plans_end(opened.stage),
    ):
        yield opened


@pytest.fixture(scope="module")
async def skill_caller(skill_shop: PaidGateway) -> SkillCaller:
    """A caller that has read the specs from the service."""
    return SkillCaller(skill_shop.client, await read_specs(skill_shop.client))


@pytest.fixture(scope="module")
def failing_stage(
    skill_shop: PaidGateway, skill_caller: SkillCaller, skill_markets: dict[Network, PlanMarket]
) -> SkillStage:
    """What produces the errors: one owner and one plan of each kind serve every refusal."""
    return SkillStage(skill_shop, Network.TESTNET, skill_caller, skill_markets)


@pytest.fixture
async def shop(skill_shop: PaidGateway) -> AsyncIterator[PaidGateway]:
    """The service without payments and listings of other tests."""
    await until_ready(skill_shop.client)
    await until(partial(_has_every_network, skill_shop))
    yield skill_shop
    for network, each in skill_shop.stage.networks.items():  # other services start with these nodes
        if each.node.is_scripted:
            each.node.reset()
            await until(partial(_can_be_read, skill_shop, network))
        each.node.reset()
    for table in BETWEEN:
        await skill_shop.stage.query(f"DELETE FROM {table}")
    skill_shop.upstream.answer = answers(b"sunny")


async def _can_be_read(shop: PaidGateway, network: Network) -> bool:
    """Whether the service uses the network again, which it leaves alone after failures."""
    account = shop.stage.networks[network].scene.payers[0].address
    found = await shop.client.get(f"/v1/accounts/{network.value}/{account}")
    part = (await shop.client.get("/health/ready")).json()["parts"][network.value]
    return found.status == 200 and part["status"] == "ok"


async def _has_every_network(shop: PaidGateway) -> bool:
    parts = (await shop.client.get("/health/ready")).json()["parts"]
    return all(parts[network.value]["status"] == "ok" for network in shop.stage.networks)
