"""A devnet as the end-to-end run of automation uses it: the public SDK over RPC, no service."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import requests
from stellar_sdk import (
    Account,
    Keypair,
    SorobanServer,
    StrKey,
    TransactionBuilder,
    TransactionEnvelope,
    scval,
    xdr,
)
from stellar_sdk.client.requests_client import RequestsClient
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from e2e.machine import ROOT, RunFailed
from e2e.upto_chain import Entry, call
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, Scene

__all__ = ["AutomationChain", "Entry", "Resources", "call"]

NET: Final = Network.TESTNET
_WASM: Final = ROOT / "contracts" / "wasm"
_FEE: Final = 1_000_000
_LOOKS: Final = 200
_LOOK_S: Final = 0.25
_MARGIN: Final = 2  # of a copied resource fee and instructions, so that these refuse nothing


@dataclass(frozen=True, slots=True)
class Resources:
    """What a call that passes needs of the ledger; a twin is sent with the same."""

    data: xdr.SorobanTransactionData
    fee: int


class AutomationChain:
    """One network; every call is sent by an account of its own that pays the fee."""

    def __init__(self, devnet: Devnet, scene: Scene, senders: Sequence[Keypair]) -> None:
        self.devnet, self.scene = devnet, scene
        self._server = SorobanServer(devnet.rpc_url, client=_client(devnet))
        self._free: asyncio.Queue[Keypair] = asyncio.Queue()
        for each in senders:
            self._free.put_nowait(each)
        self._reader = senders[0].public_key
        self._codes: dict[str, bytes] = {}
        self._uploading = asyncio.Lock()  # a second upload of one code at once would fail

    async def ledger(self) -> int:
        """Read the number of the last closed ledger."""
        return (await asyncio.to_thread(self._server.get_latest_ledger)).sequence

    async def now(self) -> int:
        """Read the close time of the last closed ledger."""
        return int((await asyncio.to_thread(self._server.get_latest_ledger)).close_time)

    async def upload(self, name: str) -> bytes:
        """Put a committed contract's code on the ledger, once; its hash."""
        async with self._uploading:
            if name not in self._codes:
                code = (_WASM / f"{name}.wasm").read_bytes()
                upload = _operation(lambda b: b.append_upload_contract_wasm_op(code))
                self._codes[name] = scval.from_bytes(await self.land(upload))
            return self._codes[name]

    async def deploy(self, name: str, *args: xdr.SCVal) -> str:
        """Create an instance of a committed contract; its address."""
        code = await self.upload(name)
        async with self._sender() as sender:
            made = await self._land(
                _operation(
                    lambda b: b.append_create_contract_op(
                        code, sender.public_key, list(args), salt=secrets.token_bytes(32)
                    )
                ),
                sender,
            )
        if made.address is None or made.address.contract_id is None:
            raise RunFailed("the network returned no address of the contract")
        return StrKey.encode_contract(made.address.contract_id.contract_id.hash)

    async def read(self, contract: str, function: str, *args: xdr.SCVal) -> xdr.SCVal:
        """Call a function that changes nothing; what it returns."""
        operation = call(contract, function, args)
        envelope = await self._build(operation, self._reader)
        simulated = await asyncio.to_thread(self._server.simulate_transaction, envelope)
        if not simulated.results:
            raise RunFailed(f"{function} failed: {simulated.error}")
        return xdr.SCVal.from_xdr(simulated.results[0].xdr)

    async def balance(self, token: str, holder: str) -> int:
        """Read a balance."""
        return scval.from_int128(await self.read(token, "balance", scval.to_address(holder)))

    async def status(self, transaction: str) -> str:
        """Read how a transaction ended."""
        found = await asyncio.to_thread(self._server.get_transaction, transaction)
        return str(found.status.value)

    async def give(self, payer: Keypair, token: str, to: str, amount: int) -> None:
        """Transfer from an account that sends the transaction itself."""
        parties = [scval.to_address(payer.public_key), scval.to_address(to)]
        args = [*parties, scval.to_int128(amount)]
        await self._land(call(token, "transfer", args), payer)

    async def refusal(self, operation: Operation) -> str:
        """Simulate with the operation's own authorizations; why it is refused, or nothing."""
        envelope = await self._build(operation, self._reader)
        simulated = await asyncio.to_thread(self._server.simulate_transaction, envelope)
        return simulated.error or ""

    async def resources(self, operation: Operation) -> Resources | str:
        """What a call needs that passes now; the refusal of one that does not."""
        envelope = await self._build(operation, self._reader)
        simulated = await asyncio.to_thread(self._server.simulate_transaction, envelope)
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
            envelope = await self._build(operation, sender.public_key)
            envelope.transaction.soroban_data = needed.data
            envelope.transaction.fee = needed.fee + _FEE
            return (await self._deliver(envelope, sender)).status

    async def _land(self, operation: Operation, sender: Keypair) -> xdr.SCVal:
        envelope = await self._build(operation, sender.public_key)
        try:
            prepared = await asyncio.to_thread(self._server.prepare_transaction, envelope)
        except Exception as error:
            raise RunFailed(f"a call is refused before it is sent: {error}") from error
        found = await self._deliver(prepared, sender)
        if found.status is not GetTransactionStatus.SUCCESS or found.result_meta_xdr is None:
            raise RunFailed(f"a call ended with {found.status}")
        meta = xdr.TransactionMeta.from_xdr(found.result_meta_xdr).v4
        if meta is None or meta.soroban_meta is None or meta.soroban_meta.return_value is None:
            raise RunFailed("the network returned no result of an invocation")
        return meta.soroban_meta.return_value

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

    async def _build(self, operation: Operation, source: str) -> TransactionEnvelope:
        account = await asyncio.to_thread(self._server.load_account, source)
        builder = TransactionBuilder(account, NET.passphrase, base_fee=_FEE)
        return builder.append_operation(operation).add_time_bounds(0, 0).build()

    def _sender(self) -> "_Lease":
        return _Lease(self._free)


def _client(devnet: Devnet) -> RequestsClient:
    """An HTTP client that trusts the devnet's own authority, if it has one."""
    session = requests.Session()
    session.trust_env = False
    if devnet.authority is not None:
        session.verify = str(devnet.authority)
    return RequestsClient(session=session)


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


def _operation(append: Callable[[TransactionBuilder], object]) -> Operation:
    builder = TransactionBuilder(Account(Keypair.random().public_key, 0))
    append(builder)
    return builder.operations[0]
