"""What plans of skills call on a network: a keeper, a market, an oracle and our own contracts."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Keypair, scval, xdr

from farebox.kernel.networks import Network
from support.contracts import wasm_of
from support.ledger import Ledger
from support.plan_stage import TABLES, create_channels, operate, own_paymaster, until_paid_for
from support.stage import NetworkStage, Stage, key_of, own_relayer
from support.vault import VAULT_SETTING

PRICE: Final = 10**14  # of both tokens, by the oracle
RUN_PRICE: Final = 1_000  # on pubnet; runs cost nothing on testnet
_LIQUIDITY: Final = 10_000_000
_TABLES: Final = tuple(name for name in TABLES if name.startswith(("automation", "run_")))


@dataclass(frozen=True, slots=True)
class PlanMarket:
    """Contracts that plans call; `faulty` is a keeper whose run fails."""

    keeper: str
    faulty: str
    router: str
    oracle: str


async def deploy_market(network: NetworkStage) -> PlanMarket:
    """Deploy the contracts, fill the pool, and set both prices as of now."""
    ledger, scene = network.ledger, network.scene
    payer, owner = key_of(scene.payers[-1]), await ledger.account()
    tokens = (scene.asset, scene.native)
    keeper = await _put(ledger, owner, "keeper", scval.to_bool(False), scval.to_uint64(0))
    faulty = await _put(ledger, owner, "faulty_keeper", scval.to_uint32(4))
    pair = await _put(ledger, owner, "pool", *map(scval.to_address, tokens))
    router = await _put(ledger, owner, "router", scval.to_vec([scval.to_address(pair)]))
    oracle = await _put(ledger, owner, "price_feed")
    closed = int((await ledger.call("getLatestLedger"))["closeTime"])
    for token in tokens:
        await ledger.give(payer, token, pair, _LIQUIDITY)
        asset = scval.to_vec([scval.to_symbol("Stellar"), scval.to_address(token)])
        price = scval.to_int128(PRICE), scval.to_uint64(closed)
        await ledger.invoke(owner, oracle, "set", asset, *price)
    await ledger.invoke(owner, pair, "sync")
    return PlanMarket(keeper, faulty, router, oracle)


async def _put(ledger: Ledger, owner: Keypair, name: str, *arguments: xdr.SCVal) -> str:
    return await ledger.deploy(owner, wasm_of(name), *arguments)


async def plan_settings(stage: Stage, markets: Mapping[Network, PlanMarket]) -> dict[str, str]:
    """Settings of a service whose networks run plans in every mode; what they name is deployed."""
    made = await own_relayer(stage)
    for network, market in markets.items():
        made |= await own_paymaster(stage, network)
        made[f"FAREBOX_SOROSWAP_ROUTER_{network.label.upper()}"] = market.router
    scene = stage.networks[Network.PUBNET].scene
    made |= {
        "FAREBOX_REVENUE_ACCOUNT_PUBNET": scene.payees[0].address,
        "FAREBOX_RUN_ASSET_PUBNET": scene.asset,
        "FAREBOX_RUN_PRICE_PUBNET": str(RUN_PRICE),
    }
    for network in markets:
        made |= await _deploy_own(stage, network, made)
    return made


async def _deploy_own(stage: Stage, network: Network, settings: dict[str, str]) -> dict[str, str]:
    """Create the paymaster's channels and deploy our contracts, by the operator's commands."""
    environment = stage.environment | settings | VAULT_SETTING
    await create_channels(environment, 3, network)
    named = await operate(environment, "automation", "deploy", "--network", network.label)
    return dict(line.split("=") for line in named.splitlines())


@asynccontextmanager
async def plans_end(stage: Stage) -> AsyncIterator[None]:
    """Wait until every network pays for runs; remove what plans wrote afterwards."""
    await until_paid_for(stage.client, *Network)
    yield
    await stage.delete_rows(*_TABLES)
