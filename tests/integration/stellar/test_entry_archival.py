"""Ledger entries that expire: rent after a day; tests/devnet/test_archival.py has the archived."""

from collections.abc import AsyncIterator

import pytest

from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.local.devnet import Devnet, DevnetOptions, Scene, start_devnet
from farebox.stellar.fees import FeeOverCeiling, FeePlan, FeePolicy, plan_fees
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.simulation import Simulated, Simulation, read_simulation
from support.source_account_transfer import transfer

DAY_LEDGERS = 17_280


@pytest.fixture
async def young() -> AsyncIterator[tuple[Devnet, HttpSorobanRpc, Scene]]:
    """A network whose ledgers close by hand, with a scene on it."""
    options = DevnetOptions(
        passphrase=Network.TESTNET.passphrase,
        close_ms=None,
        limits="testnet",
        extra=("--retention-ledgers", "50"),
    )
    async with (
        await start_devnet(options) as devnet,
        HttpSorobanRpc(Network.TESTNET, Secret(devnet.rpc_url)) as rpc,
    ):
        yield devnet, rpc, await devnet.scene(payers=1, payees=1)


async def simulated(rpc: HttpSorobanRpc, scene: Scene) -> Simulation:
    call = transfer(scene, sequence=1, fee=100)
    return read_simulation((await rpc.simulate(call.to_xdr())).result)


async def test_simulation_includes_rent_after_a_day(
    young: tuple[Devnet, HttpSorobanRpc, Scene],
) -> None:
    devnet, rpc, scene = young
    fresh = await simulated(rpc, scene)
    await devnet.jump(24 * 3600, ledgers=DAY_LEDGERS + 1)
    first_of_day = await simulated(rpc, scene)
    assert isinstance(fresh, Simulated)
    assert isinstance(first_of_day, Simulated)
    assert first_of_day.resource_fee > fresh.resource_fee
    dear = first_of_day.resource_fee
    assert isinstance(plan_fees(dear, None, FeePolicy(), fee_bumped=True), FeePlan)
    tight = FeePolicy(ceiling=Stroops(fresh.resource_fee + 5_000))
    assert isinstance(plan_fees(fresh.resource_fee, None, tight, fee_bumped=True), FeePlan)
    assert isinstance(plan_fees(dear, None, tight, fee_bumped=True), FeeOverCeiling)
