"""Record that the owner of a wrapper paid an owed payment back."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from farebox.audit.audit_store import insert_event
from farebox.audit.event import Action, AuditEvent
from farebox.gateway.payments import record_store
from farebox.gateway.payments.find_payments import Payments
from farebox.gateway.payments.payment_record import PaymentRecord, RecordState
from farebox.kernel.addresses import Address
from farebox.kernel.caller import Caller, user_id
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import NotFound, Refusal
from farebox.kernel.networks import Network
from farebox.stellar.events import decode_contract_event, read_transfer_event
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.stellar.soroban_rpc import SorobanRpc
from farebox.storage.faults import Conflict
from farebox.storage.pool import Database

ONE_REFUND: Final = "gateway_payments_refund"  # the unique index


class RefundFault(StrEnum):
    """Why a transaction is no refund of a payment."""

    NOT_FOUND = "It is not on the ledgers that the node knows."
    FAILED = "It failed on the ledger."
    TOO_EARLY = "It is older than the payment."
    TOO_LITTLE = (
        "It does not move at least the amount, in the same token, to the payer, from the account "
        "that was paid or from one that you have signed in with."
    )
    SETTLED_HERE = "It is a payment that was settled here."
    COUNTED = "It is the refund of another payment."


class RefundRefused(Refusal):
    """The transaction is no refund of the payment."""

    def __init__(self, fault: RefundFault) -> None:
        super().__init__(ErrorCode.INVALID_REFUND, fault.value)
        self.fault = fault


class PaymentNotOwed(Refusal):
    """The payment is not owed: it was delivered, or may still be."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.PAYMENT_NOT_OWED)


class Refunds:
    """Records refunds; `nodes` has every network that the service settles on."""

    def __init__(
        self, database: Database, payments: Payments, nodes: Mapping[Network, SorobanRpc]
    ) -> None:
        self._database, self._payments, self._nodes = database, payments, nodes

    async def record(
        self, caller: Caller, request_id: str, tx_hash: str, refund_hash: str
    ) -> PaymentRecord:
        """Record a transaction as the refund of an owed payment; again, it changes nothing.

        Args:
            caller: the owner of the wrapper.
            request_id: the id of the request, for the audit log.
            tx_hash: the payment's transaction.
            refund_hash: the refund's transaction.

        Raises:
            NotFound: the caller has no such payment.
            PaymentNotOwed: the payment is not owed.
            RefundRefused: the transaction is no refund of the payment, or counts for another one.
            Outage: the node cannot be asked now.
        """
        known = await self._payments.find(tx_hash)
        if known.sale is None or known.sale.owner != caller.owner:
            raise NotFound
        node = self._nodes.get(known.identity.network)
        if node is None:
            raise RefundRefused(RefundFault.NOT_FOUND)
        found = await node.get_transaction(refund_hash)
        if not isinstance(found, TransactionFound):
            raise RefundRefused(RefundFault.NOT_FOUND)
        inner = found.inner_hash or found.hash  # the same by whichever hash it is named
        if known.state is RecordState.REFUNDED and known.refund_hash == inner:
            return known
        if known.state is not RecordState.OWED:
            raise PaymentNotOwed
        fault = judge_refund(found, known)
        if fault is not None:
            raise RefundRefused(fault)
        is_written = await self._write(caller, request_id, known, {found.hash, inner}, inner)
        shown = await self._payments.find(tx_hash)
        if not is_written and shown.refund_hash != inner:
            raise PaymentNotOwed
        return shown

    async def _write(
        self,
        caller: Caller,
        request_id: str,
        known: PaymentRecord,
        hashes: set[str],
        refund_hash: str,
    ) -> bool:
        """Record the refund; False when the payment is not owed any more."""
        try:
            async with self._database.transaction() as db:
                for each in hashes:
                    if await record_store.find_record(db, bytes.fromhex(each)) is not None:
                        raise RefundRefused(RefundFault.SETTLED_HERE)
                if not await record_store.record_refund(db, known.identity, refund_hash):
                    return False
                event = AuditEvent(caller, Action.PAYMENT_REFUNDED, known.tx_hash, request_id)
                await insert_event(db, event)
                return True
        except Conflict as conflict:
            if conflict.constraint != ONE_REFUND:
                raise
            raise RefundRefused(RefundFault.COUNTED) from None


def judge_refund(found: TransactionFound, payment: PaymentRecord) -> RefundFault | None:
    """Judge a transaction as the refund of a payment; None when it is one.

    Only transfers of the seller count, and none before the payment: what somebody else paid the
    payer, as for another purchase, closes nothing.
    """
    if found.status is not LedgerStatus.SUCCESS:
        return RefundFault.FAILED
    if is_older(found, payment):
        return RefundFault.TOO_EARLY
    payer, moved = payment.identity.payer, 0
    for encoded in (event for events in found.contract_events for event in events):
        event = decode_contract_event(encoded)
        transfer = None if event is None else read_transfer_event(event)
        if transfer is None or transfer.asset != payment.asset:
            continue
        if transfer.recipient == payer and _is_of_seller(transfer.sender, payment):
            moved += transfer.amount
    return None if moved >= payment.amount else RefundFault.TOO_LITTLE


def _is_of_seller(sender: Address | None, payment: PaymentRecord) -> bool:
    """Whether the account was paid, or is the one that the wrapper's owner signs in with.

    An owner's id is that of one account on one network, which a sign-in has proven. The operator's
    wrappers have no such account.
    """
    if sender is None or sender == payment.identity.payer:
        return False
    if sender == payment.pay_to:
        return True
    owner = None if payment.sale is None else payment.sale.owner
    return user_id(payment.identity.network, sender) == owner


def is_older(found: TransactionFound, payment: PaymentRecord) -> bool:
    """Whether a transaction is not later than the payment.

    The ledger of a payment that a stranger's transaction landed is not recorded: the time decides.
    """
    if payment.ledger is None:
        return found.closed_at < payment.claimed_at
    return found.ledger <= payment.ledger
