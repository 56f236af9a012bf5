"""A small market and a keeper on a network of the demo, for plans to trade on and to run."""

import asyncio
import hashlib
from importlib.resources import files
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.contract_deployment import ContractDeployment, ContractDraft
from farebox.stellar.contract_operations import contract_of, invoke_contract
from farebox.stellar.invocations import Invocation
from farebox.stellar.known_tokens import NATIVE, USDC
from farebox.stellar.scval import ScKind, ScNumber, ScOther, ScValue, ScVec
from farebox.stellar.scval_writer import address_of

USDC_LIQUIDITY: Final = BaseUnits(1_000 * 10**7)
NATIVE_LIQUIDITY: Final = BaseUnits(5_000 * 10**7)
_FALSE: Final = ScOther(ScKind.BOOL, bytes(4))
_NO_GAP: Final = ScNumber(ScKind.U64, 0)


def market_contract(network: Network, payer: Address, name: str) -> Address:
    """Where `payer` deploys a `pool`, `router` or `keeper`, before or after it does."""
    return contract_of(network, payer, _salt(name))


async def deploy_market(
    pool: ContractDeployment, router: ContractDeployment, keeper: ContractDeployment
) -> None:
    """Deploy a pool of USDC and XLM with liquidity, its router and a keeper, each by its account.

    Raises:
        Refusal: the network refuses a transaction.
        Outage: the node is unavailable.
    """
    network = pool.network
    pair = market_contract(network, pool.source.address, "pool")
    usdc, native = USDC[network].contract, NATIVE[network].contract
    await asyncio.gather(
        pool.create(_draft("pool", address_of(usdc), address_of(native))),
        _fill(router, usdc, pair, USDC_LIQUIDITY, "router"),
        _fill(keeper, native, pair, NATIVE_LIQUIDITY, "keeper"),
    )
    await asyncio.gather(
        pool.call(invoke_contract(Invocation(pair, "sync", ())), "count what the pool has"),
        router.create(_draft("router", ScVec((address_of(pair),)))),
        keeper.create(_draft("keeper", _FALSE, _NO_GAP)),  # anybody may run it, at any time
    )


async def _fill(
    payer: ContractDeployment, token: Address, pool: Address, amount: BaseUnits, name: str
) -> None:
    """Send a token to the pool, and upload the code of the account's own contract."""
    parties = (address_of(payer.source.address), address_of(pool))
    call = Invocation(token, "transfer", (*parties, ScNumber(ScKind.I128, amount)))
    await payer.call(invoke_contract(call), "fill the pool")
    await payer.upload(_wasm(name), name)


def _draft(name: str, *arguments: ScValue) -> ContractDraft:
    return ContractDraft(name, _wasm(name), _salt(name), arguments)


def _wasm(name: str) -> bytes:
    return (files("farebox.local") / "wasm" / f"{name}.wasm").read_bytes()


def _salt(name: str) -> bytes:
    return hashlib.sha256(f"farebox demo {name}".encode()).digest()
