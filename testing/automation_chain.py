"""A devnet as the end-to-end run of automation uses it: the public SDK over RPC, no service."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Keypair, TransactionEnvelope, scval, xdr
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, Scene
from testing.chain import FEE, Chain
from testing.contracts import call, contract_of, operation_of, return_value
from testing.machine import ROOT, RunFailed

NET: Final = Network.TESTNET
_WASM: Final = ROOT / "contracts" / "wasm"
_LOOKS: Final = 200
_LOOK_S: Final = 0.25
_MARGIN: Final = 2  # of a copied resource fee and instructions, so that these refuse nothing


@dataclass(frozen=True, slots=True)
class Resources:
    """What a call that passes needs of the ledger; a twin is sent with the same."""

    data: xdr.SorobanTransactionData
    fee: int


class AutomationChain(Chain):
    """One network; every call is sent by an account of its own that pays the fee."""

    def __init__(self, devnet: Devnet, scene: Scene, senders: Sequence[Keypair]) -> None:
        super().__init__(NET, devnet, scene, senders[0])
        self._free: asyncio.Queue[Keypair] = asyncio.Queue()
        for each in senders:
            self._free.put_nowait(each)
        self._codes: dict[str, bytes] = {}
        self._uploading = asyncio.Lock()  # a second upload of one code at once would fail

    async def upload(self, name: str) -> bytes:
        """Put a committed contract's code on the ledger, once; its hash."""
        async with self._uploading:
            if name not in self._codes:
                code = (_WASM / f"{name}.wasm").read_bytes()
                upload = operation_of(lambda b: b.append_upload_contract_wasm_op(code))
                self._codes[name] = scval.from_bytes(await self.land(upload))
            return self._codes[name]

    async def deploy(self, name: str, *args: xdr.SCVal) -> str:
        """Create an instance of a committed contract; its address."""
        code = await self.upload(name)
        async with self._sender() as sender:
            made = await self._land(
                operation_of(
                    lambda b: b.append_create_contract_op(
                        code, sender.public_key, list(args), salt=secrets.token_bytes(32)
                    )
                ),
                sender,
            )
        return contract_of(made)

    async def status(self, transaction: str) -> str:
        """Read how a transaction ended."""
        found = await asyncio.to_thread(self._server.get_transaction, transaction)
        return str(found.status.value)

    async def give(self, payer: Keypair, token: str, to: str, amount: int) -> None:
        """Transfer from an account that sends the transaction itself."""
        parties = [scval.to_address(payer.public_key), scval.to_address(to)]
        args = [*parties, scval.to_int128(amount)]
        await self._land(call(token, "transfer", args), payer)

    async def resources(self, operation: Operation) -> Resources | str:
        """What a call needs that passes now; the refusal of one that does not."""
        simulated = await self._simulate(operation)
        if simulated.error or simulated.transaction_data is None:
            return simulated.error or "no transaction data"
        data = xdr.SorobanTransactionData.from_xdr(simulated.transaction_data)
        needed = data.resources
        needed.instructions = xdr.Uint32(needed.instructions.uint32 * _MARGIN)
        fee = int(simulated.min_resource_fee or 0) * _MARGIN
        data.resource_fee = xdr.Int64(fee)
        return Resources(data, fee)

    async def land(self, operation: Operation) -> xdr.SCVal:
        """Settle a call in a ledger; what it returns.

        Raises:
            RunFailed: it is refused or fails.
        """
        async with self._sender() as sender:
            return await self._land(operation, sender)

    async def land_with(self, operation: Operation, needed: Resources) -> GetTransactionStatus:
        """Settle a call with the resources of another one; how it ended."""
        async with self._sender() as sender:
            envelope = await self._build(operation, sender)
            envelope.transaction.soroban_data = needed.data
            envelope.transaction.fee = needed.fee + FEE
            return (await self._deliver(envelope, sender)).status

    async def _land(self, operation: Operation, sender: Keypair) -> xdr.SCVal:
        found = await self._deliver(await self._prepare(operation, sender), sender)
        if found.status is not GetTransactionStatus.SUCCESS:
            raise RunFailed(f"a call ended with {found.status}")
        return return_value(found)

    async def _deliver(
        self, envelope: TransactionEnvelope, sender: Keypair
    ) -> GetTransactionResponse:
        envelope.sign(sender)
        sent = await asyncio.to_thread(self._server.send_transaction, envelope)
        if sent.error_result_xdr is not None:
            raise RunFailed(f"the node takes no transaction: {sent.error_result_xdr}")
        for _ in range(_LOOKS):
            found = await asyncio.to_thread(self._server.get_transaction, sent.hash)
            if found.status is not GetTransactionStatus.NOT_FOUND:
                return found
            await asyncio.sleep(_LOOK_S)
        raise RunFailed(f"the transaction {sent.hash} is in no ledger")

    def _sender(self) -> "_Lease":
        return _Lease(self._free)


class _Lease:
    """An account of the pool for one transaction at a time, so that sequences do not collide."""

    def __init__(self, free: asyncio.Queue[Keypair]) -> None:
        self._free = free
        self._held: Keypair | None = None

    async def __aenter__(self) -> Keypair:
        self._held = await self._free.get()
        return self._held

    async def __aexit__(self, *_: object) -> None:
        if self._held is not None:
            self._free.put_nowait(self._held)
