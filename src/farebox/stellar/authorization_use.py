"""The use of a payer's authorization on the ledger: its transfer landed, may land, or never will.

A node's answers are the only evidence, and ledgers the only time: no clock is read, and no word of
a seller counts. A transfer has landed where one transaction succeeded, made exactly that transfer,
and carried the entry of this payer and nonce.
"""

from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import Address
from farebox.kernel.amounts import BaseUnits
from farebox.kernel.networks import Network
from farebox.stellar.events import decode_contract_event, read_transfer_event
from farebox.stellar.rpc import (
    LandedEnvelope,
    LedgerStatus,
    RpcUnavailable,
    TransactionFound,
    TransferWindow,
)
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.stellar.transfer_envelope import (
    MuxedParty,
    TransferEnvelope,
    read_transfer_envelope,
)
from farebox.stellar.transfer_search import LEDGERS_MISSING, nonce_key, read_use, transfer_call

_MAX_EVENTS: Final = 200  # of one list; where there are more, its ledgers are searched in halves
_MAX_LEDGERS: Final = 5_000  # of one list; nodes scan 10,000 at most


@dataclass(frozen=True, slots=True)
class AuthorizedTransfer:
    """The one transfer that an authorization allows, until `expires_at_ledger` has closed."""

    network: Network
    asset: Address
    amount: BaseUnits
    pay_to: Address
    payer: Address
    nonce: int
    expires_at_ledger: int

    @property
    def root_call(self) -> bytes:
        """The InvokeContractArgs (XDR) of the transfer."""
        return transfer_call(self.asset, self.payer, self.pay_to, self.amount)


@dataclass(frozen=True, slots=True)
class TransferLanded:
    """The node shows the transfer."""

    tx_hash: str


@dataclass(frozen=True, slots=True)
class TransferOpen:
    """The transfer is not shown as of `latest_ledger`, and may have landed or land yet.

    `is_used`: the nonce is used, so that it has landed, and the node does not show where.
    """

    latest_ledger: int
    is_used: bool = False


@dataclass(frozen=True, slots=True)
class TransferVoid:
    """The authorization has expired, and no ledger that it was valid in has its use."""

    latest_ledger: int


AuthorizationUse = TransferLanded | TransferOpen | TransferVoid


async def find_use(
    node: SorobanRpc, transfer: AuthorizedTransfer, *, first_ledger: int
) -> AuthorizationUse:
    """Find the use of an authorization that was signed in `first_ledger`.

    The entry of a used nonce exists as long as the authorization is valid. After that, the node's
    history alone can tell; one that does not reach from `first_ledger` to the last proves nothing.

    Raises:
        RpcUnavailable: the node gave no usable answer.
    """
    key, last = nonce_key(transfer.payer, transfer.nonce), transfer.expires_at_ledger
    found = await node.ledger_entries([key])
    if found.entries:
        used_in = found.entries[0].modified_in_ledger
        first = first_ledger if used_in is None else used_in
        end = min(last, found.latest_ledger) if used_in is None else used_in
        tx_hash = await _search(node, transfer, first, end)
        return (
            TransferLanded(tx_hash) if tx_hash else TransferOpen(found.latest_ledger, is_used=True)
        )
    if found.latest_ledger <= last:
        return TransferOpen(found.latest_ledger)
    tx_hash = await _search(node, transfer, first_ledger, last)
    if tx_hash is None:
        return TransferOpen(found.latest_ledger)
    return TransferLanded(tx_hash) if tx_hash else TransferVoid(found.latest_ledger)


async def shows_use(node: SorobanRpc, transfer: AuthorizedTransfer, tx_hash: str) -> bool:
    """Whether the node shows that this transaction used the authorization.

    Raises:
        RpcUnavailable: the node gave no usable answer.
    """
    found = await node.ledger_entries([nonce_key(transfer.payer, transfer.nonce)])
    is_unused = not found.entries and found.latest_ledger <= transfer.expires_at_ledger
    return not is_unused and await _made_transfer(node, transfer, tx_hash) is True


def read_authorized_transfer(envelope: bytes, network: Network) -> AuthorizedTransfer | None:
    """Read the transfer that a payment's envelope makes and its payer authorizes; None without."""
    read = read_transfer_envelope(envelope)
    if not isinstance(read, TransferEnvelope) or isinstance(read.pay_to, MuxedParty):
        return None
    own = [entry for entry in read.entries if entry.address == read.payer]
    if len(own) != 1 or not own[0].is_contract_call or own[0].root_call != read.call:
        return None
    return AuthorizedTransfer(
        network=network,
        asset=read.contract,
        amount=BaseUnits(read.amount),
        pay_to=read.pay_to,
        payer=read.payer,
        nonce=own[0].nonce,
        expires_at_ledger=own[0].expires_at_ledger,
    )


async def _search(
    node: SorobanRpc, transfer: AuthorizedTransfer, first: int, last: int
) -> str | None:
    """Find the transaction in these ledgers: its hash, "" where none is, None where unknown."""
    if last - first >= _MAX_LEDGERS:
        return await _search_halves(node, transfer, first, last)
    window = TransferWindow(transfer.asset, transfer.payer, transfer.pay_to, first, last)
    try:
        listed = await node.transfers(window, limit=_MAX_EVENTS)
    except RpcUnavailable as refusal:
        if refusal.code in LEDGERS_MISSING:
            return None
        raise
    is_full = listed.events >= _MAX_EVENTS
    if is_full and first < last:
        return await _search_halves(node, transfer, first, last)
    is_known = listed.latest_ledger >= last and not is_full
    for tx_hash in listed.hashes:
        made = await _made_transfer(node, transfer, tx_hash)
        if made:
            return tx_hash
        is_known = is_known and made is not None
    return "" if is_known else None


async def _search_halves(
    node: SorobanRpc, transfer: AuthorizedTransfer, first: int, last: int
) -> str | None:
    middle = (first + last) // 2
    early = await _search(node, transfer, first, middle)
    if early:
        return early
    late = await _search(node, transfer, middle + 1, last)
    return late if late or early is not None else None


async def _made_transfer(
    node: SorobanRpc, transfer: AuthorizedTransfer, tx_hash: str
) -> bool | None:
    """Whether this transaction used the authorization; None where the node does not know it."""
    found = await node.get_transaction(tx_hash)
    if not isinstance(found, TransactionFound):
        return None
    if found.status is not LedgerStatus.SUCCESS or not _has_event(found, transfer):
        return False
    landed = await node.landed_envelope(tx_hash)
    if not isinstance(landed, LandedEnvelope):
        return None
    use = read_use(
        landed.xdr,
        tx_hash,
        network=transfer.network,
        payer=transfer.payer,
        nonce=transfer.nonce,
        root_call=transfer.root_call,
    )
    return use is not None


def _has_event(found: TransactionFound, transfer: AuthorizedTransfer) -> bool:
    expected = (transfer.asset, transfer.payer, transfer.pay_to, transfer.amount)
    for encoded in (each for operation in found.contract_events for each in operation):
        event = decode_contract_event(encoded)
        moved = None if event is None else read_transfer_event(event)
        if moved is not None and expected == (
            moved.asset,
            moved.sender,
            moved.recipient,
            moved.amount,
        ):
            return True
    return False
