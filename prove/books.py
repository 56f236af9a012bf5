"""The books after a run: the journal's sums, the operator's budgets, and what the ledger shows."""

from dataclasses import dataclass
from typing import Final

from farebox.buyer.holdings import read_holdings
from farebox.kernel.addresses import Address
from farebox.kernel.secret import Secret
from farebox.stellar.rpc_http import HttpSorobanRpc
from farebox.stellar.signers import read_signers
from prove.arena import AMOUNT, Arena
from prove.truth import Fault, Found
from prove.world import NETWORK

_CONFIRMED: Final = "SELECT count(*) AS n FROM settlements WHERE state = 'confirmed'"
_CHARGED: Final = "SELECT coalesce(sum(fee_charged), 0)::bigint AS n FROM settlements"


@dataclass(frozen=True, slots=True)
class Opening:
    """What the accounts held before anything was paid."""

    relayer: int  # stroops
    payee: int  # base units


def _relayer(arena: Arena) -> Address:
    return read_signers(arena.world.prepared.relayer, None).relayer.address


async def opening(arena: Arena) -> Opening:
    """What relayer and payee hold now."""
    payee = arena.world.prepared.scene.payees[0].address
    async with HttpSorobanRpc(NETWORK, Secret(arena.devnet.rpc_url)) as node:
        relayer = await node.account(_relayer(arena))
        held = await read_holdings(node, NETWORK, payee)
    return Opening(relayer.balance if relayer is not None else 0, held.usdc or 0)


async def audit(arena: Arena, before: Opening) -> list[Found]:
    """Every sum that does not come out, once all payments have settled down."""
    now = await opening(arena)
    confirmed = int((await arena.query(_CONFIRMED))[0]["n"])
    charged = int((await arena.query(_CHARGED))[0]["n"])
    found = []
    if now.payee - before.payee != confirmed * AMOUNT:
        got = (now.payee - before.payee) // AMOUNT
        found.append(f"the payee got {got} payments and {confirmed} are confirmed")
    if before.relayer - now.relayer != charged:
        paid = before.relayer - now.relayer
        found.append(f"the relayer paid {paid} stroops and the rows say {charged}")
    found += [
        f"budget {drift.scope} {drift.name}: {drift.counted}, its rows {drift.summed}"
        for drift in await arena.budget_drift()
    ]
    return [Found(Fault.LOST, why) for why in found]
