"""`farebox automation deploy`: what it deploys is what the service accepts."""

import asyncio

import pytest

from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.sessions.contracts_watch import AutomationContracts, ContractsWatch
from farebox.automation.sessions.deploy_contracts import DEPLOYED
from farebox.kernel.addresses import Address
from farebox.kernel.clock import SystemClock
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.stellar.rpc_http import HttpSorobanRpc
from support.command import Ran, run_farebox
from support.stage import Stage, own_relayer


@pytest.fixture
async def alone(stage: Stage) -> Stage:
    """A stage whose testnet relayer is new."""
    environment = stage.environment | await own_relayer(stage)
    return Stage(stage.client, stage.networks, environment)


async def deploy(stage: Stage) -> Ran:
    """The command has ended; the nodes it asks live in this process."""
    arguments = ("automation", "deploy", "--network", "testnet")
    return await asyncio.to_thread(run_farebox, *arguments, settings=stage.environment)


async def test_deployed_contracts_are_those_that_the_service_accepts(alone: Stage) -> None:
    made = await deploy(alone)
    assert made.code == 0, made.err
    settings = dict(line.split("=") for line in made.out.splitlines())
    assert list(settings) == [
        "FAREBOX_SESSION_GUARD_TESTNET",
        "FAREBOX_SESSION_VERIFIER_TESTNET",
        "FAREBOX_SESSION_INSTALLER_TESTNET",
        "FAREBOX_MANDATE_FACTORY_TESTNET",
    ]
    sent = alone.node().counts()["sendTransaction"]
    again = await deploy(alone)
    assert (again.code, again.out) == (0, made.out)
    assert "nothing to do" in again.err
    assert alone.node().counts()["sendTransaction"] == sent, "nothing is done twice"
    contracts = {each: Address(settings[f"FAREBOX_{each.setting}_TESTNET"]) for each in DEPLOYED}
    url = Secret(alone.environment["FAREBOX_RPC_URL_TESTNET"])
    async with HttpSorobanRpc(Network.TESTNET, url, timeout_s=10) as rpc:
        named = AutomationContracts(contracts)
        watch = ContractsWatch(Network.TESTNET, named, rpc, SystemClock())
        assert await watch.check()
    assert (watch.warnings, set(watch.modes)) == ((), set(AuthorityMode))
