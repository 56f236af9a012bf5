"""A stranger's transaction: it makes a call with an authorization that somebody else has signed."""

import asyncio
import base64
from typing import Final

from stellar_sdk import InvokeHostFunction, Keypair, SorobanServer, TransactionBuilder
from stellar_sdk.exceptions import PrepareTransactionException

from farebox.kernel.secret import Secret
from prove.environment import Environment
from prove.world import NETWORK

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
