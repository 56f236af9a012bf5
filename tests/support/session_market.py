"""The contracts of a network that the plans of every test use, deployed once.

The contracts of sessions, a pool of the scene's asset and native coin with its router, and an
oracle, whose prices each test sets. They keep nothing else of one account for another.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Keypair, scval, xdr

from farebox.automation.plans.wire import Venue
from farebox.automation.sessions.contract_codes import ServiceContract
from farebox.automation.sessions.contracts_watch import AutomationContracts
from farebox.kernel.addresses import Address
from farebox.local.devnet import Devnet
from support.contracts import wasm_of
from support.ledger import Ledger

_LIQUIDITY: Final = 10_000_000_000  # no number of sales that tests make moves the price
_MARKETS: Final[dict[str, "SessionMarket"]] = {}


@dataclass(frozen=True, slots=True)
class SessionMarket:
    """The contracts of one network that plans call, or that hold what plans may do."""

    contracts: AutomationContracts
    pair: Address
    oracle: Address


async def session_market(devnet: Devnet, ledger: Ledger) -> SessionMarket:
    """Return the market of a network; deploy it the first time."""
    if ledger.rpc_url not in _MARKETS:
        _MARKETS[ledger.rpc_url] = await _deploy(devnet, ledger)
    return _MARKETS[ledger.rpc_url]


async def deploy_alone(ledger: Ledger, key: Keypair, name: str, *args: xdr.SCVal) -> Address:
    """Deploy with a client of its own, so that others are deployed at the same time."""
    own = Ledger(ledger.network, ledger.rpc_url)
    return Address(await own.deploy(key, wasm_of(name), *args))


async def _deploy(devnet: Devnet, ledger: Ledger) -> SessionMarket:
    contracts, (pair, router), oracle = await asyncio.gather(
        _service_contracts(ledger), _filled_pool(devnet, ledger), _put(ledger, "price_feed")
    )
    named = AutomationContracts(contracts, {Venue.SOROSWAP: router})
    return SessionMarket(named, pair, oracle)


async def _put(ledger: Ledger, name: str, *args: xdr.SCVal) -> Address:
    return await deploy_alone(ledger, await ledger.account(), name, *args)


async def _service_contracts(ledger: Ledger) -> Mapping[ServiceContract, Address]:
    mandate = await ledger.upload(await ledger.account(), wasm_of("mandate"))
    made = await asyncio.gather(
        _put(ledger, "session_guard"),
        _put(ledger, "ed25519_verifier"),
        _put(ledger, "session_installer"),
        _put(ledger, "mandate_factory", scval.to_bytes(mandate)),
    )
    names = (
        ServiceContract.GUARD,
        ServiceContract.VERIFIER,
        ServiceContract.INSTALLER,
        ServiceContract.FACTORY,
    )
    return dict(zip(names, made, strict=True))


async def _filled_pool(devnet: Devnet, ledger: Ledger) -> tuple[Address, Address]:
    """Create a pool and its router; an account of a scene fills it."""
    scene = await devnet.scene(payers=1, payees=0)
    payer = Keypair.from_secret(scene.payers[0].secret.reveal())
    tokens = (scene.asset, scene.native)
    pair = await _put(ledger, "pool", *map(scval.to_address, tokens))
    for token in tokens:
        await ledger.give(payer, token, pair, _LIQUIDITY)
    await ledger.invoke(payer, pair, "sync")
    return pair, await _put(ledger, "router", scval.to_vec([scval.to_address(pair)]))
