"""A node with the ledger of one payment, for the tests of buyers: landed or not, at any ledger."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from stellar_sdk import TransactionEnvelope, xdr

from farebox.kernel.amounts import Stroops
from farebox.kernel.networks import Network
from farebox.stellar.authorization_use import AuthorizedTransfer
from farebox.stellar.rpc import (
    LandedEnvelope,
    LatestLedger,
    LedgerEntries,
    LedgerEntry,
    LedgerStatus,
    NoEnvelope,
    RawSimulation,
    RpcUnavailable,
    TransactionFound,
    TransactionNotFound,
    TransfersFound,
    TransferWindow,
)
from support.events import transfer_event
from support.fake_rpc import FakeRpc
from support.sdk_ledger_keys import resource_data

CLOSED_AT = datetime(2026, 11, 21, tzinfo=UTC)
RESOURCES = resource_data(sizes=(1, 1, 1), fee=33_611).to_xdr()


@dataclass
class Landed:
    """A transaction on the ledger; `envelope` is base64."""

    envelope: str
    ledger: int
    events: tuple[str, ...]
    status: LedgerStatus = LedgerStatus.SUCCESS

    @property
    def tx_hash(self) -> str:
        """The hash of the envelope on testnet."""
        passphrase = Network.TESTNET.passphrase
        return TransactionEnvelope.from_xdr(self.envelope, passphrase).hash_hex()


def landing(transfer: AuthorizedTransfer, envelope: str, ledger: int) -> Landed:
    """The landing of a payment: its envelope, with the event of its transfer."""
    told = transfer_event(transfer.asset, transfer.payer, transfer.pay_to, transfer.amount)
    moved = xdr.DiagnosticEvent.from_xdr(told).event.to_xdr()
    return Landed(envelope, ledger, (moved,))


@dataclass
class BuyerNode(FakeRpc):
    """One node; `used_in` is the ledger in which the nonce was used, `oldest` begins its history.

    `is_away`: it gives no answer. `events` are told for each transaction that is listed.
    """

    latest: int = 1000
    oldest: int = 1
    used_in: int | None = None
    landed: list[Landed] = field(default_factory=list)
    is_away: bool = False
    events: int = 1
    windows: list[TransferWindow] = field(default_factory=list)

    def _answer(self) -> None:
        if self.is_away:
            raise RpcUnavailable(Network.TESTNET, "the node is away", certainly_not_sent=False)

    async def latest_ledger(self) -> LatestLedger:
        """Return the newest ledger."""
        self._answer()
        return LatestLedger(self.latest, CLOSED_AT)

    async def simulate(self, envelope: str) -> RawSimulation:
        """Simulate without a fault."""
        self._answer()
        return RawSimulation({"transactionData": RESOURCES})

    async def ledger_entries(self, keys: Sequence[bytes]) -> LedgerEntries:
        """Return the entry of the nonce, once it was used."""
        self._answer()
        if self.used_in is None or self.used_in > self.latest:
            return LedgerEntries((), self.latest)
        entry = LedgerEntry(keys[0], b"", self.latest + 1, self.used_in)
        return LedgerEntries((entry,), self.latest)

    async def transfers(self, window: TransferWindow, *, limit: int) -> TransfersFound:
        """List the transactions of the window; a ledger before the history is an error."""
        self._answer()
        self.windows.append(window)
        if window.first_ledger < self.oldest:
            raise RpcUnavailable(Network.TESTNET, "gone", certainly_not_sent=False, code=-32600)
        inside = range(window.first_ledger, window.last_ledger + 1)
        hashes = [each.tx_hash for each in self.landed if each.ledger in inside]
        return TransfersFound(
            tuple(hashes[:limit]), self.latest, min(limit, len(hashes) * self.events)
        )

    async def get_transaction(self, tx_hash: str) -> TransactionFound | TransactionNotFound:
        """Find a transaction."""
        self._answer()
        for each in self.landed:
            if each.tx_hash == tx_hash:
                fee = Stroops(100)
                return TransactionFound(
                    tx_hash, each.status, each.ledger, CLOSED_AT, "", None, fee, (each.events,)
                )
        return TransactionNotFound(self.latest, CLOSED_AT, self.oldest, CLOSED_AT)

    async def landed_envelope(self, tx_hash: str) -> LandedEnvelope | NoEnvelope:
        """Return the envelope of a transaction."""
        self._answer()
        for each in self.landed:
            if each.tx_hash == tx_hash:
                return LandedEnvelope(base64.b64decode(each.envelope), CLOSED_AT)
        return NoEnvelope(is_unknown=True)
