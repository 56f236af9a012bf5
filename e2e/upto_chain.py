"""A devnet for `upto`: its accounts, the settlement contract, and how calls of it end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stellar_sdk import Keypair, StrKey, TransactionEnvelope, scval, xdr
from stellar_sdk.operation import Operation
from stellar_sdk.soroban_rpc import GetTransactionResponse, GetTransactionStatus

from farebox.kernel.networks import Network
from farebox.local.devnet import Devnet, Scene
from testing.chain import Chain
from testing.contracts import contract_of, operation_of
from testing.machine import ROOT, RunFailed

WASM: Final = ROOT / "contracts" / "wasm" / "upto_settlement.wasm"


@dataclass(frozen=True, slots=True)
class Landed:
    """How a call ended on the ledger."""

    status: GetTransactionStatus
    returned: xdr.SCVal | None = None
    transfers: tuple[tuple[str, str, int], ...] = ()


class UptoChain(Chain):
    """One devnet whose ledgers are closed by hand, and the deployed contract."""

    def __init__(self, network: Network, devnet: Devnet, scene: Scene) -> None:
        self.sender = Keypair.from_secret(scene.payers[0].secret.reveal())
        self.contract = ""
        super().__init__(network, devnet, scene, self.sender)

    async def deploy(self) -> None:
        """Upload and create the settlement contract."""
        wasm = WASM.read_bytes()
        stored = await self.land(operation_of(lambda b: b.append_upload_contract_wasm_op(wasm)))
        code, sender = scval.from_bytes(_returned(stored)), self.sender.public_key
        made = await self.land(operation_of(lambda b: b.append_create_contract_op(code, sender)))
        self.contract = contract_of(_returned(made))

    async def jump(self, seconds: int, ledgers: int = 1) -> None:
        """Let time pass."""
        await self.devnet.jump(seconds, ledgers=ledgers)

    async def allowance(self, payer: str) -> int:
        """Read what the contract may still take from a payer."""
        parties = [scval.to_address(payer), scval.to_address(self.contract)]
        return scval.from_int128(await self.read(self.scene.asset, "allowance", *parties))

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
            envelope = await self._copy_resources(operation, like or operation, sender)
            envelope.sign(sender)
            sent.append(await asyncio.to_thread(self._server.send_transaction, envelope))
        await self.devnet.close()
        found = [await asyncio.to_thread(self._server.get_transaction, each.hash) for each in sent]
        return [self._read(each) for each in found]

    async def _copy_resources(
        self, operation: Operation, like: Operation, sender: Keypair
    ) -> TransactionEnvelope:
        model = await self._prepare(like, sender)
        if like is operation:
            return model
        envelope = await self._build(operation, sender, fee=model.transaction.fee)
        envelope.transaction.soroban_data = model.transaction.soroban_data
        return envelope

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


def _transfer(event: xdr.ContractEvent) -> tuple[str, str, int] | None:
    """From, to and amount of a transfer event; None for another one."""
    body = event.body.v0
    if body is None or len(body.topics) < 3 or body.topics[0] != scval.to_symbol("transfer"):
        return None
    payer, payee = (scval.from_address(each).address for each in body.topics[1:3])
    return payer, payee, scval.from_int128(body.data)


def _returned(landed: Landed) -> xdr.SCVal:
    if landed.returned is None:
        raise RunFailed(f"a call of the set-up ended with {landed.status}")
    return landed.returned
