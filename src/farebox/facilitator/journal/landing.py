"""What a fate on the ledger means for a payment: confirmed, or a failure with its reason."""

from dataclasses import replace

from farebox.facilitator.settlement import Claim, Ending, Settlement, SettlementState
from farebox.stellar.events import (
    ContractEvent,
    decode_contract_event,
    looks_like_token_movement,
    read_transfer_event,
)
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.submission.fate import Dead, SentEnvelope, Unproven
from farebox.x402.reasons import Reason


def ending_of(fate: TransactionFound | Dead | Unproven, payment: Claim | Settlement) -> Ending:
    """How a settlement ends that met this fate."""
    match fate:
        case TransactionFound():
            return _landed(fate, payment)
        case Dead():
            return Ending(SettlementState.DEAD, Reason.TRANSACTION_FAILED)
        case Unproven():
            return Ending(SettlementState.UNPROVEN, Reason.OUTCOME_UNPROVEN)


def _landed(found: TransactionFound, payment: Claim | Settlement) -> Ending:
    """Success is the ledger's result *and* the expected transfer among its events."""
    moved = found.status is LedgerStatus.SUCCESS and holds_transfer(found, payment)
    return Ending(
        SettlementState.CONFIRMED if moved else SettlementState.FAILED,
        None if moved else Reason.TRANSACTION_FAILED,
        detail=found.operation_code or found.result_code,
        ledger=found.ledger,
        fee_charged=found.fee_charged,
        moved_more=moved_more(found, payment),
    )


def landed_as(found: TransactionFound, ending: Ending, sent: SentEnvelope) -> Ending:
    """`ending` of an envelope that may have landed inside a stranger's fee bump.

    Such a transaction is ours all the same, under the inner hash, and the stranger paid for it.
    """
    inner = sent.inner_hash or sent.tx_hash
    if found.hash == sent.tx_hash.hex() and (found.inner_hash is None or sent.inner_hash):
        return ending
    landed_hash = inner if inner != sent.tx_hash else None  # what the node resolves
    return replace(ending, landed_hash=landed_hash, fee_charged=0)


def holds_transfer(found: TransactionFound, payment: Claim | Settlement) -> bool:
    """Whether the transaction's events hold the transfer this payment is."""
    return any(_is_payment(event, payment) for event in _events(found))


def moved_more(found: TransactionFound, payment: Claim | Settlement) -> bool:
    """Whether a token movement beside the payment is among the transaction's events.

    It does not turn a landed payment into a failure; the operator should know who does it.
    """
    movements = [event for event in _events(found) if looks_like_token_movement(event)]
    return sum(not _is_payment(event, payment) for event in movements) > 0


def _events(found: TransactionFound) -> list[ContractEvent]:
    listed = (event for operation in found.contract_events for event in operation)
    return [event for encoded in listed if (event := decode_contract_event(encoded)) is not None]


def _is_payment(event: ContractEvent, payment: Claim | Settlement) -> bool:
    moved = read_transfer_event(event)
    if moved is None or moved.muxed_id is not None:
        return False
    expected = (payment.asset, payment.identity.payer, payment.pay_to, payment.amount)
    return (moved.asset, moved.sender, moved.recipient, moved.amount) == expected
