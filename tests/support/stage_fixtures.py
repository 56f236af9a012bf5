"""The stage and the special payers as fixtures, each made once, on demand."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from farebox.app.logging import configure_logging, open_log
from farebox.app.setting_rules import LogLevel
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet
from farebox.local.postgres import EmbeddedPostgres
from support import key_required
from support.accounts import (
    ContractAccount,
    ContractToken,
    Multisig,
    contract_account,
    multisig_account,
    own_token,
)
from support.asgi import AsgiClient
from support.contracts import TokenBehaviour, Wallet, token, wallet
from support.paid_gateway import PaidGateway, paid_gateway, shared_gateway
from support.planted_secrets import check_database_at, count_planted, find_planted
from support.stage import (
    KEPT,
    NetworkStage,
    Stage,
    environment_for,
    network_stage,
    own_relayer,
    service,
    until_ready,
)
from support.upstream import answers
from support.wasm import announcing_account, silent_account, spending_account
from testing.database import create_database, drop_database

DATABASE: Final = "farebox_stage"  # of its own: the service reconciles whatever rows it finds
Networks = dict[Network, NetworkStage]


def pytest_configure(config: pytest.Config) -> None:
    """The mark of the adversarial cases is known."""
    config.addinivalue_line("markers", "case(id): the adversarial case that this test answers")


@pytest.fixture(scope="session")
async def stage_database(
    postgres_server: EmbeddedPostgres, postgres_template: str
) -> AsyncIterator[str]:
    """A migrated database that only staged services use."""
    async with KEPT:
        how = f"TEMPLATE {postgres_template}"
        yield (await create_database(postgres_server.url, DATABASE, how)).reveal()


@pytest.fixture(scope="module")
async def module_database(
    stage_database: str, postgres_server: EmbeddedPostgres, postgres_template: str
) -> AsyncIterator[str]:
    """A migrated database of one module, for services with master keys, channels or a gateway.

    A row that such a service leaves would keep services with other settings from starting.
    """
    name = f"farebox_{os.urandom(6).hex()}"
    how = f"TEMPLATE {postgres_template}"
    url = (await create_database(postgres_server.url, name, how)).reveal()
    yield url
    await check_database_at(url)
    KEPT.forget(url)
    await drop_database(postgres_server.url, name)


@pytest.fixture
async def shop(stage: Stage, module_database: str, tmp_path: Path) -> AsyncIterator[PaidGateway]:
    """A service with its gateway, and a seller."""
    async with paid_gateway(stage, module_database, tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
async def kept_shop(
    stage_client: AsgiClient,
    stage_networks: Networks,
    stage_database: str,
    module_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[PaidGateway]:
    """The service that the tests of a module share."""
    environment = environment_for(stage_networks, stage_database)
    stage = Stage(stage_client, stage_networks, environment)
    folder = tmp_path_factory.mktemp("kept_shop")
    async with shared_gateway(stage, module_database, folder) as opened:
        yield opened


@pytest.fixture
async def shared_shop(kept_shop: PaidGateway) -> AsyncIterator[PaidGateway]:
    """A service with its gateway and a seller, without payments, listings or requests.

    The wrappers of earlier tests stay: a slug that is used again would be served from memory.
    """
    yield kept_shop
    for each in kept_shop.stage.networks.values():
        each.node.reset()
    tables = ("settlements", "listings", "gateway_payments", "ingress_counts")
    await kept_shop.stage.delete_rows(*tables)
    served = kept_shop.upstream
    served.answer, served.connections = answers(b"sunny"), 0
    served.names.clear()
    served.requests.clear()


@pytest.fixture(scope="session")
async def stage_networks(devnet: Devnet, devnet_pubnet: Devnet) -> AsyncIterator[Networks]:
    """Both networks, each with a scene, an operator's account and a node in front."""
    async with (
        network_stage(Network.TESTNET, devnet) as testnet,
        network_stage(Network.PUBNET, devnet_pubnet) as pubnet,
    ):
        yield {Network.TESTNET: testnet, Network.PUBNET: pubnet}


@pytest.fixture(scope="module")
async def testnet(stage_networks: Networks) -> NetworkStage:
    """The one of them that most contracts are on."""
    return stage_networks[Network.TESTNET]


@pytest.fixture(scope="module")
async def smart(testnet: NetworkStage) -> Wallet:
    """A wallet there that is a contract, of one key."""
    return await wallet(testnet, "smart_wallet")


@pytest.fixture(scope="session")
async def stage_client(stage_networks: Networks, stage_database: str) -> AsyncIterator[AsgiClient]:
    """The service that most tests share."""
    async with service(environment_for(stage_networks, stage_database)) as client:
        yield client


@pytest.fixture
async def stage(
    stage_client: AsgiClient, stage_networks: Networks, stage_database: str
) -> AsyncIterator[Stage]:
    """The service for both networks, with honest nodes and an empty journal."""
    opened = Stage(stage_client, stage_networks, environment_for(stage_networks, stage_database))
    await _clear(opened)
    await until_ready(stage_client)  # its loop stood still while tests without it ran
    before = count_planted()
    yield opened
    if count_planted() > before:
        await check_database_at(stage_database)
    await _clear(opened)


async def _clear(stage: Stage) -> None:
    for each in stage.networks.values():
        each.node.reset()
    await _two_ledgers_after_an_open_end(stage)
    await stage.delete_rows()


async def _two_ledgers_after_an_open_end(stage: Stage) -> None:
    """Wait until a test's pending transactions are in a ledger and the relayer is free."""
    left = await stage.query(
        "SELECT DISTINCT network FROM settlements WHERE state IN ('sending', 'submitted')"
    )
    for row in left:
        ledger = stage.ledger(Network(row["network"]))
        await ledger.wait_past(await ledger.latest() + 1)


@pytest.fixture
async def testnet_only(stage: Stage) -> AsyncIterator[Stage]:
    """A second service that is configured for testnet alone."""
    served = {Network.TESTNET: stage.networks[Network.TESTNET]}
    environment = environment_for(served, stage.environment["FAREBOX_DATABASE_URL"])
    environment |= await own_relayer(stage)
    async with service(environment) as client:
        yield Stage(client, stage.networks, environment)


@pytest.fixture
async def cheap(stage: Stage) -> AsyncIterator[Stage]:
    """A second service whose operator pays next to nothing."""
    little = {
        "FAREBOX_MAX_FEE_STROOPS_TESTNET": "1000",
        "FAREBOX_MAX_INCLUSION_FEE_STROOPS_TESTNET": "200",
    }
    environment = stage.environment | await own_relayer(stage) | little
    async with service(environment) as client:
        yield Stage(client, stage.networks, environment)


@pytest.fixture
async def hasty(stage: Stage) -> AsyncIterator[Stage]:
    """A second service that answers a settle within two seconds, known or not."""
    soon = {"FAREBOX_SETTLE_DEADLINE_S": "2", "FAREBOX_CHANNEL_WAIT_S": "1"}
    environment = stage.environment | await own_relayer(stage) | soon
    async with service(environment) as client:
        yield Stage(client, stage.networks, environment)


@pytest.fixture
async def asset_contracts_only(stage: Stage) -> AsyncIterator[Stage]:
    """A second service whose testnet takes asset contracts only, as pubnet does."""
    strict = {"FAREBOX_ASSETS_TESTNET": "asset-contracts"}
    environment = stage.environment | await own_relayer(stage) | strict
    async with service(environment) as client:
        yield Stage(client, stage.networks, environment)


@pytest.fixture(scope="session")
async def key_required_service(
    stage_networks: Networks, stage_database: str
) -> AsyncIterator[tuple[AsgiClient, dict[str, str]]]:
    """A second service that requires a key on testnet and counts each caller's requests."""
    relayer = await stage_networks[Network.TESTNET].ledger.account()
    environment = environment_for(stage_networks, stage_database) | key_required.SETTINGS
    environment["FAREBOX_RELAYER_SECRET_TESTNET"] = relayer.secret
    async with service(environment) as client:
        yield client, environment


@pytest.fixture
async def key_required_stage(
    stage: Stage, key_required_service: tuple[AsgiClient, dict[str, str]]
) -> AsyncIterator[Stage]:
    """That service, with honest nodes and an empty journal."""
    client, environment = key_required_service
    yield Stage(client, stage.networks, environment)
    for table in ("api_keys", "sessions", "users"):
        await stage.query(f"DELETE FROM {table}")


@pytest.fixture
def log_text(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Everything the process logs from here on, down to debug; nothing planted may be in it."""
    path = tmp_path / "log"
    configure_logging(LogLevel.DEBUG, open_log(path))
    yield path.read_text
    assert find_planted(path.read_text()) == []


@pytest.fixture(scope="session")
async def multisig(stage_networks: Networks) -> Multisig:
    """An account of two signers, its master key with weight 0."""
    return await multisig_account(stage_networks[Network.TESTNET])


@pytest.fixture(scope="session")
async def silent(stage_networks: Networks) -> ContractAccount:
    """A contract account that accepts any signature."""
    return await contract_account(stage_networks[Network.TESTNET], silent_account())


@pytest.fixture(scope="session")
async def announcing(stage_networks: Networks) -> ContractAccount:
    """A contract account that emits its signature as an event."""
    return await contract_account(stage_networks[Network.TESTNET], announcing_account())


@pytest.fixture(scope="session")
async def spending(stage_networks: Networks) -> ContractAccount:
    """A contract account that makes the calls in its signature."""
    return await contract_account(stage_networks[Network.TESTNET], spending_account())


@pytest.fixture(scope="session")
async def contract_token(stage_networks: Networks) -> ContractToken:
    """A token of our own with balances beyond 64 bits."""
    return await own_token(stage_networks[Network.TESTNET], silent_account())


@pytest.fixture(scope="session")
async def hollow(stage_networks: Networks) -> ContractAccount:
    """A token that reports a transfer and moves nothing."""
    made = await token(stage_networks[Network.TESTNET])
    await made.behave(TokenBehaviour(taken=0, given=0))
    return ContractAccount(made.address)
