"""A devnet for `upto`: its accounts, the settlement contract, and how calls of it end."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

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
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from e2e.machine import ROOT, RunFailed
from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, Scene

WASM: Final = ROOT / "contracts" / "wasm" / "upto_settlement.wasm"
_FEE: Final = 1_000_000
Entry = xdr.SorobanAuthorizationEntry


@dataclass(frozen=True, slots=True)
class Landed:
    """How a call ended on the ledger."""

    status: GetTransactionStatus
    returned: xdr.SCVal | None = None
    transfers: tuple[tuple[str, str, int], ...] = ()


class Chain:
    """One devnet whose ledgers are closed by hand, and the deployed contract."""

    def __init__(self, network: Network, devnet: Devnet, scene: Scene) -> None:
        self.network, self.scene = network, scene
        self.sender = Keypair.from_secret(scene.payers[0].secret.reveal())
        self.contract = ""
        self._devnet, self._server = devnet, SorobanServer(devnet.rpc_url)

    async def deploy(self) -> None:
        """Upload and create the settlement contract."""
        wasm = WASM.read_bytes()
        stored = await self.land(_operation(lambda b: b.append_upload_contract_wasm_op(wasm)))
        code, sender = scval.from_bytes(_returned(stored)), self.sender.public_key
        made = await self.land(_operation(lambda b: b.append_create_contract_op(code, sender)))
        place = _returned(made).address
        if place is None or place.contract_id is None:
            raise RunFailed("the network returned no address of the contract")
        self.contract = StrKey.encode_contract(place.contract_id.contract_id.hash)

    async def ledger(self) -> int:
        """Read the number of the last closed ledger."""
        return (await asyncio.to_thread(self._server.get_latest_ledger)).sequence

    async def jump(self, seconds: int, ledgers: int = 1) -> None:
        """Let time pass."""
        await self._devnet.jump(seconds, ledgers=ledgers)

    async def balance(self, holder: str) -> int:
        """Read a balance of the scene's asset."""
        value = await self.read(self.scene.asset, "balance", scval.to_address(holder))
        return scval.from_int128(value)

    async def allowance(self, payer: str) -> int:
        """Read what the contract may still take from a payer."""
        parties = [scval.to_address(payer), scval.to_address(self.contract)]
        return scval.from_int128(await self.read(self.scene.asset, "allowance", *parties))

    async def now(self) -> int:
        """Read the close time of the last ledger."""
        latest = await asyncio.to_thread(self._server.get_latest_ledger)
        return int(latest.close_time)

    async def read(self, contract: str, function: str, *args: xdr.SCVal) -> xdr.SCVal:
        """Call a function that changes nothing."""
        operation = call(contract, function, args)
        envelope = await self._build(operation)
        simulated = await asyncio.to_thread(self._server.simulate_transaction, envelope)
        if not simulated.results:
            raise RunFailed(f"{function} failed: {simulated.error}")
        return xdr.SCVal.from_xdr(simulated.results[0].xdr)

    async def refusal(self, operation: Operation) -> str:
        """Simulate with the operation's own authorizations; why it is refused, or nothing."""
        envelope = await self._build(operation)
        simulated = await asyncio.to_thread(self._server.simulate_transaction, envelope)
        return simulated.error or ""

    async def land(self, operation: Operation, *, like: Operation | None = None) -> Landed:
        """Include a call in the next ledger, `like` another one's resources if it cannot simulate.

        Raises:
            RunFailed: the call is refused before it is sent.
        """
        return (await self.land_together([operation], like=like))[0]

    async def land_together(
        self, operations: Sequence[Operation], *, like: Operation | None = None
    ) -> list[Landed]:
        """Include calls in one ledger, each from an account of its own, in either order."""
        senders = [Keypair.from_secret(each.secret.reveal()) for each in self.scene.payers]
        sent = []
        for operation, sender in zip(operations, senders, strict=False):
            envelope = await self._prepare(operation, like or operation, sender)
            envelope.sign(sender)
            sent.append(await asyncio.to_thread(self._server.send_transaction, envelope))
        await self._devnet.close()
        found = [await asyncio.to_thread(self._server.get_transaction, each.hash) for each in sent]
        return [self._read(each) for each in found]

    async def _prepare(
        self, operation: Operation, like: Operation, sender: Keypair
    ) -> TransactionEnvelope:
        model = await self._build(like, sender=sender)
        try:
            model = await asyncio.to_thread(self._server.prepare_transaction, model)
        except Exception as error:
            raise RunFailed(f"a call is refused before it is sent: {error}") from error
        if like is operation:
            return model
        envelope = await self._build(operation, sender=sender, fee=model.transaction.fee)
        envelope.transaction.soroban_data = model.transaction.soroban_data
        return envelope

    async def _build(
        self, operation: Operation, *, sender: Keypair | None = None, fee: int = _FEE
    ) -> TransactionEnvelope:
        source = (sender or self.sender).public_key
        account = await asyncio.to_thread(self._server.load_account, source)
        builder = TransactionBuilder(account, self.network.passphrase, base_fee=fee)
        return builder.append_operation(operation).add_time_bounds(0, 0).build()

    def _read(self, found: GetTransactionResponse) -> Landed:
        if found.status is not GetTransactionStatus.SUCCESS or found.result_meta_xdr is None:
            return Landed(found.status)
        meta = xdr.TransactionMeta.from_xdr(found.result_meta_xdr).v4
        if meta is None or meta.soroban_meta is None:
            raise RunFailed("the network returned no result of an invocation")
        events = [event for each in meta.operations for event in each.events]
        asset = xdr.ContractID.from_xdr_bytes(StrKey.decode_contract(self.scene.asset))
        moved = [_transfer(event) for event in events if event.contract_id == asset]
        transfers = tuple(each for each in moved if each is not None)
        return Landed(found.status, meta.soroban_meta.return_value, transfers)


def call(
    contract: str, function: str, args: Sequence[xdr.SCVal], auth: Sequence[Entry] = ()
) -> Operation:
    """A call of a contract with authorizations."""
    return _operation(
        lambda b: b.append_invoke_contract_function_op(contract, function, args, list(auth))
    )


def _transfer(event: xdr.ContractEvent) -> tuple[str, str, int] | None:
    """From, to and amount of a transfer event; None for another one."""
    body = event.body.v0
    if body is None or len(body.topics) < 3 or body.topics[0] != scval.to_symbol("transfer"):
        return None
    payer, payee = (scval.from_address(each).address for each in body.topics[1:3])
    return payer, payee, scval.from_int128(body.data)


def _operation(append: Callable[[TransactionBuilder], object]) -> Operation:
    builder = TransactionBuilder(Account(Keypair.random().public_key, 0))
    append(builder)
    return builder.operations[0]


def _returned(landed: Landed) -> xdr.SCVal:
    if landed.returned is None:
        raise RunFailed(f"a call of the set-up ended with {landed.status}")
    return landed.returned
