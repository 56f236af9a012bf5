"""Which transactions are refunds of a payment."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from stellar_sdk import Keypair, xdr

from farebox.facilitator.settlement import PaymentIdentity
from farebox.gateway.payments.payment_record import GatewaySale, PaymentRecord, RecordState
from farebox.gateway.payments.refund import RefundFault, is_older, judge_refund
from farebox.kernel.addresses import Address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.kernel.caller import user_id
from farebox.kernel.networks import Network
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from support.events import transfer_event

PAYER, SELLER, OWNER, STRANGER = (Address(Keypair.random().public_key) for _ in range(4))
ASSET, OTHER = contract_address(bytes([1]) * 32), contract_address(bytes([2]) * 32)
AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
PAYMENT = PaymentRecord(
    identity=PaymentIdentity(Network.TESTNET, PAYER, 7),
    tx_hash="ab" * 32,
    sent_hash="ab" * 32,
    asset=ASSET,
    amount=BaseUnits(100),
    pay_to=SELLER,
    state=RecordState.OWED,
    reason=None,
    claimed_at=AT,
    settled_at=AT,
    ledger=50,
    sale=GatewaySale(
        wrapper_id="wrapper",
        owner=user_id(Network.TESTNET, OWNER),
        slug="city",
        method="POST",
        path="",
        attempts=1,
        status=None,
        paid_at=AT,
        ended_at=AT,
    ),
)


def found(*transfers: tuple[Address, Address, Address, int]) -> TransactionFound:
    """A transaction with these transfers: token, sender, recipient, amount."""
    diagnostic = (xdr.DiagnosticEvent.from_xdr(transfer_event(*each)) for each in transfers)
    events = tuple(each.event.to_xdr() for each in diagnostic)
    return TransactionFound(
        hash="cd" * 32,
        status=LedgerStatus.SUCCESS,
        ledger=51,
        closed_at=AT + timedelta(seconds=5),
        result_code="txSUCCESS",
        operation_code=None,
        fee_charged=Stroops(100),
        contract_events=(events,),
    )


@pytest.mark.parametrize(
    "transfers",
    [
        [(ASSET, SELLER, PAYER, 100)],
        [(ASSET, SELLER, PAYER, 101)],
        [(ASSET, SELLER, PAYER, 60), (ASSET, SELLER, PAYER, 40)],
        [(ASSET, OWNER, PAYER, 100)],
        [(ASSET, SELLER, PAYER, 60), (ASSET, OWNER, PAYER, 40)],
        [(ASSET, SELLER, PAYER, 100), (ASSET, STRANGER, PAYER, 7)],
    ],
)
def test_transfers_of_the_amount_from_the_seller_to_the_payer_are_a_refund(
    transfers: list[tuple[Address, Address, Address, int]],
) -> None:
    assert judge_refund(found(*transfers), PAYMENT) is None


@pytest.mark.parametrize(
    "transfers",
    [
        [],
        [(ASSET, SELLER, PAYER, 99)],
        [(OTHER, SELLER, PAYER, 100)],
        [(ASSET, PAYER, SELLER, 100)],
        [(ASSET, PAYER, PAYER, 100)],
        [(ASSET, SELLER, SELLER, 100)],
        [(ASSET, STRANGER, PAYER, 100)],
        [(ASSET, SELLER, PAYER, 99), (ASSET, STRANGER, PAYER, 1)],
    ],
)
def test_other_transfers_are_no_refund(
    transfers: list[tuple[Address, Address, Address, int]],
) -> None:
    assert judge_refund(found(*transfers), PAYMENT) is RefundFault.TOO_LITTLE


def test_sign_in_on_another_network_proves_no_sender() -> None:
    """Accounts of one address on two networks may have different signers."""
    assert PAYMENT.sale is not None
    elsewhere = replace(PAYMENT.sale, owner=user_id(Network.PUBNET, OWNER))
    fault = judge_refund(found((ASSET, OWNER, PAYER, 100)), replace(PAYMENT, sale=elsewhere))
    assert fault is RefundFault.TOO_LITTLE


def test_failed_transaction_is_no_refund() -> None:
    failed = replace(found((ASSET, SELLER, PAYER, 100)), status=LedgerStatus.FAILED)
    assert judge_refund(failed, PAYMENT) is RefundFault.FAILED


@pytest.mark.parametrize("ledger", [49, 50])
def test_transaction_of_no_later_ledger_is_no_refund(ledger: int) -> None:
    early = replace(found((ASSET, SELLER, PAYER, 100)), ledger=ledger)
    assert judge_refund(early, PAYMENT) is RefundFault.TOO_EARLY


def test_time_decides_for_a_payment_whose_ledger_is_not_known() -> None:
    unknown = replace(PAYMENT, ledger=None)
    assert not is_older(found(), unknown)
    assert is_older(replace(found(), closed_at=AT - timedelta(seconds=1)), unknown)
