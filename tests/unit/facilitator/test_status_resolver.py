from dataclasses import replace
from datetime import UTC, datetime

import pytest
from stellar_sdk import Address as SdkAddress
from stellar_sdk import scval, xdr

from farebox.facilitator.journal.status_resolver import (
    add_landed_hash,
    derive_status,
    has_extra_movement,
)
from farebox.facilitator.settlement import SettlementState
from farebox.kernel.addresses import Address, account_address, contract_address
from farebox.kernel.amounts import BaseUnits, Stroops
from farebox.stellar.rpc import LedgerStatus, TransactionFound
from farebox.submission.fate import Dead, Unproven
from farebox.x402.reasons import Reason
from support.claims import claim, signed_envelope

AT = datetime(2026, 11, 21, tzinfo=UTC)
ASSET, OTHER_ASSET = contract_address(bytes([1]) * 32), contract_address(bytes([2]) * 32)
PAYER, SELLER = account_address(bytes([3]) * 32), account_address(bytes([4]) * 32)
CLAIM = claim(1, payer=3, asset=ASSET, amount=BaseUnits(10_000), pay_to=SELLER)


def event(
    *,
    asset: Address = ASSET,
    payer: Address = PAYER,
    to: Address = SELLER,
    amount: int = 10_000,
    name: str = "transfer",
    mux_id: int | None = None,
) -> str:
    data = scval.to_int128(amount)
    if mux_id is not None:
        members = {
            scval.to_symbol("amount"): data,
            scval.to_symbol("to_muxed_id"): scval.to_uint64(mux_id),
        }
        data = scval.to_map(members)
    topics = [scval.to_symbol(name), scval.to_address(payer), scval.to_address(to)]
    body = xdr.ContractEventBody(0, xdr.ContractEventV0(topics, data))
    contract = SdkAddress(asset).to_xdr_sc_address().contract_id
    kind = xdr.ContractEventType.CONTRACT
    return xdr.ContractEvent(xdr.ExtensionPoint(0), contract, kind, body).to_xdr()


def found(*events: str, status: LedgerStatus = LedgerStatus.SUCCESS) -> TransactionFound:
    return TransactionFound(
        "ab" * 32, status, 102, AT, "txSUCCESS", None, Stroops(23_000), (events,)
    )


def test_success_with_the_transfer_is_confirmed() -> None:
    status = derive_status(found(event()), CLAIM)
    assert (status.state, status.reason) == (SettlementState.CONFIRMED, None)
    assert (status.ledger, status.fee_charged) == (102, 23_000)


def test_success_with_other_events_is_confirmed() -> None:
    assert (
        derive_status(found(event(name="note"), event()), CLAIM).state is SettlementState.CONFIRMED
    )


@pytest.mark.parametrize(
    ("events", "more"),
    [
        ([event()], False),
        ([event(name="note"), event()], False),
        ([event(), event(amount=1)], True),
        ([event(name="approve"), event()], True),
        ([event(asset=OTHER_ASSET), event()], True),
    ],
)
def test_extra_movement_is_noticed_in_addition_to_the_payment(
    events: list[str], *, more: bool
) -> None:
    assert has_extra_movement(found(*events), CLAIM) is more


@pytest.mark.parametrize(
    "events",
    [
        [],
        ["AAAA"],
        [event(asset=OTHER_ASSET)],
        [event(payer=SELLER)],
        [event(to=PAYER)],
        [event(amount=9_999)],
        [event(amount=10_001)],
        [event(name="mint")],
        [event(mux_id=7)],
    ],
)
def test_success_without_exactly_that_transfer_is_failed(events: list[str]) -> None:
    status = derive_status(found(*events), CLAIM)
    assert (status.state, status.reason) == (SettlementState.FAILED, Reason.TRANSACTION_FAILED)


def test_failure_on_the_ledger_is_failed_whatever_events_it_has() -> None:
    status = derive_status(found(event(), status=LedgerStatus.FAILED), CLAIM)
    assert status.state is SettlementState.FAILED


def test_dead_and_unproven_fates_have_reasons_of_their_own() -> None:
    assert derive_status(Dead(120), CLAIM).reason is Reason.TRANSACTION_FAILED
    unproven = derive_status(Unproven(120), replace(CLAIM))
    assert (unproven.state, unproven.reason) == (SettlementState.UNPROVEN, Reason.OUTCOME_UNPROVEN)


@pytest.mark.parametrize(
    ("hash_of", "inner", "landed_hash", "fee"),
    [
        ("newest", None, None, 23_000),
        ("earlier", None, bytes([1]) * 32, 23_000),
        ("stranger", bytes([11]) * 32, bytes([11]) * 32, 0),
        ("stranger", bytes([12]) * 32, bytes([12]) * 32, 0),
    ],
)
def test_landing_of_any_envelope_of_the_payment_is_recorded_with_its_own_hash_and_fee(
    hash_of: str, inner: bytes | None, landed_hash: bytes | None, fee: int
) -> None:
    earlier = signed_envelope(tx_hash=bytes([1]) * 32, inner_hash=bytes([11]) * 32)
    newest = signed_envelope(tx_hash=bytes([2]) * 32, inner_hash=bytes([12]) * 32)
    hashes = {"newest": bytes([2]) * 32, "earlier": bytes([1]) * 32, "stranger": bytes([99]) * 32}
    seen = replace(
        found(event()),
        hash=hashes[hash_of].hex(),
        inner_hash=None if inner is None else inner.hex(),
    )
    final = add_landed_hash(derive_status(seen, CLAIM), seen, newest.in_place_of(earlier))
    assert (final.state, final.landed_hash) == (SettlementState.CONFIRMED, landed_hash)
    assert final.fee_charged == fee
