"""A wrapper's upstream and recipients, checked against real names and the real Soroban host."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.facilitator.verification.operator_rules import AssetPolicy, AssetRule
from farebox.gateway.wrapper import WrapperSettings, WrapperTerm
from farebox.gateway.wrappers.checks import NetworkChecks, PaymentNetwork
from farebox.gateway.wrappers.wrapper_fields import InvalidWrapper, make_settings
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.caller import Caller, CallerKind, OwnerId
from farebox.kernel.errors import Outage
from farebox.kernel.networks import Network
from farebox.kernel.secret import Secret
from farebox.kernel.slots import Requester
from farebox.local.devnet import Devnet, Scene
from farebox.outbound.client import OutboundClient
from farebox.outbound.resolve import LoopbackResolver, PinnedAddress
from farebox.stellar.rpc import RawSimulation
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.simulation_slots import (
    SimulationPurpose,
    SimulationSlots,
    limits_of_purposes,
)
from farebox.stellar.soroban_rpc import SorobanRpc
from support.fake_rpc import FakeRpc
from support.outbound import LOOPBACK, SELLER, lookup
from support.wrappers import wrapper_fields
from testing.waiting import until

OWN = "pay.example.com"
OURS = Keypair.random().public_key
NAMES = {
    "private.example.com": ["10.0.0.1"],
    OWN: ["192.88.0.1"],
    "mixed.example.com": ["8.8.8.8", "::1"],
}
SLOTS: Final = 64
CALLER: Final = Caller(OwnerId("user_1"), CallerKind.SESSION, site="2001:db8::/48")


@pytest.fixture
async def rpc(devnet: Devnet) -> AsyncIterator[HttpSorobanRpc]:
    async with HttpSorobanRpc(Network.TESTNET, Secret(devnet.rpc_url)) as client:
        yield client


def network_of(rpc: SorobanRpc, *, assets: AssetPolicy) -> PaymentNetwork:
    slots = SimulationSlots(Network.TESTNET, rpc, SLOTS)
    return PaymentNetwork(rpc, slots, assets, lambda address: address == OURS)


@pytest.fixture
async def checks(rpc: HttpSorobanRpc) -> AsyncIterator[NetworkChecks]:
    resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, 443)}, lookup(NAMES))
    async with OutboundClient(resolver, own_hosts=[OWN.upper()]) as client:
        network = network_of(rpc, assets=AssetRule.ASSET_CONTRACTS)
        yield NetworkChecks(client, {Network.TESTNET: network})


@pytest.fixture
async def scene(devnet: Devnet) -> Scene:
    return await devnet.scene(payers=1, payees=1)


def settings_of(
    scene: Scene, *, url: str = f"https://{SELLER}/", **term: object
) -> WrapperSettings:
    own = {
        "network": Network.TESTNET,
        "asset": Address(scene.asset),
        "amount": BaseUnits(1),
        "pay_to": Address(scene.payees[0].address),
    }
    return replace(
        make_settings(wrapper_fields(upstream_url=url)),
        terms=(WrapperTerm(**(own | term)),),  # type: ignore[arg-type]  # the fields of a term
    )


async def refused_member(checks: NetworkChecks, settings: WrapperSettings) -> str:
    with pytest.raises(InvalidWrapper) as refusal:
        await checks.check(settings, CALLER)
    return refusal.value.message.removeprefix("Look at ").partition(". ")[0]


async def test_recipient_with_a_trustline_or_a_contract_can_be_paid(
    checks: NetworkChecks, scene: Scene
) -> None:
    await checks.check(settings_of(scene), CALLER)
    await checks.check(settings_of(scene, pay_to=contract_address(bytes([9]) * 32)), CALLER)


async def test_recipient_that_cannot_hold_the_token_is_refused(
    checks: NetworkChecks, scene: Scene
) -> None:
    stranger = Address(Keypair.random().public_key)
    assert await refused_member(checks, settings_of(scene, pay_to=stranger)) == "payTo"


async def test_asset_that_is_no_token_contract_is_refused(
    checks: NetworkChecks, scene: Scene
) -> None:
    for seed in (0, 7):
        missing = contract_address(bytes([seed]) * 32)
        assert await refused_member(checks, settings_of(scene, asset=missing)) == "asset", seed


async def test_network_that_is_not_served_is_refused(checks: NetworkChecks, scene: Scene) -> None:
    settings = settings_of(scene, network=Network.PUBNET)
    assert await refused_member(checks, settings) == "network"


async def test_upstream_that_is_ours_or_not_public_is_refused(
    checks: NetworkChecks, scene: Scene
) -> None:
    for url in (
        f"https://{OWN}/gateway/other",
        f"https://{OWN.upper()}:8443/",
        "https://private.example.com/",
        "https://mixed.example.com/",
        "https://unheard-of.example.com/",
    ):
        assert await refused_member(checks, settings_of(scene, url=url)) == "upstreamUrl", url


async def test_account_of_the_service_is_no_recipient(checks: NetworkChecks, scene: Scene) -> None:
    assert await refused_member(checks, settings_of(scene, pay_to=Address(OURS))) == "payTo"


async def test_token_that_the_operator_does_not_settle_is_refused(
    rpc: HttpSorobanRpc, scene: Scene
) -> None:
    resolver = LoopbackResolver({SELLER: PinnedAddress(LOOPBACK, 443)}, lookup(NAMES))
    listed = network_of(rpc, assets=frozenset({contract_address(bytes([9]) * 32)}))
    async with OutboundClient(resolver) as client:
        checks = NetworkChecks(client, {Network.TESTNET: listed})
        assert await refused_member(checks, settings_of(scene)) == "asset"


async def test_node_that_is_away_is_an_outage(
    checks: NetworkChecks, scene: Scene, devnet: Devnet
) -> None:
    await devnet.fault({"kind": "http", "status": 503}, methods=("simulateTransaction",))
    try:
        with pytest.raises(Outage):
            await checks.check(settings_of(scene), CALLER)
    finally:
        await devnet.clear_faults()


class HeldRpc(FakeRpc):
    """A node that answers no simulation until the test says so."""

    def __init__(self) -> None:
        self.asked, self.go = 0, asyncio.Event()

    async def simulate(self, envelope: str) -> RawSimulation:
        self.asked += 1
        await self.go.wait()
        return RawSimulation({})

    async def simulate_to_send(self, envelope: str) -> RawSimulation:
        return await self.simulate(envelope)


async def test_checks_take_previews_slots_and_of_them_a_share() -> None:
    node, limits = HeldRpc(), limits_of_purposes(SLOTS)[SimulationPurpose.PREVIEW]
    slots = SimulationSlots(Network.TESTNET, node, SLOTS)
    term = WrapperTerm(Network.TESTNET, contract_address(bytes(32)), BaseUnits(1), Address(OURS))
    settings = replace(make_settings(wrapper_fields()), terms=(term,))
    network = PaymentNetwork(node, slots, AssetRule.ANY, lambda _: False)
    resolver = LoopbackResolver({"api.example.com": PinnedAddress(LOOPBACK, 443)}, lookup({}))
    async with OutboundClient(resolver) as client:
        checks = NetworkChecks(client, {Network.TESTNET: network})

        def check(caller: Caller, times: int) -> list[asyncio.Future[object]]:
            return [asyncio.ensure_future(checks.check(settings, caller)) for _ in range(times)]

        flood = check(CALLER, 40)
        await until(lambda: node.asked == limits.per_client)
        # others of the same site have the same share, another one its own, and so have payments,
        # runs and polls of the site itself
        flood += check(replace(CALLER, owner=OwnerId("another")), 40)
        flood += check(replace(CALLER, site="2001:db8:1::/48"), 1)
        await until(lambda: node.asked == limits.per_client + 1)
        others = [each for each in SimulationPurpose if each is not SimulationPurpose.PREVIEW]
        for purpose in others:
            simulating = slots.simulate("", Requester(purpose, CALLER.share))
            flood.append(asyncio.ensure_future(simulating))
        await until(lambda: node.asked == limits.per_client + 1 + len(others))
        for each in flood:
            each.cancel()
        await asyncio.gather(*flood, return_exceptions=True)
