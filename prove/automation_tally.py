"""How often the target of a plan ran, as the contract itself counts it."""

import asyncio
from dataclasses import dataclass

from stellar_sdk import Account, Keypair, SorobanServer, TransactionBuilder, scval, xdr

from farebox.kernel.addresses import Address
from prove.environment import Environment
from prove.world import NETWORK
from testing.machine import RunFailed

_COUNT = "count"  # of the keeper's state


@dataclass(frozen=True, slots=True)
class Tally:
    """What counts the runs: a keeper's own count, or what `holder` has of a token.

    `unit` is what one run adds, `before` what was there before the first one.
    """

    contract: Address
    holder: Address | None = None
    unit: int = 1
    before: int = 0


async def count_runs(environment: Environment, tally: Tally) -> int:
    """Read from the ledger how often the target ran since `before`.

    Raises:
        RunFailed: the contract does not answer.
    """
    now = await read_tally(environment, tally)
    return (now - tally.before) // tally.unit


async def read_tally(environment: Environment, tally: Tally) -> int:
    """Read the number as it is now.

    Raises:
        RunFailed: the contract does not answer.
    """
    return await asyncio.to_thread(_read, environment.devnet.rpc_url, tally)


def _read(rpc_url: str, tally: Tally) -> int:
    if tally.holder is None:
        state = scval.from_struct(_call(rpc_url, tally.contract, "state"))
        return scval.from_uint32(state[_COUNT])
    holder = scval.to_address(tally.holder)
    return scval.from_int128(_call(rpc_url, tally.contract, "balance", holder))


def _call(rpc_url: str, contract: Address, function: str, *arguments: xdr.SCVal) -> xdr.SCVal:
    source = Account(Keypair.random().public_key, 0)
    builder = TransactionBuilder(source, NETWORK.passphrase)
    builder.append_invoke_contract_function_op(contract, function, arguments)
    with SorobanServer(rpc_url) as server:
        found = server.simulate_transaction(builder.set_timeout(300).build())
    if not found.results:
        raise RunFailed(f"{function} of {contract} fails: {found.error}")
    return xdr.SCVal.from_xdr(found.results[0].xdr)
