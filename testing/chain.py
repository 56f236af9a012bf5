"""A devnet without a service: a stranger reads it by the public SDK, and a run closes ledgers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from stellar_sdk import (
    Keypair,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
    xdr,
)
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import SimulateTransactionResponse

from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, Scene
from testing.contracts import call, open_server
from testing.machine import RunFailed

FEE: Final = 1_000_000


@asynccontextmanager
async def closing_ledgers(devnet: Devnet, *, every_s: float) -> AsyncIterator[None]:
    """Close ledgers so often inside this context, whatever the devnet does by itself."""

    async def close() -> None:
        while True:
            await devnet.close()
            await asyncio.sleep(every_s)

    closing = asyncio.create_task(close())
    try:
        yield
    finally:
        closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)


class Chain:
    """One network; `reader` is the account in whose name calls are simulated."""

    def __init__(self, network: Network, devnet: Devnet, scene: Scene, reader: Keypair) -> None:
        self.network, self.devnet, self.scene = network, devnet, scene
        self._server = open_server(devnet.rpc_url, devnet.authority)
        self._reader = reader

    async def ledger(self) -> int:
        """Read the number of the last closed ledger."""
        return (await asyncio.to_thread(self._server.get_latest_ledger)).sequence

    async def now(self) -> int:
        """Read the close time of the last closed ledger."""
        return int((await asyncio.to_thread(self._server.get_latest_ledger)).close_time)

    async def read(self, contract: str, function: str, *args: xdr.SCVal) -> xdr.SCVal:
        """Call a function that changes nothing; what it returns."""
        simulated = await self._simulate(call(contract, function, args))
        if not simulated.results:
            raise RunFailed(f"{function} failed: {simulated.error}")
        return xdr.SCVal.from_xdr(simulated.results[0].xdr)

    async def balance(self, token: str, holder: str) -> int:
        """Read a balance."""
        return scval.from_int128(await self.read(token, "balance", scval.to_address(holder)))

    async def refusal(self, operation: Operation) -> str:
        """Simulate with the operation's own authorizations; why it is refused, or nothing."""
        return (await self._simulate(operation)).error or ""

    async def _simulate(self, operation: Operation) -> SimulateTransactionResponse:
        envelope = await self._build(operation, self._reader)
        return await asyncio.to_thread(self._server.simulate_transaction, envelope)

    async def _build(
        self, operation: Operation, source: Keypair, fee: int = FEE
    ) -> TransactionEnvelope:
        account = await asyncio.to_thread(self._server.load_account, source.public_key)
        builder = TransactionBuilder(account, self.network.passphrase, base_fee=fee)
        return builder.append_operation(operation).add_time_bounds(0, 0).build()

    async def _prepare(self, operation: Operation, source: Keypair) -> TransactionEnvelope:
        """Build an operation's transaction with the resources that a simulation finds.

        Raises:
            RunFailed: the simulation refuses it.
        """
        envelope = await self._build(operation, source)
        try:
            return await asyncio.to_thread(self._server.prepare_transaction, envelope)
        except Exception as error:
            raise RunFailed(f"a call is refused before it is sent: {error}") from error
