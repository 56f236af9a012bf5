"""Asks the node of an environment without a proxy, and lands transactions of a stranger."""

import asyncio
import base64
from collections.abc import AsyncIterator
from typing import Any, Final

from stellar_sdk import InvokeHostFunction, Keypair, SorobanServer, TransactionBuilder
from stellar_sdk.exceptions import PrepareTransactionException

from farebox.kernel.secret import Secret
from prove.environment import Environment
from prove.world import NETWORK

_PAGE: Final = 200


async def ask_node(environment: Environment, method: str, params: object = None) -> dict[str, Any]:
    """Ask the network's node; return the result."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    async with environment.web.post(environment.devnet.rpc_url, json=call) as answer:
        result: dict[str, Any] = (await answer.json())["result"]
    return result


async def read_newest(environment: Environment) -> tuple[int, int]:
    """Read the newest ledger and its close time (Unix seconds)."""
    newest = await ask_node(environment, "getLatestLedger")
    return int(newest["sequence"]), int(newest["closeTime"])


async def read_transactions(environment: Environment) -> AsyncIterator[dict[str, Any]]:
    """Read every transaction that was included in a ledger since the case began."""
    params: dict[str, Any] = {
        "startLedger": environment.world.prepared.latest + 1,
        "pagination": {"limit": _PAGE},
    }
    while True:
        page = await ask_node(environment, "getTransactions", params)
        for each in page["transactions"]:
            yield each
        if len(page["transactions"]) < _PAGE:
            return
        params = {"pagination": {"limit": _PAGE, "cursor": page["cursor"]}}


_FEE: Final = 1_000_000


async def land_operation(
    environment: Environment, operation: InvokeHostFunction, stranger: Keypair
) -> str:
    """Put the operation into the next ledger; return the hash, "" where it would be refused.

    Raises:
        LocalFault: the network refuses it by now.
    """
    signed = await asyncio.to_thread(_sign, environment.devnet.rpc_url, operation, stranger)
    return await environment.devnet.land(Secret(signed)) if signed is not None else ""


def _sign(rpc_url: str, operation: InvokeHostFunction, stranger: Keypair) -> bytes | None:
    with SorobanServer(rpc_url) as server:
        source = server.load_account(stranger.public_key)
        builder = TransactionBuilder(source, NETWORK.passphrase, base_fee=_FEE)
        builder.append_operation(operation).add_time_bounds(0, 0)  # the network's clock is moved
        try:
            prepared = server.prepare_transaction(builder.build())
        except PrepareTransactionException:  # it was used already
            return None
    prepared.sign(stranger)
    return base64.b64decode(prepared.to_xdr())
